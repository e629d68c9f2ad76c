"""Files that are replaced once the new one is complete."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of ``path`` when the block ends.

    It is written beside it; whatever interrupts the block leaves the old file as it was, and no
    other. A link stays a link, and what others may not read stays so.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    if target.is_dir():
        msg = f"{os.fsdecode(path)!r} is a folder: the name of a file is expected"
        raise IsADirectoryError(msg)
    if not target.parent.is_dir():
        msg = f"the folder of {os.fsdecode(path)!r} does not exist: make it first"
        raise FileNotFoundError(msg)
    unfinished = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.part")
    try:
        with open(unfinished, "xb") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(target, unfinished)
            yield file
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
