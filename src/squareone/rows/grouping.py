"""Blocks of any length become blocks of one length."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

from .base import rows_of
from .checks import joined


def regrouped(blocks: Generator[Any, None, None], size: int) -> Generator[Any, None, None]:
    """The same rows in blocks of ``size``, the last one shorter.

    What is computed from them then does not depend on how a file happens to be cut. Rows are copied
    only where a block is made of several.
    """
    with closing(blocks):
        yield from _grouped(blocks, size)


def _grouped(blocks: Iterable[Any], size: int) -> Generator[Any, None, None]:
    held: list[Any] = []
    missing = size
    for block in blocks:
        rows, start = rows_of(block), 0
        while rows.shape[0] - start >= missing:
            held.append(rows[start : start + missing].X if missing < rows.shape[0] else block)
            yield joined(held)
            start, held, missing = start + missing, [], size
        if start < rows.shape[0]:
            held.append(rows[start:].X)
            missing -= rows.shape[0] - start
    if held:
        yield joined(held)
