"""The path as a figure: held-out error and effective degrees of freedom over λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from .display import CHOSEN, GUIDE, Display, finish, need_matplotlib, styles
from .measure import fitted, measure_name, shown, shown_error, was_given

_MOST_TICKS = 7


@dataclass(eq=False)
class PathDisplay(Display):
    """The held-out error over λ, with its standard error, and the λ that was chosen.

    The vertical axis is the root mean square error of a regressor, the mean square error of a
    classifier on its columns of ±1, or the score itself where the estimator has a ``scoring``. The
    axis at the top translates λ into effective degrees of freedom. Where some λ were looked at in
    float32 only, on the way to the best one, their points are hollow. After a search for the width
    the curve is that of the chosen width; if only one or two λ were looked at there, it joins all
    the looks on all rows, whose widths differ a little.

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
        error = path["standard_error"] if single else np.full_like(scores, np.nan)
        return cls(
            alphas=path["alpha"],
            values=shown(inner, scores),
            errors=shown_error(inner, scores, np.broadcast_to(error, scores.shape)),
            chosen=chosen,
            chosen_values=shown(inner, np.atleast_1d(inner.best_score_)),
            effective_dof=path["effective_dof"],
            coarse=path["bits"] < path["bits"].max(),
            names=[_curve_name(inner, i, single) for i in range(chosen.size)],
            label=measure_name(inner),
            given=was_given(inner),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.set_xscale("log")
        single = self.chosen.size == 1
        for i, (line, colour) in enumerate(styles(self.chosen.size)):
            self._draw_curve(ax, i, line, colour)
            mark = CHOSEN if single else {**CHOSEN, "color": colour}
            if self.chosen[i] > 0:
                note = self._mark_name(i)
                at = self.chosen[i], self.chosen_values[i]
                ax.plot(*at, label=note, linestyle="none", zorder=4, **mark)
        if single and self.chosen[0] > 0:
            ax.axvline(self.chosen[0], **GUIDE)
        ax.set(xlabel="λ", ylabel=self.label)
        finish(ax)
        self._add_degrees_of_freedom(ax)

    def _draw_curve(self, ax: Any, i: int, line: str, colour: str) -> None:
        """Points are hollow where others are more precise."""
        alphas, values, coarse = self.alphas, self.values[i], self.coarse
        dots = {"color": colour, "marker": "o", "markersize": 4.5, "linestyle": "none"}
        ax.plot(alphas, values, line, color=colour, label=self.names[i])
        ax.plot(alphas[~coarse], values[~coarse], **dots)
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

    def _mark_name(self, i: int) -> str | None:
        how = "given" if self.given else "chosen"
        if self.chosen.size == 1:
            return f"{how} λ = {self.chosen[i]:.3g}"
        return f"{how} λ" if i == 0 else None

    def _add_degrees_of_freedom(self, ax: Any) -> None:
        """An axis at the top: the effective degrees of freedom at some powers of ten of λ."""
        logs = np.log10(self.alphas)
        powers = np.arange(np.ceil(logs[0] - 1e-9), np.floor(logs[-1] + 1e-9) + 1)
        every = max(1, -(-powers.size // _MOST_TICKS))
        # between two points of the path the degrees of freedom follow log λ almost linearly
        ticks = powers[::every] if powers.size > 1 else logs[[0, -1]] if logs.size > 1 else logs
        top = ax.secondary_xaxis("top")
        values = np.interp(ticks, logs, self.effective_dof)
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
    last = everything & (path["sigma"] == path["sigma"][-1])
    kept = last if np.count_nonzero(last) > 2 else everything
    order = np.flatnonzero(kept)[np.argsort(path["alpha"][kept], kind="stable")]
    return {name: values[order] for name, values in path.items()}


def _curve_name(estimator: RegularisedLeastSquares, i: int, single: bool) -> str:
    if single:
        return "every λ looked at"
    if is_classifier(estimator):
        return f"class {estimator.classes_[i]}"
    return f"target {i}"
