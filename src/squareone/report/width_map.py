"""Where the search for the kernel width has looked: a map of σ × λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..arrays import Array
from .display import CHOSEN, GUIDE, Display, finish, need_matplotlib
from .measure import fitted, is_an_error, score_name, was_given

# One for each number of rows, from few to all.
_MARKERS = ("o", "^", "v", "P", "s")
# An excess beyond this share, or this many times the middle one, has the last colour.
_MOST, _TIMES = 0.5, 3.0
# Decades of λ around the chosen one that are shown; looks beyond stand at the edge.
_DECADES = 4.5


@dataclass(eq=False, repr=False)
class WidthMapDisplay(Display):
    """Every look of a search for the width, by σ and λ, and how far it was from the best.

    A look on up to 1,000 rows knows every λ of its width, and stands at its best one; on more rows
    a look is one width and one λ. The small points are the λ of the chosen width on all rows. Fewer
    rows have a greater error, so that a look is compared with the best one on as many rows. Looks
    at a λ far from the chosen one stand at the edge, with an arrow.

    Attributes
    ----------
    sigmas, alphas : array of shape (m,)
        Where the search looked; of a width for every feature the geometric mean.
    rows : array of shape (m,)
        How many rows were looked at.
    excess : array of shape (m,)
        The mean square error over that of the best look on as many rows, less one. With a
        ``scoring``, or the marginal likelihood, by how much the score is below the best one.
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
    σ = 0.29, λ = 0.79
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
        label = "mean square error above" if relative else f"{score_name(inner)} below"
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
            label=f"{label} the best",
            relative=relative,
            given=was_given(inner),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import PowerNorm
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        ax.set(xscale="log", yscale="log", xlabel="width σ", ylabel="λ")
        most, greatest = self._most_shown()
        norm = PowerNorm(0.5, 0.0, most)
        low, high = self._limits()
        for at, marker, size, label in self._groups():
            points = ax.scatter(
                self.sigmas[at],
                np.clip(self.alphas[at], low, high),
                c=self.excess[at],
                marker=marker,
                s=size,
                edgecolors="black" if label else "none",
                linewidths=0.8,
                zorder=3 if label else 2,
                cmap="viridis",
                norm=norm,
            )
            if label:  # by its form: the colours are those of single looks
                hollow = {"markerfacecolor": "white", "markeredgecolor": "black"}
                ax.plot([], [], marker, markersize=7, label=label, **hollow)
        self._note_those_beyond(ax, low, high)
        sigma, alpha = self.chosen
        ax.axvline(sigma, **GUIDE)
        ax.axhline(alpha, **GUIDE)
        ax.plot(sigma, alpha, label=self._mark_name(), linestyle="none", zorder=5, **CHOSEN)
        ax.set_ylim(low / 8, high * 8)
        extend = "max" if greatest > most else "neither"
        ticks = MaxNLocator(5)
        bar = ax.figure.colorbar(points, ax=ax, label=self.label, extend=extend, ticks=ticks)
        if self.relative:
            bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        finish(ax, "above")

    def _groups(self) -> list[tuple[Array, str, int, str | None]]:
        """Points that look the same: which, their marker, its size, and what they are called."""
        sizes = np.unique(self.rows)
        markers = _MARKERS[: sizes.size - 1] + _MARKERS[-1:]
        groups = [
            ((self.rows == size) & ~self.is_path, marker, 50, f"looks on {size:,.0f} rows")
            for size, marker in zip(sizes, markers, strict=True)
        ]
        low, high = self._limits()
        path = self.is_path & (self.alphas >= low) & (self.alphas <= high)
        return [(path, "o", 8, None), *(group for group in groups if group[0].any())]

    def _most_shown(self) -> tuple[float, float]:
        """The excess that has the last colour, and the greatest there is."""
        finite = self.excess[np.isfinite(self.excess)]
        greatest = float(finite.max())
        most = min(greatest, _TIMES * float(np.median(finite[finite > 0]))) if greatest else 1.0
        return (min(most, _MOST) if self.relative else most), greatest

    def _limits(self) -> tuple[float, float]:
        """λ from where to where: those of all looks, but not too far from the chosen one."""
        far = 10.0**_DECADES
        return (
            max(float(self.alphas.min()), self.chosen[1] / far),
            min(float(self.alphas.max()), self.chosen[1] * far),
        )

    def _note_those_beyond(self, ax: Any, low: float, high: float) -> None:
        """An arrow in the direction in which they are."""
        for beyond, edge, arrow, up in (
            (self.alphas < low, low, "↓", -11),
            (self.alphas > high, high, "↑", 11),
        ):
            for sigma in self.sigmas[beyond & ~self.is_path].tolist():
                where = {"textcoords": "offset points", "ha": "center", "va": "center"}
                ax.annotate(arrow, (sigma, edge), (0, up), **where)

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
