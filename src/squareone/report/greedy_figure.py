"""The path of a greedy fit as a figure: λ, training error and criterion over the centers."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators.orols import OrthogonalLeastSquares
from .display import CHOSEN, GUIDE, Display, finish, need_matplotlib, styles
from .measure import fitted_greedy

_GCV = "generalised cross-validation"
_CRITERIA = {"bic": "Bayesian information", "mdl": "description length"}
# Heights of the panels, from the top: λ, the training error and the criterion.
_HEIGHTS = (1.0, 1.0, 1.6)
# Paths beyond which a legend of their names is longer than the figure.
_MOST_NAMES = 12


@dataclass(eq=False, repr=False)
class GreedyPathDisplay(Display):
    """λ, the training error and the criterion over the number of centers, with the one chosen.

    The criterion is drawn into the axes, which make room for two panels above them, with the same
    horizontal axis, for the training error and λ. The training error is the root mean square of a
    regressor, and the mean square of a classifier on its columns of ±1. Where the targets have
    paths of their own, each of them is a thin line.

    The mark is the number of centers that the model has. Where the criterion is least elsewhere,
    because that number was given, found on held-out rows or asked for by ``at``, a hollow circle
    says where.

    Attributes
    ----------
    centers : array of shape (m + 1,)
        Numbers of centers, 0 … m, up to the end of the longest path.
    lambdas, errors, criterion : array of shape (p, m + 1)
        λ, the training error and the criterion on each of p paths; NaN beyond the end of a path.
    chosen, least : array of int of shape (p,)
        Centers of the model, and where the criterion is least.
    names : list of str
        Of the paths; one of a single path is ``"the path"``.
    label : str
        Of the criterion.
    error_label : str
        Of the training error: ``"root mean square"`` or ``"mean square"``.
    given : bool
        Whether the number of centers was a parameter.
    panels_ : list of matplotlib.axes.Axes
        Those of the training error and of λ, once drawn.
    ax_, figure_
        The axes of the criterion and the figure, once drawn.

    See Also
    --------
    PathDisplay : The held-out error over λ of RLSRegressor and RLSClassifier.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> import numpy as np
    >>> from squareone import OROLSRegressor
    >>> from squareone.report import GreedyPathDisplay
    >>> x = np.linspace(-10, 10, 200)[:, None]
    >>> y = np.sinc(x[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> model = OROLSRegressor().fit(x, y)
    >>> display = GreedyPathDisplay.from_estimator(model)
    >>> display.label
    'generalised cross-validation'
    >>> bool(display.chosen[0] == model.n_centers_ == display.criterion[0].argmin())
    True
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    size: ClassVar[tuple[float, float]] = (6.4, 6.6)

    centers: Array
    lambdas: Array
    errors: Array
    criterion: Array
    chosen: Array
    least: Array
    names: list[str]
    label: str
    error_label: str
    given: bool

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted greedy estimator.

        Parameters
        ----------
        estimator : OROLSRegressor or OROLSClassifier
            Fitted; alone, or at the end of a pipeline or search.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure. They make room at the top for the panels of the
            training error and of λ.

        Returns
        -------
        GreedyPathDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: of the drawing only; all models of the path are known after a fit.

        λ = 0 has no place on a logarithmic axis and is left out; so is a training error of zero.
        """
        need_matplotlib(cls.__name__)
        inner = fitted_greedy(estimator, cls.__name__)
        path = inner.path_
        model, steps = path["model"], path["centers"]
        shape = int(model.max()) + 1, int(steps.max()) + 1

        def curves(name: str) -> Array:
            values = np.full(shape, np.nan)
            values[model, steps] = path[name]
            return values

        criterion, errors = curves("criterion"), curves("training_error")
        classifies = is_classifier(inner)
        return cls(
            centers=np.arange(shape[1]),
            lambdas=curves("lambda"),
            errors=errors if classifies else np.sqrt(errors),
            criterion=criterion,
            chosen=np.atleast_1d(inner.n_centers_),
            least=np.nanargmin(criterion, axis=1),
            names=_names(inner, shape[0]),
            label=_CRITERIA.get(str(inner.stopping), _GCV),
            error_label="mean square" if classifies else "root mean square",
            given=isinstance(inner.stopping, Integral),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        self.panels_ = above = _panels_above(ax)
        for panel in above:
            panel.tick_params(labelbottom=False)
        self._draw_curves(above[0], self.errors, log=True)
        self._draw_curves(above[1], self.lambdas, log=True)
        self._draw_curves(ax, self.criterion, log=self.label == _GCV)
        self._draw_chosen(ax)
        ax.set(xlabel="centers", ylabel=self.label.replace(" ", "\n", 1))
        ax.xaxis.get_major_locator().set_params(integer=True)
        above[0].set_ylabel(f"training error,\n{self.error_label}")
        above[1].set_ylabel("λ")
        for panel in above:
            panel.grid(alpha=0.25)
        finish(ax, "best" if self._single else "beside")

    @property
    def _single(self) -> bool:
        return self.chosen.size == 1

    def _draw_curves(self, ax: Any, values: Array, *, log: bool) -> None:
        shown = np.isfinite(values)
        if log:
            shown &= values > 0
        if log and shown.any():
            ax.set_yscale("log")
        elif log:  # all are zero, and are shown as that
            shown = values == 0
        width = 1.8 if self._single else 0.9
        named = self.chosen.size <= _MOST_NAMES
        kinds = zip(values, shown, styles(self.chosen.size), self.names, strict=True)
        for curve, where, (dashes, colour), name in kinds:
            height = np.where(where, curve, np.nan)
            label = name if named else None
            ax.plot(self.centers, height, dashes, color=colour, linewidth=width, label=label)

    def _draw_chosen(self, ax: Any) -> None:
        mark: dict[str, Any] = {**CHOSEN, "linestyle": "none", "zorder": 4}
        if not self._single:
            mark |= {"markersize": 6}
        other = self.least != self.chosen
        for i, (_, colour) in enumerate(styles(self.chosen.size)):
            m, least = int(self.chosen[i]), int(self.least[i])
            if other[i]:
                ax.plot(least, self.criterion[i, least], **mark | {"marker": "o", "color": "white"})
            own = mark if self._single else mark | {"color": colour}
            ax.plot(m, self.criterion[i, m], **own)
        how = "given" if self.given else "the model" if other.any() else "chosen"
        if self._single:
            how += f": {int(self.chosen[0]):,} centers"
        else:
            mark |= {"color": "white"}
        ax.plot([], [], label=how, **mark)
        if other.any():
            label = "least criterion"
            ax.plot([], [], label=label, **mark | {"marker": "o", "color": "white"})
        if self._single:
            for panel in (ax, *self.panels_):
                panel.axvline(int(self.chosen[0]), **GUIDE)


def _panels_above(ax: Any) -> list[Any]:
    """Two new axes in the upper part of the room of some, of which these keep the lower one."""
    whole = ax.get_subplotspec()
    if whole is not None:
        parts = whole.subgridspec(3, 1, height_ratios=_HEIGHTS)
        ax.set_subplotspec(parts[2])
        return [ax.figure.add_subplot(parts[i], sharex=ax) for i in (1, 0)]
    box = ax.get_position()
    unit = box.height / (sum(_HEIGHTS) + 0.4)  # with two gaps of 0.2
    low = [box.y0 + unit * (_HEIGHTS[2] + 0.2), box.y0 + unit * (_HEIGHTS[2] + _HEIGHTS[1] + 0.4)]
    ax.set_position([box.x0, box.y0, box.width, unit * _HEIGHTS[2]])
    return [
        ax.figure.add_axes((box.x0, y, box.width, unit * height), sharex=ax)
        for y, height in zip(low, (_HEIGHTS[1], _HEIGHTS[0]), strict=True)
    ]


def _names(estimator: OrthogonalLeastSquares, count: int) -> list[str]:
    if count == 1:
        return ["the path"]
    if not is_classifier(estimator):
        return [f"target {i}" for i in range(count)]
    if hasattr(estimator, "code_"):
        return [f"column {i}" for i in range(count)]
    return [f"class {name}" for name in estimator.classes_]
