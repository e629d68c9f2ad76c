"""The path as a figure: held-out error and effective degrees of freedom over λ."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from .measure import fitted, measure_name, shown, was_given

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the pale yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
_CHOSEN = "#E69F00"
_MOST_TICKS = 7


def path_figure(estimator: Any, ax: Any = None) -> Any:
    """Draw the held-out error over λ of a fitted estimator, and mark the λ that was chosen.

    The vertical axis is the root mean square error of a regressor, the mean square error of a
    classifier on its columns of ±1, or the score itself where the estimator has a ``scoring``. The
    axis at the top translates λ into effective degrees of freedom. Where some λ were looked at in
    float32 only, on the way to the best one, their points are hollow. After a search for the width
    the curve is that of the chosen width; if only one or two λ were looked at there, it joins all
    the looks on all rows, whose widths differ a little.

    Parameters
    ----------
    estimator : RLSRegressor or RLSClassifier
        Fitted. With ``alpha_per_target=True`` every target has a curve and a chosen λ of its own.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Where matplotlib is not installed.

    Notes
    -----
    **Cost**: of the drawing only, where λ was chosen in fit. For one given λ its held-out error is
    computed first, in n³/3 flops, if nobody asked for it before.

    λ = 0 has no place on a logarithmic axis and is left out.

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
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = 'path_figure needs matplotlib, which is not installed: pip install "squareone[plot]"'
        raise ImportError(msg) from error
    estimator = fitted(estimator, "path_figure")
    path = _along_alpha(estimator)
    seen = path["alpha"] > 0
    if not seen.any():
        msg = "the path has no alpha above zero, and the axis of λ is logarithmic: nothing to draw"
        raise ValueError(msg)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ax.set_xscale("log")
    path = {name: values[seen] for name, values in path.items()}
    _draw_curves(estimator, ax, path)
    ax.set_xlabel("λ")
    ax.set_ylabel(measure_name(estimator))
    ax.grid(alpha=0.25)
    ax.legend(framealpha=0.85, edgecolor="none")
    _add_degrees_of_freedom(ax, path["alpha"], path["effective_dof"])
    return ax


def _along_alpha(estimator: RegularisedLeastSquares) -> dict[str, Array]:
    """The path over λ; after a search for the width, what was seen on all rows."""
    path = estimator.path_
    if "sigma" not in path:
        return path
    everything = path["rows"] == path["rows"][-1]
    last = everything & (path["sigma"] == path["sigma"][-1])
    shown = last if np.count_nonzero(last) > 2 else everything
    order = np.flatnonzero(shown)[np.argsort(path["alpha"][shown], kind="stable")]
    return {name: values[order] for name, values in path.items()}


def _draw_curves(estimator: RegularisedLeastSquares, ax: Any, path: dict[str, Array]) -> None:
    """A curve for each chosen λ; its points are hollow where others are more precise."""
    alphas, coarse = path["alpha"], path["bits"] < path["bits"].max()
    chosen = np.atleast_1d(estimator.alpha_)
    best = shown(estimator, np.atleast_1d(estimator.best_score_))
    single = chosen.size == 1
    styles = list(product(("-", "--", ":"), _COLOURS))
    for i in range(chosen.size):
        line, colour = styles[i % len(styles)]
        values = shown(estimator, path["score" if single else f"score_{i}"])
        dots = {"color": colour, "marker": "o", "markersize": 4.5, "linestyle": "none"}
        ax.plot(alphas, values, line, color=colour, label=_curve_name(estimator, i, single))
        ax.plot(alphas[~coarse], values[~coarse], **dots)
        if coarse.any():
            note = "looked at in float32" if i == 0 else None
            ax.plot(alphas[coarse], values[coarse], **dots, markerfacecolor="white", label=note)
    how = "given" if was_given(estimator) else "chosen"
    for i in np.flatnonzero(chosen > 0).tolist():
        colour = _CHOSEN if single else styles[i % len(styles)][1]
        note = f"{how} λ = {chosen[i]:.3g}" if single else f"{how} λ" if i == 0 else None
        mark = {"color": colour, "markeredgecolor": "black", "markersize": 9, "zorder": 4}
        ax.plot(chosen[i], best[i], "D", label=note, **mark)
        if single:
            ax.axvline(chosen[i], color="0.4", linestyle=":", linewidth=1.2, zorder=1)


def _curve_name(estimator: RegularisedLeastSquares, i: int, single: bool) -> str:
    if single:
        return "every λ looked at"
    if is_classifier(estimator):
        return f"class {estimator.classes_[i]}"
    return f"target {i}"


def _add_degrees_of_freedom(ax: Any, alphas: Array, dof: Array) -> None:
    """An axis at the top: the effective degrees of freedom at some powers of ten of λ."""
    logs = np.log10(alphas)
    powers = np.arange(np.ceil(logs[0] - 1e-9), np.floor(logs[-1] + 1e-9) + 1)
    every = max(1, -(-powers.size // _MOST_TICKS))
    # between two points of the path the degrees of freedom follow log λ almost linearly
    ticks = powers[::every] if powers.size > 1 else logs[[0, -1]] if logs.size > 1 else logs
    top = ax.secondary_xaxis("top")
    values = np.interp(ticks, logs, dof)
    top.set_xticks(
        10.0**ticks, [f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values]
    )
    top.minorticks_off()
    top.set_xlabel("effective degrees of freedom")
