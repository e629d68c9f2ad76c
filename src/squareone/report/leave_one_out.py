"""Leave-one-out predictions against the targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from .display import GUIDE, Display, finish, need_matplotlib, scatter
from .measure import check_regressor, column_of, fitted, left_out_by, values_left_out


@dataclass(eq=False, repr=False)
class LeaveOneOutDisplay(Display):
    """The prediction of every training row, by the model fitted without it, against its target.

    Attributes
    ----------
    targets, predictions : array of shape (n,)
    error : float
        Root mean square of their differences.
    by : str
        How rows were left out: by folds where a metric was learned, which has seen the rows.
    ax_, figure_
        The axes and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import LeaveOneOutDisplay
    >>> model = RLSRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = LeaveOneOutDisplay.from_estimator(model)
    >>> round(display.error, 1)
    54.1
    """

    size: ClassVar[tuple[float, float]] = (4.8, 4.6)

    targets: Array
    predictions: Array
    by: str = "leave-one-out"

    @property
    def error(self) -> float:
        """Root mean square of the differences."""
        return float(np.sqrt(np.mean((self.targets - self.predictions) ** 2)))

    @classmethod
    def from_estimator(cls, estimator: Any, *, target: int | None = None, ax: Any = None) -> Self:
        """Draw the leave-one-out predictions of a fitted regressor.

        Parameters
        ----------
        estimator : RLSRegressor
            Fitted; alone, or at the end of a pipeline or search.
        target : int, optional
            Which of several targets.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LeaveOneOutDisplay

        Raises
        ------
        TypeError
            For a classifier.
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: of the drawing only, where λ was chosen in fit. For one given λ the predictions
        are computed first, in n³/3 flops, if nobody asked for them before.
        """
        need_matplotlib(cls.__name__)
        inner = fitted(estimator, cls.__name__)
        check_regressor(inner, cls.__name__, "use LeaveOneOutRocDisplay")
        predictions = values_left_out(inner)
        targets = np.asarray(inner.loo_predictions_) + inner.loo_residuals_
        column = column_of(predictions, target, cls.__name__)
        predictions = predictions.reshape(len(predictions), -1)[:, column]
        targets = targets.reshape(len(predictions), -1)[:, column]
        return cls(targets, predictions, left_out_by(inner)).plot(ax)

    def _draw(self, ax: Any) -> None:
        scatter(ax, self.targets, self.predictions, label=f"{self.targets.size:,} training rows")
        both = np.concatenate([self.targets, self.predictions])
        low, high = both.min(), both.max()
        ax.plot([low, high], [low, high], label="prediction = target", **GUIDE)
        margin = 0.04 * (high - low) or 1.0
        limits = low - margin, high + margin
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        ax.set(xlabel="target", ylabel=f"{self.by} prediction")
        ax.set_title(f"root mean square error {self.error:.3g}", fontsize="medium")
        finish(ax, "upper left")
