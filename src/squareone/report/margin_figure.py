"""Margins of a support vector machine: of its rows, and of these when they are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..arrays import Array
from .display import BLUE, GUIDE, RED, Display, finish, need_matplotlib
from .measure import column_of, fitted_svm

# The share of rows at either end whose margins may leave the figure, and by how much of the rest.
_TAIL, _BEYOND = 0.01, 0.15


@dataclass(eq=False, repr=False)
class MarginDisplay(Display):
    """How many rows have a margin yf below each value, in the fit and when they are left out.

    Rows below zero are on the wrong side. Those below one are inside of the margin and, with those
    on it, are the support vectors. The distance of the two curves is what a row's own label gives
    to its margin.

    Attributes
    ----------
    margins : array of shape (n,)
        yf of the rows that take part in the column.
    left_out : array of shape (r,) or None
        The same by models that have not seen the row.
    support : float
        The share of rows with a coefficient.
    by : str
        "leave-one-out", or "cross-validation".
    ax_, figure_
        The axes and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from squareone import SVMClassifier
    >>> from squareone.report import MarginDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVMClassifier(C=1.0).fit(StandardScaler().fit_transform(X), y)
    >>> display = MarginDisplay.from_estimator(model)
    >>> bool(display.left_out.mean() < display.margins.mean())
    True
    """

    margins: Array
    left_out: Array | None
    support: float
    by: str = "leave-one-out"

    @classmethod
    def from_estimator(cls, estimator: Any, *, column: int | None = None, ax: Any = None) -> Self:
        """Draw the margins of a fitted support vector machine.

        Parameters
        ----------
        estimator : SVMClassifier
            Fitted; alone, or at the end of a pipeline or search.
        column : int, optional
            Which of several columns: the number of a class, with the default coding.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MarginDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: of the drawing only.
        """
        need_matplotlib(cls.__name__)
        inner = fitted_svm(estimator, cls.__name__)
        record = inner._recorded()
        j = column_of(inner.margins_, column, cls.__name__)
        margins = inner.margins_[:, j]
        taking_part = np.isfinite(margins)
        left_out = None
        if record.left_out is not None:
            rows, values = record.scored_rows, record.comparable_scored_values[:, j]
            signs = record.Y[rows, j]
            left_out = (signs * values)[signs != 0]
        support = np.count_nonzero(record.dual[:, j]) / np.count_nonzero(taking_part)
        by = "cross-validation" if record.left_out_by == "folds" else "leave-one-out"
        return cls(margins[taking_part], left_out, float(support), by).plot(ax)

    def _draw(self, ax: Any) -> None:
        curves = [(self.margins, BLUE, f"in the fit ({self.support:.0%} support vectors)")]
        if self.left_out is not None:
            wrong = np.mean(self.left_out < 0)
            curves.append((self.left_out, RED, f"{self.by} ({wrong:.1%} below zero)"))
        for values, colour, name in curves:
            shares = np.arange(1, values.size + 1) / values.size
            ax.step(np.sort(values), shares, where="post", color=colour, label=name)
        for value in (0.0, 1.0):
            ax.axvline(value, **GUIDE)
        ends = np.quantile(np.concatenate([values for values, *_ in curves]), [_TAIL, 1 - _TAIL])
        low, high = min(ends[0], 0.0), max(ends[1], 1.0)
        room = _BEYOND * (high - low)
        ax.set(xlim=(low - room, high + room), ylim=(0.0, 1.02))
        ax.set(xlabel="margin y·f(x)", ylabel="share of rows with a smaller one")
        finish(ax, "above")
