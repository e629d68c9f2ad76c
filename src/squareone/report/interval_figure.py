"""Predictions with their intervals, and the targets if they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from ..arrays import Array
from .display import BLUE, RED, Display, finish, need_matplotlib
from .measure import check_regressor, column_of, fitted_with_rows


@dataclass(eq=False, repr=False)
class IntervalDisplay(Display):
    """An interval for every row, sorted by the prediction or laid out over a feature.

    Targets inside their interval are dots, those outside crosses; the legend counts them, to be
    compared with the coverage that was asked for.

    Attributes
    ----------
    positions : array of shape (m,)
        Ascending: the rank of the prediction, or the feature.
    predictions, low, high : array of shape (m,)
        In that order, and the ends of the intervals.
    targets : array of shape (m,) or None
        In that order.
    coverage : float
        The share of targets that the intervals are to contain.
    method : str
        As in ``predict_interval``.
    label : str
        Of the horizontal axis.
    joined : bool
        Whether neighbours can be joined: by rank, or where there is one feature only.
    ax_, figure_
        The axes and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import IntervalDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RLSRegressor(random_state=0).fit(X[:300], y[:300])
    >>> display = IntervalDisplay.from_estimator(model, X[300:], y[300:])
    >>> print(f"{display.covered().mean():.1%} of {display.targets.size}")
    90.1% of 142
    """

    positions: Array
    predictions: Array
    low: Array
    high: Array
    targets: Array | None
    coverage: float
    method: str
    label: str
    joined: bool

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.9,
        method: str = "jackknife+",
        bounds: tuple[float | None, float | None] | None = None,
        feature: int | str | None = None,
        target: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the intervals of a fitted regressor at rows ``X``.

        Parameters
        ----------
        estimator : RLSRegressor
            Fitted; alone, or at the end of a pipeline or search, whose other steps then transform
            ``X``.
        X : array-like of shape (m, d)
            Rows; best such that were not in the fit.
        y : array-like of shape (m,) or (m, t), optional
            Their targets.
        coverage, method, bounds
            As in :meth:`RLSRegressor.predict_interval`.
        feature : int or str, optional
            The column of ``X`` for the horizontal axis. By default the only one, or else the rank
            of the prediction.
        target : int, optional
            Which of several targets.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        IntervalDisplay

        Raises
        ------
        TypeError
            For a classifier.
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: that of ``predict`` and ``predict_interval``.
        """
        need_matplotlib(cls.__name__)
        inner, rows = fitted_with_rows(estimator, X, cls.__name__)
        check_regressor(inner, cls.__name__, "its classes have no intervals")
        predictions = inner.predict(rows)
        column = column_of(predictions, target, cls.__name__)
        ends = inner.predict_interval(rows, coverage, method, bounds=bounds)
        ends = ends.reshape(len(predictions), -1, 2)
        predictions = predictions.reshape(len(predictions), -1)[:, column]
        if y is not None:
            y = np.asarray(y)
            check_consistent_length(predictions, y)
            y = y.reshape(len(predictions), -1)
            y = y[:, column_of(y, target, cls.__name__)]
        where, label = _feature(X, feature)
        joined = where is None or np.shape(X)[1] == 1
        order = np.argsort(predictions if where is None else where, kind="stable")
        return cls(
            positions=np.arange(1, order.size + 1) if where is None else where[order],
            predictions=predictions[order],
            low=ends[order, column, 0],
            high=ends[order, column, 1],
            targets=None if y is None else y[order],
            coverage=float(coverage),
            method=method,
            label=label,
            joined=joined,
        ).plot(ax)

    def covered(self) -> Array:
        """Whether each target lies in its interval.

        Returns
        -------
        array of bool of shape (m,)
        """
        if self.targets is None:
            msg = "the display has no targets: pass y to from_estimator"
            raise ValueError(msg)
        return (self.low <= self.targets) & (self.targets <= self.high)

    def _draw(self, ax: Any) -> None:
        at = self.positions
        name = f"{100 * self.coverage:g} % interval, {self.method}"
        if self.joined:
            ranked = {"step": "mid"} if np.issubdtype(at.dtype, np.integer) else {}
            look = {"color": BLUE, "alpha": 0.22, "linewidth": 0}
            ax.fill_between(at, self.low, self.high, label=name, **look, **ranked)
            ax.plot(at, self.predictions, color=BLUE, label="prediction")
        else:
            ax.vlines(at, self.low, self.high, color=BLUE, alpha=0.25, linewidth=1.5, label=name)
            dash = {"markersize": 8, "markeredgewidth": 1.6}
            ax.plot(at, self.predictions, "_", color=BLUE, label="prediction", **dash)
        if self.targets is not None:
            self._draw_targets(ax, self.targets)
        ax.set(xlabel=self.label, ylabel="target" if self.targets is not None else "prediction")
        finish(ax, "above")  # inside there may be intervals everywhere

    def _draw_targets(self, ax: Any, targets: Array) -> None:
        inside = self.covered()
        share = f"{np.count_nonzero(inside)} of {inside.size}, {100 * inside.mean():.0f} %"
        dots = {"linestyle": "none", "zorder": 3}
        ax.plot(
            self.positions[inside],
            targets[inside],
            marker="o",
            color="0.25",
            markersize=3.2,
            label=f"target inside: {share}",
            **dots,
        )
        ax.plot(
            self.positions[~inside],
            targets[~inside],
            marker="x",
            color=RED,
            markersize=6,
            markeredgewidth=1.6,
            label="target outside",
            **dots,
        )


def _feature(X: Any, feature: int | str | None) -> tuple[Array | None, str]:
    """The column of X to lay rows out over, with its name; None for the rank."""
    names = [str(name) for name in getattr(X, "columns", [])]
    shape = np.shape(X)
    if feature is None:
        if len(shape) != 2 or shape[1] != 1:
            return None, "rows, sorted by their prediction"
        feature = 0
    if isinstance(feature, str):
        if feature not in names:
            known = ", ".join(names) or "none: X has no column names"
            msg = f"feature={feature!r}: a column of X is expected, one of {known}"
            raise ValueError(msg)
        feature = names.index(feature)
    if len(shape) != 2 or not 0 <= feature < shape[1]:
        msg = f"feature={feature!r}: a column of X, which has shape {shape}, is expected"
        raise ValueError(msg)
    label = names[feature] if names else "x" if shape[1] == 1 else f"feature {feature}"
    return np.asarray(X)[:, feature].astype(np.float64), label
