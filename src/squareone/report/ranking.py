"""The ROC curve of the leave-one-out values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import RocCurveDisplay, roc_auc_score

from ..arrays import Array
from .class_columns import Column, fitted_classifier, one_against_rest
from .display import GUIDE, Display, finish, need_matplotlib, styles

# Curves that a legend below the diagonal has room for.
_MOST_INSIDE = 10


@dataclass(eq=False, repr=False)
class LeaveOneOutRocDisplay(Display):
    """True positives against false ones, over all thresholds of the leave-one-out values.

    Every row is judged by the model that has not seen it: this is the curve to expect of new rows,
    and no test rows are needed. Each class is compared with the rest; for two classes there is one
    curve, that of the second.

    Attributes
    ----------
    columns : list of Column
        For every curve its ``name``, the ``truth`` (n,) and the ``values`` (n,).
    areas : array of shape (c,)
        Under the curves.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    LeaveOneOutCalibrationDisplay : Whether probabilities are what they say.
    sklearn.metrics.RocCurveDisplay : By which it is drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_breast_cancer
    >>> from squareone import RLSClassifier
    >>> from squareone.report import LeaveOneOutRocDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = LeaveOneOutRocDisplay.from_estimator(RLSClassifier(random_state=0).fit(X, y))
    >>> display.areas
    array([0.98])
    """

    size: ClassVar[tuple[float, float]] = (4.8, 4.6)

    columns: list[Column]
    areas: Array

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, classes: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """Draw the curves of a fitted classifier.

        Parameters
        ----------
        estimator : RLSClassifier
            Fitted; alone, or at the end of a pipeline or search.
        classes : sequence, optional
            The classes, or the numbers of the labels, to draw; by default all, of two classes the
            second. A label that all rows have, or none, has no curve and is left out.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LeaveOneOutRocDisplay

        Raises
        ------
        TypeError
            For a regressor.
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: n log n for each curve, where λ was chosen in fit. For one given λ the values are
        computed first, in n³/3 flops, if nobody asked for them before.
        """
        need_matplotlib(cls.__name__)
        inner = fitted_classifier(estimator, cls.__name__)
        columns = one_against_rest(inner, inner.loo_predictions_, classes)
        columns = [column for column in columns if 0 < column.truth.sum() < column.truth.size]
        if not columns:
            msg = "every label is the same in all rows: there is no curve to draw"
            raise ValueError(msg)
        areas = [roc_auc_score(column.truth, column.values) for column in columns]
        return cls(columns, np.array(areas)).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], label="chance", **GUIDE)
        how = zip(self.columns, self.areas, styles(len(self.columns)), strict=True)
        for column, area, (dashes, colour) in how:
            drawn = RocCurveDisplay.from_predictions(column.truth, column.values, ax=ax)
            line = np.ravel(drawn.line_)[0]  # in some versions a list
            line.set(linestyle=dashes, color=colour, label=f"{column.name}, area {area:.3f}")
        ax.set_xlabel("false positive rate, each row left out")
        ax.set_ylabel("true positive rate, each row left out")
        finish(ax, "lower right" if len(self.columns) <= _MOST_INSIDE else "beside")
