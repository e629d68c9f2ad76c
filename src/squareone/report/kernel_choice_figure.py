"""The choice of a kernel as a figure: the error of folds over the rounds of a learned metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from .display import CHOSEN, GUIDE, WITH_LEGEND, Display, finish, need_matplotlib, styles
from .measure import fitted, score_name, shown, shown_error

# What is said of a power.
_POWERS = {0.0: "", 0.5: ", p = ½", 1.0: ", p = 1"}


@dataclass(eq=False, repr=False)
class KernelChoiceDisplay(Display):
    """Errors of folds that learn everything anew, over rounds of a metric, for every kernel tried.

    A line belongs to a kernel, a power and, for a table, a scaling; its point at zero rounds is the
    plain kernel. Those that came to the last stage of the choice, on the most rows, are drawn with
    their standard errors; the others ended on fewer rows and are left out. The dotted line is
    the error that is reported, of other folds, on more rows to learn from.

    Attributes
    ----------
    names : list of str
        Of the lines.
    rounds, errors, standard_errors : list of array
        One of each for every line; standard errors are NaN where a scorer is used.
    chosen : tuple of (int, int)
        The line and the point on it.
    reported : float
        The error of ``best_score_``.
    rows : int
        Rows of the last stage.
    label : str
        Of the error.
    ax_, figure_
        The axes and the figure, once drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window
    >>> import numpy as np
    >>> from squareone import RLSRegressor
    >>> from squareone.kernels import Gaussian
    >>> from squareone.report import KernelChoiceDisplay
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> model = RLSRegressor(Gaussian(metric="learned")).fit(X, np.sin(X[:, 0] + X[:, 1]))
    >>> display = KernelChoiceDisplay.from_estimator(model)
    >>> line, point = display.chosen
    >>> bool(display.rounds[line][point] == model.rounds_ > 0)
    True
    """

    size: ClassVar[tuple[float, float]] = WITH_LEGEND

    names: list[str]
    rounds: list[Array]
    errors: list[Array]
    standard_errors: list[Array]
    chosen: tuple[int, int]
    reported: float
    rows: int
    label: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the choice of a fitted estimator.

        Parameters
        ----------
        estimator : RLSRegressor, RLSClassifier, TableRegressor or TableClassifier
            Fitted with ``kernel="auto"`` or a learned metric; alone, or at the end of a pipeline or
            search.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        KernelChoiceDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError
            Where the kernel was given.

        Notes
        -----
        **Cost**: of the drawing only.
        """
        need_matplotlib(cls.__name__)
        inner = fitted(estimator, cls.__name__)
        learned = inner._recorded().learned
        if learned is None:
            msg = (
                f"{cls.__name__} draws the choice of a kernel, and kernel={inner.kernel!s} was "
                'given: fit with kernel="auto", or a kernel with metric="learned"'
            )
            raise ValueError(msg)
        trials = learned.trials
        last = np.flatnonzero(trials["stage"] == trials["stage"][-1])
        place = int(np.flatnonzero(trials["chosen"])[0])
        lines = _lines(trials, last, _scalings(inner))
        groups = list(lines.values())
        line = next(j for j, group in enumerate(groups) if place in group)
        scores, errors = trials["score"], trials["standard_error"]
        return cls(
            names=list(lines),
            rounds=[trials["rounds"][group] for group in groups],
            errors=[shown(inner, scores[group]) for group in groups],
            standard_errors=[shown_error(inner, scores[group], errors[group]) for group in groups],
            chosen=(line, groups[line].index(place)),
            reported=float(np.mean(shown(inner, np.mean(learned.score)))),
            rows=int(trials["rows"][place]),
            label=score_name(inner),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        curves = zip(
            self.rounds,
            self.errors,
            self.standard_errors,
            self.names,
            styles(len(self.names)),
            strict=True,
        )
        for rounds, errors, spread, name, (dashes, colour) in curves:
            known = np.isfinite(spread).all()
            ax.errorbar(
                rounds,
                errors,
                spread if known else None,
                linestyle=dashes,
                color=colour,
                marker="o",
                markersize=4,
                capsize=2,
                elinewidth=0.8,
                label=name,
            )
        line, point = self.chosen
        ax.plot(
            self.rounds[line][point],
            self.errors[line][point],
            linestyle="none",
            zorder=4,
            label="chosen",
            **CHOSEN,
        )
        ax.axhline(self.reported, **GUIDE, label="reported, of other folds")
        ax.set(xlabel="rounds of the learned metric", ylabel=f"{self.label}, {self.rows:,} rows")
        ax.xaxis.get_major_locator().set_params(integer=True)
        finish(ax, "beside")


def _lines(trials: dict[str, Array], last: Array, scalings: list[str]) -> dict[str, list[int]]:
    """Names of lines, and the trials on each: those of zero rounds are on the lines of all powers.

    ``last`` (q,) are the numbers of the trials that are drawn.
    """
    plain: dict[tuple[str, int], int | None] = {}
    learned: dict[tuple[str, int, float], list[int]] = {}
    for i in last:
        kernel, number = str(trials["kernel"][i]), int(trials["preparation"][i])
        if trials["rounds"][i] == 0:
            plain.setdefault((kernel, number), int(i))  # it comes once for every power
        else:
            learned.setdefault((kernel, number, float(trials["power"][i])), []).append(int(i))
    for kernel, number, _ in learned:  # a sum has no trial without rounds
        plain.setdefault((kernel, number), None)
    lines = {}
    for (kernel, number), first in plain.items():
        name = kernel.replace("sigma='auto'", "").replace(", )", ")").replace("()", "")
        powers = [key[2] for key in learned if key[:2] == (kernel, number)]
        for power in powers or [0.0]:
            rest = learned.get((kernel, number, power), [])
            group = rest if first is None else [first, *rest]
            lines[f"{name}{_POWERS[power]}{scalings[number]}"] = group
    return lines


def _scalings(estimator: Any) -> list[str]:
    """What is said of each preparation: nothing where there is one, or rows are numbers already."""
    if getattr(estimator, "encoder_", None) is None or estimator.encoder is not None:
        return [""]
    from ..tables.table_fit import TRIED_SCALINGS  # imported late: most figures are not of tables

    return [f", {scaling}" for scaling in TRIED_SCALINGS]
