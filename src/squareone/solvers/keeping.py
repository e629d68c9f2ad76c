"""What a long computation leaves behind on its way, so that it can go on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..arrays import Array

#: Arrays by name.
State = dict[str, Array]


class Keeper(Protocol):
    """Who keeps states, and gives back the last one."""

    def restored(self, stage: str) -> State | None:
        """The last state that was kept of a stage; None where there is none."""

    def keep(self, stage: str, state: Callable[[], State]) -> None:
        """A state could be kept now; it is made if it is time."""


class Forgetful:
    """Keeps nothing."""

    def restored(self, stage: str) -> State | None:
        """Nothing."""
        return None

    def keep(self, stage: str, state: Callable[[], State]) -> None:
        """Nothing happens."""
