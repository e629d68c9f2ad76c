"""Figures of the HTML report: small, binned, and as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .display import BLUE, RED
from .outer_errors import OuterErrors
from .verdict import number

__all__ = ["Drawing", "columns_figure", "coverage_figure", "draw", "errors_figures"]

# Drawn in these, and replaced by what the page has: ink for lines and text, in light and dark.
_INK, _FAINT = "#010203", "#040506"
# Of cells with few rows to those with many: seen on white and on black.
_FEW_TO_MANY = ("#56B4E9", "#009E73", "#E69F00")
# Inches of a figure, and cells of a binned one.
_SIZE, _CELLS = (4.6, 3.4), 36
# Inches left free at the edges: letters in a browser are wider than where this was laid out.
_PAD = 0.12
#: Rows below which a bin of a curve is not shown.
FEWEST = 10
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_STYLE = re.compile(r"<style type=\"text/css\">.*?</style>", re.DOTALL)


class Drawing:
    """A figure for the page.

    Attributes
    ----------
    svg : str
    alt : str
        What it shows, for who cannot see it.
    title : str
    """

    def __init__(self, title: str, alt: str, svg: str) -> None:
        self.title, self.alt, self.svg = title, alt, svg


def draw(title: str, alt: str, into: Callable[[Any], None], size: Any = _SIZE) -> Drawing:
    """A figure as SVG, drawn by ``into(ax)``; text stays as it is, dollar signs too."""
    from html import escape

    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    look: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": title,
        "font.family": "sans-serif",
        "font.size": 10.0,
        "text.color": _INK,
        "axes.edgecolor": _INK,
        "axes.labelcolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "text.parse_math": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.use_mathtext": False,
        "axes.unicode_minus": True,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD))
        ax = figure.add_subplot()
        into(ax)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, dpi=110, metadata={"Date": None})
    text = file.getvalue()
    text = _STYLE.sub("", _METADATA.sub("", text[text.index("<svg") :]))
    text = text.replace(_INK, "currentColor").replace(_FAINT, "var(--faint)")
    text = text.replace(BLUE.lower(), "var(--mark)")
    text = re.sub(r"font: ([^;\"]*?)'[^;\"]*", r"font: \1system-ui, sans-serif", text)
    label = f'<svg role="img" aria-label="{escape(alt, quote=True)}"'
    return Drawing(title, alt, text.replace("<svg", label, 1).strip())


def _thousands(ax: Any, which: str = "both") -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if which in ("both", name):
            axis.set_major_locator(MaxNLocator(5))
            axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.10g}"


def errors_figures(found: OuterErrors, target: str) -> list[Drawing]:
    """Predictions against truth; or calibration, ROC and precision-recall of two classes."""
    if found.task == "regression":
        return [_against_truth(found, target), _sizes_of_errors(found)]
    if len(found.classes) != 2 or found.one_class:
        return [_calibration(found, target)]
    return [_calibration(found, target), _roc(found), _precision_recall(found)]


def _against_truth(found: OuterErrors, target: str) -> Drawing:
    both = np.concatenate([found.truth, found.model])
    low, high = np.quantile(both, [0.005, 0.995])
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    edges = np.linspace(low, high, _CELLS + 1)
    counts, _, _ = np.histogram2d(found.truth, found.model, bins=[edges, edges])
    outside = int(found.truth.size - counts.sum())

    def into(ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap, LogNorm

        shown = np.ma.masked_equal(counts.T, 0)
        mesh = ax.pcolormesh(
            edges,
            edges,
            shown,
            cmap=LinearSegmentedColormap.from_list("rows", _FEW_TO_MANY),
            rasterized=True,
            norm=LogNorm(1, max(2.0, counts.max())),
        )
        ax.plot([low, high], [low, high], color=_FAINT, linewidth=1.2)
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
        marks = [m for m in (1, 3, 10, 30, 100, 300, 1000, 3000) if m <= counts.max()]
        bar.set_ticks(marks, labels=[f"{m:,}" for m in marks])
        bar.minorticks_off()
        bar.set_label("rows in a cell")
        bar.solids.set_rasterized(True)
        ax.set(xlabel=f"{_short(target)}, true", ylabel="predicted")
        ax.set_box_aspect(1)
        _thousands(ax)

    inside = f"{outside:,} rows lie outside of the frame. " if outside else ""
    alt = (
        f"Predicted against true values of {target} in {found.truth.size:,} rows, counted in "
        f"cells; on the diagonal both are equal. {inside}"
        f"Correlation {number(_correlation(found.truth, found.model), 3)}."
    )
    return draw("Predictions against truth", alt, into, (4.6, 3.7))


def _sizes_of_errors(found: OuterErrors) -> Drawing:
    """The share of rows that are off by less than a size, of the model and its rivals."""
    shares = np.linspace(0.0, 0.975, 40)
    curves = [("this model", found.model, BLUE, "-")]
    if found.trees is not None:
        curves.append(("boosted trees", found.trees, RED, "--"))
    curves.append(("guessing", found.guess, _FAINT, ":"))
    sizes = [np.quantile(np.abs(found.truth - values), shares) for _, values, _, _ in curves]

    def into(ax: Any) -> None:
        for (name, _, colour, style), size in zip(curves, sizes, strict=True):
            ax.plot(size, shares, color=colour, linestyle=style, label=name)
        ax.set(xlabel="off by less than", ylabel="share of rows", ylim=(0, 1))
        ax.set_xlim(0, max(size[-1] for size in sizes) or 1.0)
        ax.legend(frameon=False, loc="lower right")
        ax.set_box_aspect(1)
        _thousands(ax, "x")

    tell = [int(np.argmin(np.abs(shares - share))) for share in (0.5, 0.9)]
    half, most = (number(float(sizes[0][place])) for place in tell)
    alt = (
        f"How large errors are: of this model half are below {half} and nine in ten below {most}; "
        f"of guessing {number(float(sizes[-1][tell[0]]))} and {number(float(sizes[-1][tell[1]]))}."
    )
    return draw("Sizes of errors", alt, into, (4.6, 3.7))


def _correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() and b.std() else float("nan")


def coverage_figure(found: OuterErrors, levels: Sequence[float]) -> Drawing:
    """The share of rows inside intervals against the share that was asked for."""
    asked, seen, spread = [], [], []
    for level in levels:
        got = found.coverage(level)
        if got is not None:
            asked.append(level)
            seen.append(got[0])
            spread.append(2.0 * got[1])

    def into(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=_FAINT, linewidth=1.2)
        ax.errorbar(asked, seen, spread, fmt="o", color=BLUE, markersize=5, capsize=2)
        ax.set(xlabel="coverage asked for", ylabel="coverage measured", xlim=(0, 1), ylim=(0, 1))
        ax.set_box_aspect(1)

    pairs = ", ".join(f"{a:.0%} asked and {s:.1%} seen" for a, s in zip(asked, seen, strict=True))
    return draw("Coverage of intervals", f"Shares of rows inside intervals: {pairs}.", into)


def _calibration(found: OuterErrors, target: str) -> Drawing:
    """Probabilities in tenths of the rows, of all classes together, and how often they are true."""
    binary = len(found.classes) == 2
    p = found.model[:, 1] if binary else found.model.max(axis=1)
    decided = found.model.argmax(axis=1)
    hit = found.truth == 1 if binary else decided == found.truth
    parts = np.array_split(np.argsort(p, kind="stable"), min(10, max(1, p.size // FEWEST)))
    said = np.array([p[part].mean() for part in parts])
    seen = np.array([hit[part].mean() for part in parts])
    size = np.array([part.size for part in parts])
    spread = 2.0 * np.sqrt(np.maximum(said * (1 - said), 1e-4) / size)
    what = f"of {_short(found.classes[1])}" if binary else "of the class decided for"

    def into(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=_FAINT, linewidth=1.2)
        ax.errorbar(said, seen, spread, fmt="o-", color=BLUE, markersize=4, capsize=2)
        ax.set(xlabel=f"probability {what}", ylabel="share that is", xlim=(0, 1), ylim=(0, 1))
        ax.set_box_aspect(1)

    away = float(np.average(np.abs(said - seen), weights=size))
    alt = (
        f"How often rows are what their probability {what} says, in {len(parts)} groups of rows: "
        f"on average {away:.1%} away from the diagonal, on which both are equal."
    )
    return draw("Calibration", alt, into)


def _roc(found: OuterErrors) -> Drawing:
    from sklearn.metrics import roc_auc_score, roc_curve

    positive = found.truth == 1
    false, true, _ = roc_curve(positive, found.model[:, 1])
    area = float(roc_auc_score(positive, found.model[:, 1]))
    steps = np.linspace(0, 1, 41)

    def into(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=_FAINT, linewidth=1.2)
        ax.plot(steps, np.interp(steps, false, true), color=BLUE)
        ax.set(
            xlabel="false alarms among others", ylabel="share found", xlim=(0, 1), ylim=(0, 1.01)
        )
        ax.set_box_aspect(1)

    alt = f"ROC curve of {found.classes[1]}: area {area:.3f}; that of chance is 0.5."
    return draw("ROC curve", alt, into)


def _precision_recall(found: OuterErrors) -> Drawing:
    from sklearn.metrics import average_precision_score, precision_recall_curve

    positive = found.truth == 1
    precision, recall, _ = precision_recall_curve(positive, found.model[:, 1])
    mean = float(average_precision_score(positive, found.model[:, 1]))
    share = float(positive.mean())
    steps = np.linspace(0.025, 1, 40)
    curve = np.interp(steps, recall[::-1], precision[::-1])

    def into(ax: Any) -> None:
        ax.axhline(share, color=_FAINT, linewidth=1.2)
        ax.plot(steps, curve, color=RED)
        ax.set(xlabel="share found", ylabel="right among found", xlim=(0, 1), ylim=(0, 1.01))
        ax.set_box_aspect(1)

    alt = (
        f"Precision and recall of {found.classes[1]}: average precision {mean:.3f}; that of chance "
        f"is {share:.3f}."
    )
    return draw("Precision and recall", alt, into)


def columns_figure(
    names: Sequence[str], values: Array, spread: Array | None, label: str, *, of: int
) -> Drawing:
    """Bars of the columns that matter most, among ``of``, the first at the top."""

    def into(ax: Any) -> None:
        places = np.arange(len(names))[::-1]
        ax.barh(places, values, xerr=spread, color=BLUE, height=0.7, ecolor=_INK, capsize=2)
        ax.set_yticks(places, [_short(name, 18) for name in names])
        ax.set_xlabel(label)
        ax.axvline(0, color=_INK, linewidth=0.8)
        _thousands(ax, "x")

    listed = ", ".join(
        f"{name} {number(float(v), 2)}" for name, v in zip(names, values, strict=True)
    )
    size = (4.6, max(1.5, 0.7 + 0.26 * len(names)))
    left = f" {len(names)} of {of:,} columns are drawn." if of > len(names) else ""
    said = f"{label[0].upper()}{label[1:]}: {listed}.{left}"
    return draw("Columns that matter", said, into, size)


def _short(text: str, most: int = 24) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
