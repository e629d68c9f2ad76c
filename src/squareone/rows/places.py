"""Files that rows are read from: they are there, and stay what they were."""

from __future__ import annotations

import os
from pathlib import Path


def existing(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is there; it stays the same in another working folder."""
    found = Path(os.fsdecode(path)).absolute()
    if found.is_dir():
        msg = f"{os.fsdecode(path)!r} is a folder: the name of a file is expected"
        raise IsADirectoryError(msg)
    if not found.exists():
        msg = f"there is no file {os.fsdecode(path)!r}"
        raise FileNotFoundError(msg)
    return found


def unchanged(path: Path, size: int, n: int) -> None:
    """Refuse a file that has not the ``size`` in bytes that it had, with n rows.

    Places in it that were remembered would be others, and reading behind the end of a file that is
    mapped into memory would end the process.
    """
    found = existing(path).stat().st_size
    if found != size:
        msg = (
            f"{path.name!r} has {found:,} bytes where it had {size:,}, with {n:,} rows. It was "
            "changed since it was opened: open it again"
        )
        raise ValueError(msg)
