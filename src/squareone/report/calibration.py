"""Whether leave-one-out probabilities are what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.calibration import CalibrationDisplay

from ..arrays import Array
from .class_columns import Column, fitted_classifier, one_against_rest
from .display import GUIDE, WITH_LEGEND, Display, finish, need_matplotlib, styles

# Axes are no shorter than a share of this, and from this length on are those of all probabilities.
_LEAST_RANGE, _NEARLY_ALL = 0.02, 0.6


@dataclass(eq=False, repr=False)
class LeaveOneOutCalibrationDisplay(Display):
    """How often rows are of a class, against the probability that others gave them.

    Every row's probability comes from the model that has not seen it. Each class is compared with
    the rest; for two classes there is one curve, that of the second. On the diagonal, of the rows
    with probability p a share p is of the class. With bins of equal size a grey lens shows how far
    from it chance alone would move 95 % of them. The axes show where the rows are: where all
    probabilities are small, as those of a rare class, they end there.

    Attributes
    ----------
    columns : list of Column
        For every curve its ``name``, the ``truth`` (n,) and the probabilities ``values`` (n,).
    n_bins : int
        Into how many bins the rows are sorted by their probability.
    strategy : str
        ``"quantile"``: as many rows in each; ``"uniform"``: bins of equal width.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    LeaveOneOutRocDisplay : How well the classes are told apart.
    sklearn.calibration.CalibrationDisplay : By which it is drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from squareone import RLSClassifier
    >>> from squareone.report import LeaveOneOutCalibrationDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RLSClassifier(random_state=0)).fit(X, y)
    >>> display = LeaveOneOutCalibrationDisplay.from_estimator(model)
    >>> (column,) = display.columns
    >>> column.name
    'class 1'
    >>> print(f"{column.values.mean():.2f} expected, {column.truth.mean():.2f} seen")
    0.64 expected, 0.63 seen
    """

    size: ClassVar[tuple[float, float]] = (4.8, 5.2)

    columns: list[Column]
    n_bins: int
    strategy: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        classes: Sequence[Any] | None = None,
        n_bins: int = 10,
        strategy: str = "quantile",
        ax: Any = None,
    ) -> Self:
        """Draw the curves of a fitted classifier that has ``loo_probabilities_``.

        Parameters
        ----------
        estimator : RLSClassifier
            Fitted; alone, or at the end of a pipeline or search.
        classes : sequence, optional
            The classes, or the numbers of the labels, to draw; by default all, of two classes the
            second.
        n_bins : int, default=10
            Into how many bins the rows are sorted by their probability.
        strategy : {"quantile", "uniform"}, default="quantile"
            As many rows in each bin, or bins of equal width.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LeaveOneOutCalibrationDisplay

        Raises
        ------
        TypeError
            For a regressor.
        AttributeError
            Where there are no probabilities.
        ImportError
            Where matplotlib is not installed.
        """
        need_matplotlib(cls.__name__)
        inner = fitted_classifier(estimator, cls.__name__)
        try:
            probabilities = inner.loo_probabilities_
        except AttributeError as error:
            msg = (
                f"{cls.__name__} needs loo_probabilities_, which this {type(inner).__name__} does "
                f"not have ({error}). LeaveOneOutRocDisplay needs decision values only"
            )
            raise AttributeError(msg) from error
        columns = one_against_rest(inner, probabilities, classes)
        return cls(columns, n_bins, strategy).plot(ax)

    def _draw(self, ax: Any) -> None:
        bins = []
        for style, column in zip(styles(len(self.columns)), self.columns, strict=True):
            drawn = CalibrationDisplay.from_predictions(
                column.truth,
                column.values,
                n_bins=self.n_bins,
                strategy=self.strategy,
                name=column.name,
                ax=ax,
                linestyle=style[0],
                color=style[1],
                marker="o",
                markersize=4.5,
            )
            bins += [drawn.prob_pred, drawn.prob_true]
        for line in ax.lines:
            if line.get_label() == "Perfectly calibrated":
                line.set(label="perfectly calibrated", **GUIDE)
        limits = _limits(np.concatenate(bins))
        if self.strategy == "quantile":
            self._draw_chance(ax, limits)
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        ax.set_xlabel("leave-one-out probability, mean of a bin")
        ax.set_ylabel("share of the bin's rows in the class")
        finish(ax, "above" if len(self.columns) == 1 else "beside")

    def _size(self) -> tuple[float, float]:
        return self.size if len(self.columns) == 1 else WITH_LEGEND

    def _draw_chance(self, ax: Any, limits: tuple[float, float]) -> None:
        """Where bins of equal size fall if the probabilities are right."""
        size = max(1, self.columns[0].truth.size // self.n_bins)
        p = np.clip(np.linspace(*limits, 201), 0.0, 1.0)
        half = 1.96 * np.sqrt(p * (1.0 - p) / size)
        name = f"95 % of calibrated bins of {size:,} rows"
        look = {"color": "0.5", "alpha": 0.18, "linewidth": 0, "label": name}
        ax.fill_between(p, np.maximum(p - half, 0), np.minimum(p + half, 1), **look)


def _limits(shares: Array) -> tuple[float, float]:
    """Of axes on which these are to be seen; all of 0 to 1 where that costs little room."""
    low, high = float(shares.min()), float(shares.max())
    margin = 0.05 * max(high - low, _LEAST_RANGE)
    low, high = max(0.0, low - margin), min(1.0, high + margin)
    if high - low > _NEARLY_ALL:
        low, high = 0.0, 1.0
    beyond = 0.02 * (high - low)
    return low - beyond, high + beyond
