"""Sums over blocks of rows, in an order that depends on the rows alone.

Rows are dealt to groups of a fixed length. Within a group blocks are added one after the other, and
the sums of groups in a tree of fixed arity. Whoever adds them, in whatever order they become known,
finds the same bits: a loop over all blocks, or tasks on many machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..threads import shared_cores

# Sums that are added to one in a node of the tree.
ARITY = 8
# Rows in a group: about so many numbers, so that reading them and adding m² numbers at the end is
# little beside the work on them; a power of two.
_GROUP_NUMBERS, _FEWEST_ROWS, _MOST_ROWS, _SPARSE_ROWS = 8_388_608, 1024, 65_536, 16_384

#: Share of the memory of the workers of a cluster that rows may take between passes.
HELD_SHARE = 0.4

#: Told how many rows have been summed.
Watcher = Callable[[int], None]


class Accumulator(ABC):
    """A sum that blocks of rows are added to; it belongs to one thread.

    Attributes
    ----------
    total : array or None
        In float64; None where nothing was added.
    """

    total: Array | None = None

    @abstractmethod
    def add(self, block: Any, *beside: Array | None) -> None:
        """Add some rows; ``beside`` are the parts of arrays (n, …) that belong to them."""

    def kept(self) -> Array:
        """A copy of the sum so far, for :meth:`resume`."""
        assert self.total is not None
        return self.total.copy()

    def resume(self, total: Array) -> None:
        """Go on from what :meth:`kept` gave."""
        self.total = total.copy()

    def take(self) -> Array:
        """The sum, which belongs to the caller now: the next one begins."""
        found, self.total = self.total, None
        assert found is not None
        return found


class AddedUp(Accumulator):
    """Σ ask(block, *beside), for a function whose result is an array."""

    def __init__(self, ask: Callable[..., Array]) -> None:
        self._ask = ask

    def add(self, block: Any, *beside: Array | None) -> None:
        part = self._ask(block, *beside)
        if self.total is None:
            self.total = part.astype(np.float64)
        else:
            self.total += part


class Keeper(Protocol):
    """Who keeps states, and gives back the last one."""

    def restored(self, stage: str) -> dict[str, Array] | None:
        """The last state that was kept of a stage; None where there is none."""

    def keep(self, stage: str, state: Callable[[], dict[str, Array]]) -> None:
        """A state could be kept now; it is made if it is time."""


#: Makes an accumulator; it can be pickled, and is shared by all groups.
Start = Callable[[], Accumulator]


def group_rows(d: int, sparse: bool) -> int:
    """Rows in a group, of ``d`` features."""
    if sparse:
        return min(_SPARSE_ROWS, _MOST_ROWS)
    rows = 1 << max(0, (_GROUP_NUMBERS // max(1, d)).bit_length() - 1)
    return int(min(max(rows, _FEWEST_ROWS), _MOST_ROWS))


def some_of(beside: Sequence[Array | None], rows: slice) -> list[Array | None]:
    """The parts of arrays (n, …) that belong to some rows."""
    return [None if each is None else each[rows] for each in beside]


class TreeSum:
    """Sums of groups, added in the order of the tree as they come.

    One sum for each level is held: ((s₀ + s₁) + …) + s₇ is a node, and nodes are added likewise.
    """

    def __init__(self) -> None:
        self._sums: list[Array] = []
        self._counts: list[int] = []

    def add(self, total: Array, level: int = 0) -> None:
        """Take over the sum of a group, or of ``ARITY**level`` of them; only the last has fewer."""
        while len(self._counts) <= level:
            self._sums.append(np.empty(0))
            self._counts.append(0)
        if self._counts[level] == 0:
            self._sums[level] = total
        else:
            self._sums[level] += total
        self._counts[level] += 1
        if self._counts[level] == ARITY:
            full, self._sums[level], self._counts[level] = self._sums[level], np.empty(0), 0
            self.add(full, level + 1)

    def total(self) -> Array:
        """The sum of all; nothing is added any more."""
        found: Array | None = None
        for each, count in zip(self._sums, self._counts, strict=True):
            if count and found is not None:
                each += found
            if count:
                found = each
        assert found is not None, "nothing was added"
        return found

    def state(self) -> dict[str, Array]:
        """Copies of what is held, for :meth:`from_state`."""
        held = [each for each, count in zip(self._sums, self._counts, strict=True) if count]
        counts = {"counts": np.array(self._counts, dtype=np.int64)}
        return {"sums": np.array(held), **counts} if held else counts

    @classmethod
    def from_state(cls, state: dict[str, Array]) -> TreeSum:
        """What :meth:`state` gave."""
        found, held = cls(), iter(state.get("sums", ()))
        found._counts = [int(count) for count in state["counts"]]
        found._sums = [next(held).copy() if count else np.empty(0) for count in found._counts]
        return found


def added(totals: Sequence[Array]) -> Array:
    """A node of the tree: a sum of its own, none of ``totals`` is changed."""
    found = np.array(totals[0])
    for each in totals[1:]:
        found += each
    return found


@dataclass
class SumOnTheWay:
    """The tree of the groups so far, and what there is of the next one.

    Attributes
    ----------
    tree : TreeSum
    begun : array or None
        The sum of the first rows of a group that another attempt had begun.
    sums : Accumulator or None
        What the first rows of a group are added to.
    rows : int
        How many were summed.
    """

    tree: TreeSum
    begun: Array | None = None
    rows: int = 0
    sums: Accumulator | None = None

    @classmethod
    def restored(cls, keeper: Keeper | None) -> SumOnTheWay:
        """What was kept, or nothing summed so far."""
        state = None if keeper is None else keeper.restored("sums")
        if state is None:
            return cls(TreeSum())
        return cls(TreeSum.from_state(state), state.get("begun"), int(state["rows"]))

    def state(self) -> dict[str, Array]:
        """As arrays, for :meth:`restored`."""
        found = {} if self.sums is None else {"begun": self.sums.kept()}
        return {**found, **self.tree.state(), "rows": np.array(self.rows)}


def sum_over_blocks(
    rows: Any,
    start: Start,
    beside: Sequence[Array | None] = (),
    *,
    size: int,
    watch: Watcher | None = None,
    keeper: Keeper | None = None,
) -> Array:
    """The sum over all :class:`~squareone.rows.Rows` in blocks of ``size``, read here one by one.

    **Cost**: one pass; a sum for every level of the tree.
    """
    n, within = rows.shape[0], group_rows(rows.shape[1], rows.sparse)
    so_far, sums = SumOnTheWay.restored(keeper), start()
    if so_far.begun is not None:
        sums.resume(so_far.begun)
    with shared_cores():
        for part, block in rows.row_blocks(size, within):
            if part.stop <= so_far.rows:
                continue
            if part.start < so_far.rows:  # another attempt had other blocks
                block, part = block[so_far.rows - part.start :], slice(so_far.rows, part.stop)
            sums.add(block, *some_of(beside, part))
            so_far.rows, so_far.sums = part.stop, sums
            if part.stop % within == 0 or part.stop == n:
                so_far.sums = None
                so_far.tree.add(sums.take())
            if keeper is not None:
                keeper.keep("sums", so_far.state)
            if watch is not None:
                watch(part.stop)
    return so_far.tree.total()
