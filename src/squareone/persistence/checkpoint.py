"""Checkpoints: a file from which an interrupted fit goes on."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..arrays import Array
from ..atomic_write import replacing
from ..errors import CheckpointError
from ..rows import rows_of
from ..solvers.contract import State

# Seconds between two states that are written, and the share of them that writing may take.
_INTERVAL, _SHARE = 5.0, 0.05
_IDENTITY = "identity"


class Checkpoint:
    """The last state of each stage of a fit, in an ``.npz`` file.

    Parameters
    ----------
    path : str or PathLike
    identity : str
        Says which fit it is: a file of another one is refused.
    interval : float
        Seconds between two states, and from the beginning to the first; more where writing one
        takes more than a twentieth of them.

    Notes
    -----
    **Cost**: a state is the width that was found, the sums so far (m² numbers) or the vectors of an
    iteration. All states are written in full, to a new file that then takes the place of the old
    one.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: str, interval: float = _INTERVAL
    ) -> None:
        self._path = Path(path)
        self._identity = identity
        self._interval = interval
        self._written, self._seconds = time.monotonic(), 0.0
        if not self._path.parent.is_dir():
            msg = f"the folder of checkpoint={str(self._path)!r} does not exist: make it first"
            raise FileNotFoundError(msg)
        self._states: dict[str, State] = self._read() if self._path.exists() else {}

    def _read(self) -> dict[str, State]:
        try:
            with open(self._path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (AttributeError, BadZipFile, EOFError, OSError, TypeError, ValueError) as error:
            msg = (
                f"checkpoint={str(self._path)!r} is no checkpoint, or is damaged. Remove it to "
                "begin anew, or name another file"
            )
            raise CheckpointError(msg) from error
        if str(found.pop(_IDENTITY, "")) != self._identity:
            msg = (
                f"checkpoint={str(self._path)!r} belongs to another fit: other rows, targets, "
                "parameters or centers (with random_state). Remove the file to begin anew, or name "
                "another one"
            )
            raise CheckpointError(msg)
        states: dict[str, State] = {}
        for name, values in found.items():
            stage, _, key = name.partition("/")
            states.setdefault(stage, {})[key] = values
        return states

    def restored(self, stage: str) -> State | None:
        """The last state that was kept of a stage; None where there is none."""
        return self._states.get(stage)

    def keep(self, stage: str, state: Callable[[], State]) -> None:
        """Write a state, if the last one was long enough ago."""
        slower = max(1.0, self._seconds / (_SHARE * _INTERVAL))
        if time.monotonic() - self._written >= self._interval * slower:
            self.keep_now(stage, state())

    def keep_now(self, stage: str, state: State) -> None:
        """Write a state at once: it is small, and took long to find."""
        start = time.monotonic()
        self._states[stage] = state
        arrays: dict[str, Any] = {
            f"{name}/{key}": values
            for name, kept in self._states.items()
            for key, values in kept.items()
        }
        arrays[_IDENTITY] = np.array(self._identity)
        with replacing(self._path) as file:
            np.savez(file, **arrays)
        self._written = time.monotonic()
        self._seconds = self._written - start

    def done(self) -> None:
        """The fit is complete: nothing has to be kept any more."""
        self._path.unlink(missing_ok=True)


def identity_of(**parts: Any) -> str:
    """A digest of numbers, texts, arrays, rows, kernels, selectors: the same for the same fit."""
    digest = hashlib.sha256()
    for name, part in sorted(parts.items()):
        digest.update(name.encode())
        if isinstance(part, np.ndarray):
            digest.update(_bytes(part))
        elif hasattr(part, "indptr"):
            digest.update(_bytes(rows_of(part).dense()))
        elif hasattr(part, "get_params"):
            inside = identity_of(**part.get_params(deep=False))
            digest.update(f"{type(part).__name__}{inside}".encode())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def state_of_random(rng: np.random.RandomState) -> State:
    """Where random numbers are; empty for a generator that is not NumPy's usual one."""
    found: Any = rng.get_state(legacy=False)
    if found["bit_generator"] != "MT19937":
        return {}
    numbers = [found["state"]["pos"], found["has_gauss"], found["gauss"]]
    return {"key": found["state"]["key"], "place": np.array(numbers, dtype=np.float64)}


def restore_random(rng: np.random.RandomState, state: State) -> None:
    """Go on with the random numbers from there."""
    position, has_gauss, gauss = state["place"].tolist()
    rng.set_state(("MT19937", state["key"], int(position), int(has_gauss), gauss))


def _bytes(array: Array) -> bytes:
    return f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes()
