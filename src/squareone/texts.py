"""Texts of messages: without control characters, and lists of which the first few are named."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    r"""A text that may come from data or a file, with nothing in it that a terminal obeys.

    >>> print(printable("a\x1b[2Jb"))
    a�[2Jb
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def listed(texts: Sequence[str], most: int) -> str:
    """The first texts with commas between them, and how many more there are.

    >>> listed(["a", "b", "c"], 2), listed(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = len(texts) - most
    return ", ".join(texts[:most]) + f" and {more:,} more" * (more > 0)
