"""The width of a stream's kernel that was not given: the median distance of its first rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.base import clone

from ..arrays import Array
from ..kernels import Kernel
from ..kernels.names import kernel_from
from ..kernels.widths import free_width
from .rollback import inserted

#: Rows whose median distance is the width of a kernel that has none.
WIDTH_ROWS = 100


@dataclass(frozen=True)
class LearnedRows:
    """Rows that were learned, as the engine took them.

    Attributes
    ----------
    X : array or CSR matrix (b, d)
    Y : array (b, t)
    weights : array (b,) or None
    given : array (b, s) of bool, or None
        Which labels were known, where some may not be.
    """

    X: Any
    Y: Array
    weights: Array | None
    given: Array | None

    def followed_by(self, other: LearnedRows) -> LearnedRows:
        """Both, one after the other."""
        given, weights = None, None
        if self.given is not None and other.given is not None:
            given = np.vstack([self.given, other.given])
        if self.weights is not None or other.weights is not None:
            weights = np.append(self._weights(), other._weights())
        return LearnedRows(stacked(self.X, other.X), np.vstack([self.Y, other.Y]), weights, given)

    def _weights(self) -> Array:
        return np.ones(self.Y.shape[0]) if self.weights is None else self.weights


@dataclass(frozen=True)
class FirstRows:
    """What came so far, while there are fewer than a hundred rows.

    With every row that comes the width becomes the median distance between those that are there,
    and what was learned is learned again with it: at any time the stream is what it would be had
    that width been given. With the hundredth row it stays.

    Attributes
    ----------
    rows : array or CSR matrix (m, d)
        Asked about, or learned.
    columns : int
        Of the engine when the stream began.
    events : tuple of LearnedRows or None
        What was learned, in order; None: a class was added.
    """

    rows: Any
    columns: int
    events: tuple[LearnedRows | None, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether there are a hundred."""
        return self.rows.shape[0] >= WIDTH_ROWS

    def with_rows(self, X: Any) -> FirstRows:
        """And some that came, as far as there is room."""
        return replace(self, rows=stacked(self.rows, X[: WIDTH_ROWS - self.rows.shape[0]]))

    def with_learned(self, rows: LearnedRows) -> FirstRows:
        """And some that were learned."""
        last = self.events[-1] if self.events else None
        if last is None:
            return replace(self, events=(*self.events, rows))
        return replace(self, events=(*self.events[:-1], last.followed_by(rows)))

    def with_class(self) -> FirstRows:
        """And a class that was added."""
        return replace(self, events=(*self.events, None))

    def with_features(self, at: int, count: int) -> FirstRows:
        """The same rows with so many features more, zero in all of them."""
        events = tuple(
            each and replace(each, X=_with_features(each.X, at, count)) for each in self.events
        )
        return replace(self, rows=_with_features(self.rows, at, count), events=events)


def stacked(first: Any, second: Any) -> Any:
    """Rows one after the other, sparse if one of them is."""
    if not first.shape[0]:
        return second.copy()
    if issparse(first) or issparse(second):
        return vstack([csr_matrix(first), csr_matrix(second)], format="csr")
    return np.vstack([first, second])


def _with_features(X: Any, at: int, count: int) -> Any:
    if not issparse(X):
        return inserted(X, at, count, 1)
    return csr_matrix(
        (X.data, np.where(X.indices >= at, X.indices + count, X.indices), X.indptr),
        shape=(X.shape[0], X.shape[1] + count),
    )


def stream_kernel(given: Any) -> Kernel:
    """The kernel of a stream, with "median" for a width that is free; what cannot be is refused."""
    kernel = kernel_from(given)
    kernel.check_parameters()
    if not kernel.has_formula:
        msg = (
            "a precomputed kernel has values between rows that are there from the start: give "
            "a kernel that can be evaluated on rows as they come"
        )
        raise ValueError(msg)
    name = free_width(kernel)
    return clone(kernel).set_params(**{name: "median"}) if name else kernel


def medians(kernel: Kernel) -> list[str]:
    """Names of the widths that are medians."""
    values = kernel.get_params(deep=True).items()
    return [name for name, value in values if isinstance(value, str) and value == "median"]


def with_width(kernel: Kernel, rows: Any) -> Kernel:
    """With numbers for all parameters: one for the median distance between less than two rows."""
    names = medians(kernel)
    if names and rows.shape[0] < 2:
        kernel = clone(kernel).set_params(**dict.fromkeys(names, 1.0))
    found = kernel.resolve(rows, np.random.RandomState(0))
    found.check_chosen()
    return found


def same_numbers(first: Kernel, second: Kernel) -> bool:
    """Whether two kernels of the same form have the same parameters that are numbers."""
    return _numbers_of(first) == _numbers_of(second)


def _numbers_of(kernel: Kernel) -> dict[str, Any]:
    values = kernel.get_params(deep=True).items()
    return {name: value for name, value in values if isinstance(value, Real)}
