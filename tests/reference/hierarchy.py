"""Losses of sets of labels in a forest, from their definitions, a node and a row at a time.

A forest is a list of parents, None for roots; a row is a list of truth values.
"""

from __future__ import annotations

from collections.abc import Sequence

Forest = Sequence[int | None]
Row = Sequence[bool]


def ancestors(forest: Forest, node: int) -> list[int]:
    """Return all nodes above one, the nearest first."""
    above = forest[node]
    return [] if above is None else [above, *ancestors(forest, above)]


def closed(forest: Forest, row: Row) -> list[bool]:
    """Return the row with a node positive where it was, or where one below it was."""
    return [
        row[node] or any(row[i] and node in ancestors(forest, i) for i in range(len(forest)))
        for node in range(len(forest))
    ]


def contradicts(forest: Forest, row: Row) -> bool:
    """Say whether a positive node has a negative ancestor."""
    return any(
        row[node] and not row[above]
        for node in range(len(forest))
        for above in ancestors(forest, node)
    )


def shared_cost(forest: Forest, node: int) -> float:
    """Return the share of a node: of one, among the roots, or of what its parent has."""
    above = forest[node]
    whole = 1.0 if above is None else shared_cost(forest, above)
    return whole / sum(other == above for other in forest)


def h_loss(forest: Forest, true: Row, predicted: Row, costs: Sequence[float]) -> float:
    """Return the sum of the costs of wrong nodes above which all is right."""
    total = 0.0
    for node in range(len(forest)):
        wrong = true[node] != predicted[node]
        if wrong and all(true[i] == predicted[i] for i in ancestors(forest, node)):
            total += costs[node]
    return total


def top_down(forest: Forest, margins: Sequence[float]) -> list[bool]:
    """Return the nodes that have a positive margin, and so have all above them."""
    return [
        all(margins[i] > 0 for i in [node, *ancestors(forest, node)]) for node in range(len(forest))
    ]
