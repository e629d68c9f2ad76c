"""Where the search for the kernel width has looked: a map of σ × λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..arrays import Array
from .display import CHOSEN, Display, finish, need_matplotlib
from .measure import fitted, is_an_error, measure_name, was_given

# One for each number of rows, from few to all.
_MARKERS = ("o", "^", "v", "s")
# An excess beyond this share has the last colour.
_MOST = 0.5


@dataclass(eq=False)
class WidthMapDisplay(Display):
    """Every look of a search for the width, by σ and λ, and how far it was from the best.

    A look on up to 1,000 rows knows every λ of its width, and stands at its best one; on more rows
    a look is one width and one λ. The small points are the λ of the chosen width on all rows. Fewer
    rows have a greater error, so that a look is compared with the best one on as many rows.

    Attributes
    ----------
    sigmas, alphas : array of shape (m,)
        Where the search looked; of a width for every feature the geometric mean.
    rows : array of shape (m,)
        How many rows were looked at.
    excess : array of shape (m,)
        The error over that of the best look on as many rows, less one. With a ``scoring``, or the
        marginal likelihood, by how much the score is below the best one.
    is_path : array of bool of shape (m,)
        Which of them are the λ of the chosen width on all rows.
    chosen : tuple of float
        σ and λ of the fit.
    label : str
        Of the colours.
    relative : bool
        Whether the excess is a share of the best error.
    given : bool
        Whether λ was given, and σ alone chosen.
    ax_, figure_
        The axes and the figure, once drawn.

    See Also
    --------
    PathDisplay : The error over λ at the chosen width.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> from squareone.report import WidthMapDisplay
    >>> model = RLSRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = WidthMapDisplay.from_estimator(model)
    >>> print("σ = {:.2f}, λ = {:.2f}".format(*display.chosen))
    σ = 0.29, λ = 0.64
    """

    sigmas: Array
    alphas: Array
    rows: Array
    excess: Array
    is_path: Array
    chosen: tuple[float, float]
    label: str
    relative: bool
    given: bool

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the search of a fitted estimator.

        Parameters
        ----------
        estimator : RLSRegressor or RLSClassifier
            Fitted, with a kernel whose width was ``"auto"``; alone, or at the end of a pipeline or
            search.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        WidthMapDisplay

        Raises
        ------
        ValueError
            Where the width was not searched.
        ImportError
            Where matplotlib is not installed.
        """
        need_matplotlib(cls.__name__)
        inner = fitted(estimator, cls.__name__)
        path = inner.path_
        if "sigma" not in path:
            msg = (
                f"{cls.__name__} shows a search for the width, and there was none: the kernel is "
                f'{inner.kernel!r}. Fit with sigma="auto", as in kernel="gaussian"'
            )
            raise ValueError(msg)
        alphas = np.atleast_1d(inner.alpha_)
        last = path["rows"] == path["rows"][-1]
        relative = is_an_error(inner)
        best = "error above the best" if relative else f"{measure_name(inner)} below the best"
        chosen = float(path["sigma"][-1]), float(np.exp(np.mean(np.log(alphas))))
        seen = path["alpha"] > 0
        excess = _excess(path["score"], path["rows"], relative=relative)
        return cls(
            sigmas=path["sigma"][seen],
            alphas=path["alpha"][seen],
            rows=path["rows"][seen],
            excess=excess[seen],
            is_path=(last & (path["sigma"] == path["sigma"][-1]))[seen],
            chosen=chosen,
            label=f"{best} on as many rows",
            relative=relative,
            given=was_given(inner),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import PowerNorm
        from matplotlib.ticker import PercentFormatter

        ax.set(xscale="log", yscale="log", xlabel="width σ", ylabel="λ")
        finite = self.excess[np.isfinite(self.excess)]
        most = float(finite.max(initial=0.0))
        most = min(most, _MOST) if self.relative else most
        shown = {"cmap": "cividis_r", "norm": PowerNorm(0.5, 0.0, most or 1.0)}
        points = self._draw_looks(ax, shown)
        ax.plot(*self.chosen, label=self._mark_name(), linestyle="none", zorder=5, **CHOSEN)
        extend = "max" if finite.size and finite.max() > most else "neither"
        bar = ax.figure.colorbar(points, ax=ax, label=self.label, extend=extend)
        if self.relative:
            bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        finish(ax)

    def _draw_looks(self, ax: Any, shown: dict[str, Any]) -> Any:
        sizes = np.unique(self.rows)
        markers = _MARKERS[: sizes.size - 1] + _MARKERS[-1:]
        for size, marker in zip(sizes, markers, strict=True):
            at = (self.rows == size) & ~self.is_path
            label = f"looks on {size:,.0f} rows"
            points = ax.scatter(
                self.sigmas[at],
                self.alphas[at],
                c=self.excess[at],
                marker=marker,
                s=55,
                edgecolors="black",
                linewidths=0.8,
                zorder=3,
                label=label if at.any() else None,
                **shown,
            )
        at = self.is_path
        ax.scatter(self.sigmas[at], self.alphas[at], c=self.excess[at], s=9, zorder=2, **shown)
        return points

    def _mark_name(self) -> str:
        sigma, alpha = self.chosen
        what = "chosen σ" if self.given else "chosen"
        return f"{what}: σ = {sigma:.3g}, λ = {alpha:.3g}"


def _excess(scores: Array, rows: Array, *, relative: bool) -> Array:
    """How far each score is below the best on as many rows."""
    excess = np.empty(scores.size)
    for size in np.unique(rows):
        at = rows == size
        best = np.nanmax(scores[at])
        excess[at] = best - scores[at]
        if relative and best < 0:
            excess[at] /= -best
    return excess
