"""The path as a figure: held-out error and effective degrees of freedom over λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from .display import CHOSEN, GUIDE, Display, finish, need_matplotlib, styles
from .measure import fitted, is_an_error, path_measure_name, shown, shown_error, was_given

_MOST_TICKS = 7
# Values beyond this many times the best one leave the figure: they would flatten its valley.
_HIGHEST = 2.5
# Looks at widths within this factor of the chosen one are shown where it has hardly any itself.
_NEAR = 1.5


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """The held-out error over λ, with its standard error, and the λ that was chosen.

    The vertical axis is the root mean square error of a regressor, the mean square error of a
    classifier on its columns of ±1, or the score itself where the estimator has a ``scoring``. The
    axis at the top translates λ into effective degrees of freedom. Where some λ were looked at in
    float32 only, on the way to the best one, their points are hollow. After a search for the width
    the curve is that of the chosen width; if only one or two λ were looked at there, the looks at
    all rows with widths near to it are shown, and not joined. Where errors grow beyond a multiple
    of the best one, the curve leaves the figure.

    The band is one standard error of the mean over the rows, where the criterion has one. It says
    how well the error itself is known. Two λ are compared on the same rows, so that their
    difference is known much better than that.

    Attributes
    ----------
    alphas : array of shape (m,)
        λ, ascending and above zero.
    values : array of shape (c, m)
        What is drawn over them: one curve, or one for each target.
    errors : array of shape (c, m)
        Standard errors of the values; NaN where they are not known.
    chosen, chosen_values : array of shape (c,)
        The chosen λ of each curve, and its value.
    effective_dof : array of shape (m,)
        Degrees of freedom at each λ.
    coarse : array of bool of shape (m,)
        Where the value was computed in float32 and others in float64.
    names : list of str
        Of the curves.
    label : str
        Of the vertical axis.
    given : bool
        Whether λ was given and not chosen.
    joined : bool
        Whether all values belong to one width, and make a curve.
    highest : float
        Where the vertical axis ends at the latest.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    path_figure : The same by one function, which returns the axes.
    WidthMapDisplay : Where the search for the width has looked.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import PathDisplay
    >>> model = RLSRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = PathDisplay.from_estimator(model)
    >>> display.label
    'leave-one-out root mean square error'
    >>> best = display.values[0].argmin()
    >>> print(f"{display.values[0, best]:.1f} ± {display.errors[0, best]:.1f}")
    54.1 ± 1.7
    """

    alphas: Array
    values: Array
    errors: Array
    chosen: Array
    chosen_values: Array
    effective_dof: Array
    coarse: Array
    names: list[str]
    label: str
    given: bool
    joined: bool
    highest: float

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : RLSRegressor or RLSClassifier
            Fitted; alone, or at the end of a pipeline or search. With ``alpha_per_target=True``
            every target has a curve and a chosen λ of its own.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        PathDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.

        Notes
        -----
        **Cost**: of the drawing only, where λ was chosen in fit. For one given λ its held-out error
        is computed first, in n³/3 flops, if nobody asked for it before.

        λ = 0 has no place on a logarithmic axis and is left out.
        """
        need_matplotlib(cls.__name__)
        inner = fitted(estimator, cls.__name__)
        path = _along_alpha(inner)
        seen = path["alpha"] > 0
        if not seen.any():
            msg = (
                "the path has no alpha above zero, and the axis of λ is logarithmic: nothing to "
                "draw"
            )
            raise ValueError(msg)
        path = {name: values[seen] for name, values in path.items()}
        chosen = np.atleast_1d(inner.alpha_)
        single = chosen.size == 1
        scores = np.array([path["score" if single else f"score_{i}"] for i in range(chosen.size)])
        values = shown(inner, scores)
        joined = "sigma" not in path or np.unique(path["sigma"]).size == 1
        error = path["standard_error"] if single else np.full_like(scores, np.nan)
        return cls(
            alphas=path["alpha"],
            values=values,
            errors=shown_error(inner, scores, np.broadcast_to(error, scores.shape)),
            chosen=chosen,
            chosen_values=shown(inner, np.atleast_1d(inner._recorded().score_on_path("path_"))),
            effective_dof=path["effective_dof"],
            coarse=path["bits"] < path["bits"].max(),
            names=_curve_names(inner, joined=joined),
            label=path_measure_name(inner),
            given=was_given(inner),
            joined=joined,
            highest=_highest(inner, values) if single else np.inf,
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.set_xscale("log")
        for i, (dashes, colour) in enumerate(styles(self.chosen.size)):
            self._draw_curve(ax, i, dashes, colour)
        self._draw_chosen(ax)
        self._set_limits(ax)
        ax.set(xlabel="λ", ylabel=self.label)
        finish(ax)
        if self.joined:  # at other widths the same λ has others
            self._add_degrees_of_freedom(ax)

    def _draw_curve(self, ax: Any, i: int, dashes: str, colour: str) -> None:
        """Points are hollow where others are more precise."""
        alphas, values, coarse = self.alphas, self.values[i], self.coarse
        dots = {"color": colour, "marker": "o", "markersize": 4.5, "linestyle": "none"}
        if self.joined and alphas.size > 1:
            ax.plot(alphas, values, dashes, color=colour, label=self.names[i])
            ax.plot(alphas[~coarse], values[~coarse], **dots)
        else:
            ax.plot(alphas[~coarse], values[~coarse], label=self.names[i], **dots)
        if coarse.any():
            note = "looked at in float32" if i == 0 else None
            ax.plot(alphas[coarse], values[coarse], **dots, markerfacecolor="white", label=note)
        known = np.isfinite(self.errors[i])
        name = "± 1 standard error" if i == 0 else None
        if known.all() and known.size > 1:
            low, high = values - self.errors[i], values + self.errors[i]
            ax.fill_between(alphas, low, high, color=colour, alpha=0.15, linewidth=0, label=name)
        elif known.any():
            bars = {"color": colour, "linestyle": "none", "capsize": 3, "label": name}
            ax.errorbar(alphas[known], values[known], self.errors[i][known], **bars)

    def _draw_chosen(self, ax: Any) -> None:
        how, single = "given" if self.given else "chosen", self.chosen.size == 1
        for i, (_, colour) in enumerate(styles(self.chosen.size)):
            mark = CHOSEN if single else {**CHOSEN, "color": colour}
            note = f"{how} λ = {self.chosen[i]:.3g}" if single else f"{how} λ" if i == 0 else None
            if self.chosen[i] > 0:
                at = self.chosen[i], self.chosen_values[i]
                ax.plot(*at, label=note, linestyle="none", zorder=4, **mark)
        if single and self.chosen[0] > 0:
            ax.axvline(self.chosen[0], **GUIDE)

    def _set_limits(self, ax: Any) -> None:
        from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

        first, last = self.alphas[[0, -1]]
        if first == last:
            ax.set_xlim(first / 10, last * 10)
        elif last < 100 * first:  # else a decade has no room for the numbers within it
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        if self.values.max() > self.highest:
            ax.set_ylim(top=self.highest)

    def _add_degrees_of_freedom(self, ax: Any) -> None:
        """An axis at the top: the effective degrees of freedom at some λ, best at powers of ten."""
        logs = np.log10(self.alphas)
        powers = np.arange(np.ceil(logs[0] - 1e-9), np.floor(logs[-1] + 1e-9) + 1)
        every = max(1, -(-powers.size // _MOST_TICKS))
        ticks = powers[::every] if powers.size > 2 else np.linspace(logs[0], logs[-1], 5)
        ticks = np.unique(ticks)
        # between two points of the path the degrees of freedom follow log λ almost linearly
        values = np.interp(ticks, logs, self.effective_dof)
        top = ax.secondary_xaxis("top")
        top.set_xticks(
            10.0**ticks, [f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values]
        )
        top.minorticks_off()
        top.set_xlabel("effective degrees of freedom")


def path_figure(estimator: Any, ax: Any = None) -> Any:
    """Draw the held-out error over λ of a fitted estimator, and mark the λ that was chosen.

    This is ``PathDisplay.from_estimator(estimator, ax=ax).ax_``; see :class:`PathDisplay`.

    Parameters
    ----------
    estimator : RLSRegressor or RLSClassifier
        Fitted; alone, or at the end of a pipeline or search.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Where matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import path_figure
    >>> ax = path_figure(RLSRegressor(random_state=0).fit(*load_diabetes(return_X_y=True)))
    >>> ax.get_ylabel()
    'leave-one-out root mean square error'
    >>> ax.figure.savefig("path.png")  # doctest: +SKIP
    """
    return PathDisplay.from_estimator(estimator, ax=ax).ax_


def _along_alpha(estimator: RegularisedLeastSquares) -> dict[str, Array]:
    """The path over λ; after a search for the width, what was seen on all rows."""
    path = estimator.path_
    if "sigma" not in path:
        return path
    everything = path["rows"] == path["rows"][-1]
    away = np.abs(np.log(path["sigma"] / path["sigma"][-1]))
    kept = everything & (away == 0)
    if np.count_nonzero(kept) < 3:
        kept = everything & (away <= np.log(_NEAR))
    order = np.flatnonzero(kept)[np.argsort(path["alpha"][kept], kind="stable")]
    return {name: values[order] for name, values in path.items()}


def _highest(estimator: RegularisedLeastSquares, values: Array) -> float:
    """Of an error, a multiple of the least; of a mean square that of its root."""
    if not is_an_error(estimator) or not values.min() > 0:
        return np.inf
    return float(values.min()) * (_HIGHEST**2 if is_classifier(estimator) else _HIGHEST)


def _curve_names(estimator: RegularisedLeastSquares, *, joined: bool) -> list[str]:
    count = np.size(estimator.alpha_)
    if count == 1:
        return ["every λ looked at" if joined else "looks at widths near the chosen one"]
    if is_classifier(estimator):
        return [f"class {name}" for name in estimator.classes_]
    return [f"target {i}" for i in range(count)]
