"""Which rows pull the fit, and which of them the other rows do not believe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators import hindsight
from .display import GUIDE, RED, Display, finish, need_matplotlib, scatter
from .measure import fitted

# Where a row's number may stand beside its point, in points: what is free is taken in this order.
_PLACES = ((6, 3), (6, -9), (-6, 3), (-6, -9), (0, 8), (0, -14), (12, 10), (12, -16), (-12, 10))
_LETTER, _LINE = 5.5, 9.0  # points of a character of the labels


@dataclass(eq=False)
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
        if np.nanmin(self.errors) >= 0:
            ax.set_ylim(bottom=0)
        finish(ax)
        self._number(ax)

    def _number(self, ax: Any) -> None:
        """The numbers of suspicious rows, where they do not cover each other."""
        ax.figure.draw_without_rendering()  # until then nobody knows how large the axes are
        scale = 72.0 / ax.figure.dpi
        taken: list[tuple[float, float, float, float]] = []
        points = ax.transData.transform(
            np.column_stack([self.leverages[self.suspicious], self.errors[self.suspicious]])
        )
        for row, (x, y) in zip(self.suspicious.tolist(), points * scale, strict=True):
            width = _LETTER * len(str(row))
            for dx, dy in _PLACES:
                left = x + dx - (width if dx < 0 else 0.5 * width if dx == 0 else 0.0)
                box = left, y + dy, left + width, y + dy + _LINE
                if not any(_overlap(box, other) for other in taken):
                    break
            taken.append(box)
            side = "right" if dx < 0 else "center" if dx == 0 else "left"
            ax.annotate(
                str(row),
                (self.leverages[row], self.errors[row]),
                (dx, dy),
                textcoords="offset points",
                ha=side,
                va="bottom",
                fontsize=8,
                color=RED,
            )


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
