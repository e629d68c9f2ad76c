"""ROC and precision-recall curves of the leave-one-out values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import (
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)

from ..arrays import Array
from .class_columns import Column, fitted_classifier, one_against_rest
from .display import CHOSEN, GUIDE, WITH_LEGEND, Display, finish, need_matplotlib, styles

# ROC curves that a legend below the diagonal has room for.
_MOST_INSIDE = 10


@dataclass(eq=False, repr=False)
class _RankingDisplay(Display):
    """Curves over all thresholds of leave-one-out values, one class, or label, against the rest."""

    size: ClassVar[tuple[float, float]] = (4.8, 4.6)

    columns: list[Column]

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
        display

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
        columns = one_against_rest(inner, inner.loo_decision_values_, classes)
        columns = [column for column in columns if 0 < column.truth.sum() < column.truth.size]
        if not columns:
            msg = "every label is the same in all rows: there is no curve to draw"
            raise ValueError(msg)
        return cls._of(columns).plot(ax)

    @classmethod
    @abstractmethod
    def _of(cls, columns: list[Column]) -> Self:
        """With the number that stands for each curve."""

    def _draw_curves(self, ax: Any, kind: Any, names: list[str]) -> None:
        """Each by a display of scikit-learn, with the name it is to have."""
        how = zip(self.columns, names, styles(len(self.columns)), strict=True)
        for column, name, (dashes, colour) in how:
            drawn = kind.from_predictions(column.truth, column.values, ax=ax)
            line = np.ravel(drawn.line_)[0]  # in some versions a list
            line.set(linestyle=dashes, color=colour, label=name)


@dataclass(eq=False, repr=False)
class LeaveOneOutRocDisplay(_RankingDisplay):
    """True positives against false ones, over all thresholds of the leave-one-out values.

    Every row is judged by the model that has not seen it, with the intercept of all rows
    (``loo_decision_values_``): this is the curve to expect of new rows, and no test rows are
    needed. Each class is compared with the rest; for two classes there is one curve, that of the
    second.

    Attributes
    ----------
    columns : list of Column
        For every curve its ``name``, the ``truth`` (n,), the ``values`` (n,) and the ``threshold``.
    areas : array of shape (c,)
        Under the curves.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    LeaveOneOutPrecisionRecallDisplay : The same where one class is rare.
    LeaveOneOutCalibrationDisplay : Whether probabilities are what they say.
    sklearn.metrics.RocCurveDisplay : By which it is drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from squareone import RLSClassifier
    >>> from squareone.report import LeaveOneOutRocDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RLSClassifier(random_state=0)).fit(X, y)
    >>> display = LeaveOneOutRocDisplay.from_estimator(model)
    >>> display.areas.round(3)
    array([0.996])
    """

    areas: Array

    @classmethod
    def _of(cls, columns: list[Column]) -> Self:
        areas = [roc_auc_score(column.truth, column.values) for column in columns]
        return cls(columns, np.array(areas))

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], label="chance", **GUIDE)
        pairs = zip(self.columns, self.areas, strict=True)
        names = [f"{column.name}, area {area:.3f}" for column, area in pairs]
        self._draw_curves(ax, RocCurveDisplay, names)
        ax.set_xlabel("false positive rate, each row left out")
        ax.set_ylabel("true positive rate, each row left out")
        finish(ax, "lower right" if len(self.columns) <= _MOST_INSIDE else "beside")


@dataclass(eq=False, repr=False)
class LeaveOneOutPrecisionRecallDisplay(_RankingDisplay):
    """The share of right ones among positives found, against the share of positives found.

    Over all thresholds of the leave-one-out values, as :class:`LeaveOneOutRocDisplay`; of a rare
    class a ROC curve looks good even where most of what is found is wrong, and this one does not.
    Precision by chance is the share of the class, a dotted line. A mark shows the threshold that
    the estimator predicts by; more than two classes have none.

    Attributes
    ----------
    columns : list of Column
        For every curve its ``name``, the ``truth`` (n,), the ``values`` (n,) and the ``threshold``.
    average_precisions : array of shape (c,)
        The mean of the precision, weighted by the recall that is won: about the area.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    LeaveOneOutRocDisplay : True positives against false ones.
    LeaveOneOutCalibrationDisplay : Whether probabilities are what they say.
    sklearn.metrics.PrecisionRecallDisplay : By which it is drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import make_classification
    >>> from squareone import RLSClassifier
    >>> from squareone.report import LeaveOneOutPrecisionRecallDisplay
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> model = RLSClassifier(threshold="f1", random_state=0).fit(X, y)
    >>> display = LeaveOneOutPrecisionRecallDisplay.from_estimator(model)
    >>> bool(display.average_precisions[0] > y.mean())
    True
    """

    average_precisions: Array

    @classmethod
    def _of(cls, columns: list[Column]) -> Self:
        found = [average_precision_score(column.truth, column.values) for column in columns]
        return cls(columns, np.array(found))

    def _draw(self, ax: Any) -> None:
        single = len(self.columns) == 1
        for column, (_, colour) in zip(self.columns, styles(len(self.columns)), strict=True):
            share = column.truth.mean()
            named = {"label": f"chance, {share:.2g}"} if single else {"color": colour}
            ax.axhline(share, **GUIDE | named)
        pairs = zip(self.columns, self.average_precisions, strict=True)
        names = [f"{column.name}, average precision {found:.3f}" for column, found in pairs]
        self._draw_curves(ax, PrecisionRecallDisplay, names)
        marked = False
        for column in self.columns:
            point = _precision_and_recall(column)
            if point is not None:
                label = None if marked else "as predicted"
                ax.plot(*point[::-1], linestyle="", label=label, zorder=3, **CHOSEN)
                marked = True
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_xlabel("recall, each row left out")
        ax.set_ylabel("precision, each row left out")
        finish(ax, "best" if single else "beside")

    def _size(self) -> tuple[float, float]:
        return self.size if len(self.columns) == 1 else WITH_LEGEND


def _precision_and_recall(column: Column) -> tuple[float, float] | None:
    """Of what the threshold predicts; None where there is none, or nothing is predicted."""
    if column.threshold is None:
        return None
    found = column.values > column.threshold
    if not found.any():
        return None
    right = np.count_nonzero(found & column.truth)
    return right / np.count_nonzero(found), right / np.count_nonzero(column.truth)
