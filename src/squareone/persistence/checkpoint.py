"""A file from which an interrupted fit goes on."""

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
from ..solvers.keeping import State

# Seconds between two states that are written.
_INTERVAL = 30.0
_IDENTITY = "identity"


class Checkpoint:
    """The last state of each stage of a fit, in an ``.npz`` file.

    Parameters
    ----------
    path : str or PathLike
    identity : str
        Says which fit it is: a file of another one is refused.
    interval : float
        Seconds between two states.

    Notes
    -----
    **Cost**: a state is the sums so far (m² numbers) or the vectors of an iteration; it is written
    in full, to a new file that then takes the place of the old one.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: str, interval: float = _INTERVAL
    ) -> None:
        self._path = Path(path)
        self._identity = identity
        self._interval = interval
        self._spoke = time.monotonic()
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
        if time.monotonic() - self._spoke < self._interval:
            return
        self._states[stage] = state()
        arrays: dict[str, Any] = {
            f"{name}/{key}": values
            for name, kept in self._states.items()
            for key, values in kept.items()
        }
        arrays[_IDENTITY] = np.array(self._identity)
        with replacing(self._path) as file:
            np.savez(file, **arrays)
        self._spoke = time.monotonic()

    def done(self) -> None:
        """The fit is complete: nothing has to be kept any more."""
        self._path.unlink(missing_ok=True)


def identity_of(**parts: Any) -> str:
    """A digest of numbers, texts, arrays and rows, the same for the same fit."""
    digest = hashlib.sha256()
    for name, part in sorted(parts.items()):
        digest.update(name.encode())
        if isinstance(part, np.ndarray):
            digest.update(_bytes(part))
        elif hasattr(part, "indptr"):
            digest.update(_bytes(rows_of(part).dense()))
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def _bytes(array: Array) -> bytes:
    return f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes()
