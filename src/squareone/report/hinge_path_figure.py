"""The path of a support vector machine: its left-out error and its duality gap over λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from .display import BLUE, CHOSEN, GUIDE, RED, Display, finish, need_matplotlib
from .measure import fitted_svm

# A gap of zero has no place on a logarithmic axis.
_LEAST_GAP = 1e-16


@dataclass(eq=False, repr=False)
class HingePathDisplay(Display):
    """The error of rows that were left out, and the relative duality gap, over λ.

    Points of the error are full where it is exact, or of folds, and hollow where it is estimated.
    The gap has a logarithmic axis of its own on the right.

    Attributes
    ----------
    alphas : array of shape (m,)
        λ, ascending.
    errors : array of shape (m,)
        Shares of errors, NaN where nothing was left out.
    gaps : array of shape (m,)
        The worst relative gap of a column.
    support_vectors : array of shape (m,)
    estimated : array of bool of shape (m,)
        Whether the error is an estimate.
    chosen : float
    chosen_error : float
    ax_, gap_ax_, figure_
        The axes of the error and of the gap, and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_iris
    >>> from squareone import SVMClassifier
    >>> from squareone.report import HingePathDisplay
    >>> model = SVMClassifier().fit(*load_iris(return_X_y=True))
    >>> display = HingePathDisplay.from_estimator(model)
    >>> bool(display.gaps.max() <= model.tol), display.gap_ax_.get_ylabel()
    (True, 'relative duality gap')
    """

    size: ClassVar[tuple[float, float]] = (7.2, 4.2)

    alphas: Array
    errors: Array
    gaps: Array
    support_vectors: Array
    estimated: Array
    chosen: float
    chosen_error: float

    gap_ax_: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted support vector machine.

        Parameters
        ----------
        estimator : SVMClassifier
            Fitted; alone, or at the end of a pipeline or search. After a search for the width the
            path is that of all rows at the chosen one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        HingePathDisplay

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
        path = inner.path_
        rows = path["rows"] == path["rows"].max()
        # what was looked at for the width on all rows has no gap
        rows &= np.isfinite(path["gap"])
        path = {name: values[rows] for name, values in path.items()}
        at = int(np.flatnonzero(path["alpha"] == inner.alpha_)[0])
        folds = inner._recorded().left_out_by == "folds" and inner.centers is None
        return cls(
            alphas=path["alpha"],
            errors=path["loo_error"],
            gaps=path["gap"],
            support_vectors=path["support_vectors"],
            estimated=(path["exact"] == 0) & (not folds),
            chosen=float(inner.alpha_),
            chosen_error=float(path["loo_error"][at]),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        self._draw_errors(ax)
        self.gap_ax_ = gap = ax.twinx()
        gaps = np.maximum(self.gaps, _LEAST_GAP)
        gap.plot(self.alphas, gaps, ":", color=RED, marker="x", markersize=5)
        gap.set_yscale("log")
        gap.set_ylabel("relative duality gap", color=RED)
        gap.tick_params(axis="y", labelcolor=RED)
        ax.plot([], [], ":", color=RED, marker="x", markersize=5, label="duality gap (right)")
        ax.set_xscale("log")
        ax.set(xlabel="λ = 1/(2C)", ylabel="share of errors, left out")
        ax.set_zorder(gap.get_zorder() + 1)  # the legend is in front
        ax.patch.set_visible(False)
        finish(ax, "above")

    def _draw_errors(self, ax: Any) -> None:
        known = np.isfinite(self.errors)
        ax.plot(self.alphas[known], self.errors[known], color=BLUE, linewidth=1.2)
        dots = {"color": BLUE, "marker": "o", "markersize": 5, "linestyle": "none"}
        for rows, face, name in (
            (self.estimated & known, "white", "error, estimated"),
            (~self.estimated & known, BLUE, "error, exact"),
        ):
            if rows.any():
                at = self.alphas[rows], self.errors[rows]
                ax.plot(*at, label=name, markerfacecolor=face, **dots)
        label: str | None = f"chosen λ = {self.chosen:.3g}"
        if np.isfinite(self.chosen_error):
            mark = {"label": label, "linestyle": "none", "zorder": 4, **CHOSEN}
            ax.plot(self.chosen, self.chosen_error, **mark)
            label = None
        ax.axvline(self.chosen, label=label, **GUIDE)
