"""Rows at random, and what ``centers=`` may be."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..kernels import Kernel
from .base import Selector, check_count
from .chosen_centers import Later, Selection, draw_rows
from .given import Given

__all__ = ["Uniform", "selector_from"]


class Uniform(Selector):
    """Rows drawn at random, each as likely as any other, without replacement.

    Parameters
    ----------
    count : int
        Centers; all rows where there are no more.

    Notes
    -----
    Of rows that are equal several may be drawn. The centers are in the order of the rows.

    **Cost**: that of drawing the numbers. The kernel is not looked at.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone.centers import Uniform
    >>> X, _ = load_diabetes(return_X_y=True)
    >>> chosen = Uniform(50).select(X, "linear")
    >>> chosen.points.shape, round(chosen.explained, 3)
    ((50, 10), 1.0)
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def check_parameters(self) -> None:
        check_count(self, "count")

    def _choose(self, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Selection:
        self.check_parameters()
        n = X.shape[0]
        indices = draw_rows(n, int(self.count), rng)
        later = Later.of(kernel, X, rng)
        return Selection(X[indices], indices, n, later.rows.size, later)


def selector_from(centers: Any) -> Selector:
    """The selector that ``centers`` stands for.

    Parameters
    ----------
    centers : int, array-like (m, d), sparse matrix or Selector
        A number of centers, the centers, or a way of choosing them.

    Returns
    -------
    Selector
        For a number :class:`Uniform`, for points :class:`Given`.

    Examples
    --------
    >>> from squareone.centers import selector_from
    >>> selector_from(100)
    Uniform(count=100)
    """
    if isinstance(centers, Selector):
        return centers
    if isinstance(centers, Integral) and not isinstance(centers, bool):
        selector: Selector = Uniform(int(centers))
        selector.check_parameters()
        return selector
    if issparse(centers) or (hasattr(centers, "__len__") and not isinstance(centers, str | bytes)):
        return Given(centers)
    msg = (
        f"centers={centers!r}: a number of centers, the points themselves (m, d), or a selector "
        "such as squareone.centers.PivotedCholesky(500), is expected"
    )
    raise ValueError(msg)
