"""What the figures share: axes, colours, and matplotlib imported when something is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product
from typing import Any, ClassVar, Self

from ..arrays import Array

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the pale yellow.
BLUE, RED, GREEN, PINK, SKY, BLACK = COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#000000",
)
#: The mark of what was chosen.
CHOSEN = {"color": "#E69F00", "marker": "D", "markeredgecolor": "black", "markersize": 9}
#: Lines that are there for comparison.
GUIDE = {"color": "0.4", "linestyle": ":", "linewidth": 1.2, "zorder": 1}
#: Inches of a figure with a legend beside the axes.
WITH_LEGEND = (8.7, 4.8)
# Letters of a name that two columns of a legend have no room for, and names for which one will do.
_LONG_NAME, _FEW_NAMES = 33, 4
# Points beyond which a figure holds them as an image: a file of a million circles opens slowly.
_MANY = 5000


def styles(count: int) -> list[tuple[str, str]]:
    """A line style and a colour for each of so many curves."""
    known = list(product(("-", "--", ":"), COLOURS))
    return [known[i % len(known)] for i in range(count)]


def need_matplotlib(name: str) -> Any:
    """``matplotlib.pyplot``, or an error that says what to install; for the display ``name``."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = f'{name} needs matplotlib, which is not installed: pip install "squareone[plot]"'
        raise ImportError(msg) from error
    return plt


def scatter(ax: Any, x: Array, y: Array, **more: Any) -> Any:
    """Points without edges, the fainter the more there are."""
    faint = 0.75 if x.size <= 200 else 0.5 if x.size <= 2000 else 0.3
    given = {"s": 18, "color": BLUE, "alpha": faint, "linewidths": 0, **more}
    return ax.scatter(x, y, rasterized=x.size > _MANY, **given)


class Display(ABC):
    """A figure in scikit-learn's manner: the numbers first, :meth:`plot` to draw them.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn last.
    figure_ : matplotlib.figure.Figure
        The figure of those axes.
    """

    #: Inches of a new figure.
    size: ClassVar[tuple[float, float]] = (6.4, 4.2)

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; by default a new figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        """
        plt = need_matplotlib(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(figsize=self._size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Inches of a new figure for what is to be drawn."""
        return self.size

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw into ``ax``."""


def finish(ax: Any, legend: str = "best") -> Any:
    """A faint grid below, and a legend: where it hides least, or outside, above or beside.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    legend : str
        ``"above"``, ``"beside"``, or a place inside by its name in matplotlib.

    Returns
    -------
    matplotlib.legend.Legend
    """
    ax.grid(alpha=0.25)
    ax.set_axisbelow(True)
    if legend == "above":
        names = ax.get_legend_handles_labels()[1]
        columns = 1 if max(map(len, names)) > _LONG_NAME and len(names) <= _FEW_NAMES else 2
        return ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False)
    if legend == "beside":
        return ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return ax.legend(loc=legend, framealpha=0.85, edgecolor="none")
