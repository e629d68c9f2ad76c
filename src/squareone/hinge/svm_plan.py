"""What a support vector machine will hold and compute; after a fit, the seconds of every stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from ..errors import MemoryLimitError
from ..fitting.progress import Progress
from ..persistence import Fields
from ..planning.available_memory import readable
from ..planning.plan import duration
from ..planning.text_table import Table

# Matrices (n, n) that a fit holds at its peak, and those of left-out values beside them.
_MATRICES, _LEFT_OUT_MATRICES = 2, 2
# The same of features (n, m), and numbers of each row and column of classes.
_FEATURES, _NUMBERS = 3, 60.0


@dataclass(repr=False)
class SVMPlan:
    """Which matrix takes the place of the kernel, its bytes, and what the stages of a fit took.

    Attributes
    ----------
    rows, columns : int
        Of positive weight, and of classes.
    features : int
        Columns of the features that take the place of the kernel matrix, zero for that itself.
    centers : int
        Of these, centers; zero where all rows are.
    left_out : bool
        Whether exact leave-one-out values are wanted of the kernel matrix.
    of_folds : int
        Numbers that the parts of folds are copied into.
    memory_limit : float
        Bytes.
    reason : str
    stages : dict of str to float
        Seconds spent in each stage of the fit; empty before it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(SVMClassifier(memory_limit="1GiB").plan(X, y))
    150 rows, 3 columns, memory limit 1 GiB
    kernel matrix 150 × 150, at most 914 KiB
    why: all rows, exactly
    """

    rows: int
    columns: int
    features: int
    centers: int
    left_out: bool
    of_folds: int
    memory_limit: float
    reason: str
    stages: dict[str, float] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """Its fields, for a file."""
        return asdict(self)

    @classmethod
    def from_state(cls, found: Fields) -> SVMPlan:
        """What :meth:`state` gave."""
        with found:
            return cls(
                rows=found.take("rows", int),
                columns=found.take("columns", int),
                features=found.take("features", int),
                centers=found.take("centers", int),
                left_out=found.take("left_out", bool),
                of_folds=found.take("of_folds", int),
                memory_limit=found.number("memory_limit", positive=True),
                reason=found.take("reason", str),
                stages={
                    str(name): float(seconds)
                    for name, seconds in found.take("stages", dict).items()
                },
            )

    @property
    def needed(self) -> float:
        """Bytes at the peak, at most."""
        held = self.columns * _NUMBERS
        if self.features:
            held += _FEATURES * self.features
        else:
            held += self.rows * (_MATRICES + _LEFT_OUT_MATRICES * self.left_out)
        return 8.0 * (self.rows * held + 2.0 * self.features**2 + self.of_folds)

    def check_memory(self) -> None:
        """Refuse what does not fit, before it is allocated."""
        if self.needed <= self.memory_limit:
            return
        room = max(0, int(self.memory_limit / (8.0 * self.rows) - self.columns * _NUMBERS))
        fewer = room // _FEATURES
        msg = (
            f"{self.rows:,} rows need {readable(self.needed)} for {self._form()} and what is made "
            f"of it, and {readable(self.memory_limit)} are there: "
        )
        if fewer >= 1:
            msg += f"use centers={max(1, fewer // 2)}, or fewer rows"
        else:
            msg += "fit fewer rows, or allow more memory"
        raise MemoryLimitError(msg)

    @contextmanager
    def stage(self, progress: Progress, name: str) -> Iterator[None]:
        """Count the seconds spent inside, and show how far it is."""
        start = time.perf_counter()
        try:
            with progress.stage(name):
                yield
        finally:
            spent = time.perf_counter() - start
            self.stages[name] = self.stages.get(name, 0.0) + spent

    def _form(self) -> str:
        n = self.rows
        if self.centers:
            return f"features of {self.centers:,} centers, {n:,} × {self.features:,}"
        if self.features:
            return f"features {n:,} × {self.features:,}"
        return f"kernel matrix {n:,} × {n:,}"

    def _lines(self) -> list[str]:
        columns = "1 column" if self.columns == 1 else f"{self.columns:,} columns"
        return [
            f"{self.rows:,} rows, {columns}, memory limit {readable(self.memory_limit)}",
            f"{self._form()}, at most {readable(self.needed)}",
            f"why: {self.reason}",
        ]

    def _table(self) -> Table:
        rows: list[tuple[str, ...]] = [
            (name, duration(seconds)) for name, seconds in self.stages.items()
        ]
        rows.append(("all", duration(sum(self.stages.values()))))
        return Table(("stage", "spent"), rows, "<>")

    def __repr__(self) -> str:
        return "\n".join(self._lines() + ([self._table().text()] if self.stages else []))

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in self._lines())
        return f"{lines}{self._table().html() if self.stages else ''}"
