"""Which rows pull the fit, and which of them the other rows do not believe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..fitting import diagnostics as hindsight
from .display import GUIDE, RED, Display, finish, need_matplotlib, scatter
from .measure import fitted

# Points of a character of the numbers, and of a mark.
_LETTER, _LINE, _MARK = 5.4, 10.0, 3.0
# Where a number may stand beside its point: how far away, in points, and in which direction.
_DISTANCES, _DIRECTIONS = (5.0, 11.0, 18.0, 26.0, 36.0), np.deg2rad(np.arange(30, 390, 30))


@dataclass(eq=False, repr=False)
class LeverageDisplay(Display):
    """Leverages against leave-one-out errors, with the most suspicious rows by their numbers.

    The leverage of a row says how far its fitted value follows its own target: 0 not at all, 1 all
    the way. Where it is high and the leave-one-out error is large, the fit bends for a row that the
    others do not believe. A classifier's rows are compared by how much the leave-one-out values
    prefer another class; rows with several targets by the largest error over what is usual.

    Attributes
    ----------
    leverages : array of shape (n,)
        Their mean over the targets where each has a λ of its own.
    errors : array of shape (n,)
        What is drawn over them.
    suspicious : array of int of shape (m,)
        The rows with a number, the most suspicious first.
    label : str
        Of the vertical axis.
    ax_, figure_
        The axes and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import LeverageDisplay
    >>> model = RLSRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = LeverageDisplay.from_estimator(model, n_suspicious=3)
    >>> print(*display.suspicious)
    102 56 37
    """

    leverages: Array
    errors: Array
    suspicious: Array
    label: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_suspicious: int = 8, ax: Any = None) -> Self:
        """Draw the training rows of a fitted estimator.

        Parameters
        ----------
        estimator : RLSRegressor or RLSClassifier
            Fitted; alone, or at the end of a pipeline or search.
        n_suspicious : int, default=8
            How many of the most suspicious rows are marked and numbered.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LeverageDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: that of ``leverages_`` and ``loo_predictions_``: n² flops with ``spectral``, n·d²
        with features, n³/3 with ``cholesky`` if nobody asked for them before.
        """
        need_matplotlib(cls.__name__)
        inner = fitted(estimator, cls.__name__)
        kept = inner._recorded().kept
        leverages = inner.leverages_
        leverages = leverages if leverages.ndim == 1 else leverages.mean(axis=1)
        several = inner.loo_predictions_.ndim == 2 and inner.loo_predictions_.shape[1] > 1
        errors = np.full(leverages.size, np.nan)  # of a row that was not in the fit there is none
        if is_classifier(inner):
            label = "leave-one-out preference for another class"
            errors[kept] = hindsight.suspicion(inner._record)
        elif several:
            label = "leave-one-out error, over the usual one"
            errors[kept] = hindsight.suspicion(inner._record)
        else:
            label = "leave-one-out error, absolute value"
            errors[kept] = np.abs(inner.loo_residuals_.ravel()[kept])
        suspicious = inner.suspicious_rows(min(n_suspicious, kept.size))
        return cls(leverages, errors, suspicious, label).plot(ax)

    def _draw(self, ax: Any) -> None:
        rest = np.isfinite(self.errors)
        rest[self.suspicious] = False
        scatter(ax, self.leverages[rest], self.errors[rest], label="training rows")
        scatter(
            ax,
            self.leverages[self.suspicious],
            self.errors[self.suspicious],
            color=RED,
            alpha=1.0,
            s=26,
            label="most suspicious, by number",
        )
        kept = np.isfinite(self.errors)
        mean = float(self.leverages[kept].mean())
        ax.axvline(mean, label=f"mean leverage {mean:.2g}", **GUIDE)
        ax.set(xlabel="leverage", ylabel=self.label)
        ax.set_xlim(left=0)
        low, high = np.nanmin(self.errors), np.nanmax(self.errors)
        ax.set_ylim(top=high + 0.12 * (high - min(low, 0.0)))  # room for the numbers
        if low >= 0:
            ax.set_ylim(bottom=0)
        else:
            ax.axhline(0, **GUIDE)
        finish(ax)
        self._number(ax)

    def _number(self, ax: Any) -> None:
        """The numbers of suspicious rows, each where it covers least."""
        figure = ax.figure.canvas.figure
        figure.draw_without_rendering()  # until then nobody knows how large the axes are
        inches = 72.0 / figure.dpi
        points = inches * ax.transData.transform(np.column_stack([self.leverages, self.errors]))
        frame = inches * np.asarray(ax.get_window_extent().extents)
        marks = points[self.suspicious]
        taken = np.hstack([marks - _MARK, marks + _MARK])
        for row in self.suspicious.tolist():
            boxes = _boxes(points[row], _LETTER * len(str(row)))
            box = boxes[np.argmin(_costs(boxes, points, taken, frame))]
            taken = np.vstack([taken, box])
            middle = 0.5 * (box[:2] + box[2:]) - points[row]
            ax.annotate(
                str(row),
                (self.leverages[row], self.errors[row]),
                middle,
                textcoords="offset points",
                ha="center",
                va="center_baseline",
                fontsize=8,
                color=RED,
                arrowprops={"arrowstyle": "-", "color": RED, "linewidth": 0.5, "shrinkB": 2.0},
            )


def _boxes(point: Array, width: float) -> Array:
    """Where a number of this width may stand beside a point: left, bottom, right, top (k, 4)."""
    half = 0.5 * np.array([width, _LINE])
    steps = np.array([(np.cos(a), np.sin(a)) for a in _DIRECTIONS])
    middles = [point + (distance + half) * steps for distance in _DISTANCES]
    return np.concatenate([np.hstack([m - half, m + half]) for m in middles])


def _costs(boxes: Array, points: Array, taken: Array, frame: Array) -> Array:
    """What each box covers (k,): other numbers and marks, the frame, points; near is better."""
    near = np.repeat(_DISTANCES, len(_DIRECTIONS)) / _DISTANCES[-1]
    outside = (boxes[:, :2] < frame[:2]).any(axis=1) | (boxes[:, 2:] > frame[2:]).any(axis=1)
    covered = _overlaps(boxes, np.hstack([points - _MARK, points + _MARK]))
    return 1000.0 * outside + 100.0 * _overlaps(boxes, taken) + covered + near


def _overlaps(boxes: Array, others: Array) -> Array:
    """How many of the others (m, 4) each box (k, 4) touches."""
    a, b = boxes[:, None, :], others[None, :, :]
    apart = (a[..., :2] >= b[..., 2:]) | (b[..., :2] >= a[..., 2:])
    return np.count_nonzero(~apart.any(axis=2), axis=1)
