"""The report of a model of a table: one HTML file that one can send, without cells by default."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..atomic_write import replacing
from ..tables import TableClassifier, TableRegressor
from ..tables.encoded_rows import rows_of_table
from ..texts import printable
from ..version import __version__
from .html_figures import Drawing, columns_figure, coverage_figure, errors_figures
from .outer_errors import PERMUTED_ROWS, OuterErrors, left_out_errors, outer_errors
from .table_checks import CODES, Check, check_codes, checks_of_table, looked_at
from .verdict import Verdict, number, percent, share_explained, verdict_of

__all__ = ["HtmlReport", "ReportFacts", "html", "html_of"]

# What is shown at most; what a cap leaves out is said.
_COLUMNS, _TRIALS, _SUSPECTS, _CLASSES = 20, 8, 15, 12
# Levels, and classes, with fewer rows are not named.
_FEWEST = 10
#: Coverages that are measured, and the one that is shown first.
LEVELS = (0.5, 0.8, 0.9, 0.95)
_TILE_LEVEL = 0.9
# Shares of a class from which a cell of the confusion is darker.
_SHADES = (0.01, 0.1, 0.3, 0.6)


@dataclass
class HtmlReport:
    """A report: shows itself in a notebook, and writes itself to a file.

    Attributes
    ----------
    text : str
        The whole page.
    outer : OuterErrors
        The errors on rows that the model has not seen.
    verdict : Verdict
    checks : list of Check
    """

    text: str = field(repr=False)
    outer: OuterErrors = field(repr=False)
    verdict: Verdict
    checks: list[Check] = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; a file that is there is replaced once the new one is complete."""
        with replacing(path) as file:
            file.write(self.text.encode())

    def _repr_html_(self) -> str:
        page = escape(self.text, quote=True)
        style = "width:100%;height:42rem;border:1px solid #8888"
        return f'<iframe title="report of a model" style="{style}" srcdoc="{page}"></iframe>'


@dataclass
class ReportFacts:
    """What a report has to know beside the model, the table and the errors.

    Attributes
    ----------
    target : str
    source : str
        The name of the table's file, without its folder; empty for a data frame.
    sha256 : str
    command : str
        How the model was made.
    seconds : dict of str to float
    settings : dict of str to str
    order : bool
        Whether errors are of later rows.
    """

    target: str
    source: str = ""
    sha256: str = ""
    command: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False


def html(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    show_rows: bool = False,
    ignore: Sequence[str] = (),
    groups: Any = None,
    random_state: int = 0,
) -> HtmlReport:
    """Report on a model of a table: how far off it is, why, and what to be careful about.

    Parameters
    ----------
    model : TableRegressor or TableClassifier
        Fitted to X and y.
    X : DataFrame, Table, array or list (n, d)
    y : array-like (n,)
        The targets; the name of a pandas Series is that of the target.
    path : str or PathLike, optional
        Where to write it.
    quick : bool, default=False
        Take the errors by which the choice was made, which are optimistic, in place of fitting
        again without the outer rows.
    show_rows : bool, default=False
        Show values of cells; by default the report has row numbers and binned figures only.
    ignore : sequence of str
        Codes of checks to be left out, such as ``"SQ002"``.
    groups : array-like (n,), optional
        Rows of one group are left out together.
    random_state : int, default=0
        Deals the outer folds.

    Returns
    -------
    HtmlReport
        A notebook shows it.

    Notes
    -----
    **Cost**: five fits like that of the model, or one for more than 5,000 rows; none with
    ``quick``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import TableRegressor
    >>> from squareone.report import html
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = TableRegressor("linear").fit(X[:150], y[:150])
    >>> report = html(model, X[:150], y[:150], quick=True)
    >>> report.verdict.useful
    True
    >>> len(report.text) < 1_000_000
    True
    """
    if not isinstance(model, TableRegressor | TableClassifier):
        msg = (
            f"a fitted TableRegressor or TableClassifier is expected, got {type(model).__name__}: "
            "squareone.report.summary and the displays are for the other estimators"
        )
        raise TypeError(msg)
    model._recorded()
    check_codes(ignore)
    name = str(getattr(y, "name", None) or "the target")
    y = np.asarray(y)
    if y.dtype.kind == "O":
        y = y.astype(str)
    if y.ndim != 1:
        msg = f"y has shape {y.shape}: one target per row is expected"
        raise ValueError(msg)
    task = "regression" if isinstance(model, TableRegressor) else "classification"
    if quick:
        outer = left_out_errors(model, y, np.arange(y.size))
    else:
        groups = None if groups is None else np.asarray(groups)
        outer = outer_errors(model, X, y, task, groups=groups, seed=random_state)
    facts = ReportFacts(name, seconds=dict(model.plan_.stages))
    found = html_of(model, X, y, outer, facts, show_rows=show_rows, ignore=ignore)
    if path is not None:
        found.save(path)
    return found


def html_of(
    model: Any,
    X: Any,
    y: Array,
    outer: OuterErrors,
    facts: ReportFacts,
    *,
    positions: Array | None = None,
    show_rows: bool = False,
    ignore: Sequence[str] = (),
) -> HtmlReport:
    """The report of errors that were measured already.

    ``positions`` (n,) are those of the rows in the file, from 0 on; those of ``outer`` are among
    them.
    """
    environment = _environment()
    approximate = ""
    if model._recorded().sample.few_centers:
        m = len(model.center_indices_)
        approximate = f"The model is an approximation: {m:,} of {y.size:,} rows carry coefficients."
    verdict = verdict_of(outer, facts.target, approximate)
    checks = checks_of_table(X, y, outer, model, ignore=ignore, ordered=facts.ordered)
    named = replace(outer, classes=tuple(_class_names(outer)))
    names, shares, figure = _columns(model, outer)
    suspects = _suspects(model, X, y, outer, positions, show_rows=show_rows)
    contents = {
        "version": __version__,
        "facts": facts,
        "outer": outer,
        "outer_names": named.classes,
        "verdict": verdict,
        "tiles": _tiles(outer),
        "errors": _errors(outer),
        "figures": errors_figures(named, facts.target),
        "coverage": _coverage(outer),
        "confusion": _confusion(outer),
        "threshold": None if outer.threshold is None else number(outer.threshold),
        "columns": list(zip(names, shares, strict=True))[:_COLUMNS],
        "columns_left": max(0, len(names) - _COLUMNS),
        "columns_figure": figure,
        "permuted": bool(outer.permuted),
        "metric": _metric(model),
        "dealt": _dealt(outer, len(names)),
        "encoded": _encoded(model, show_rows=show_rows),
        "suspects": suspects,
        "choice": _choice(model),
        "checks": checks,
        "ignored": [code for code in CODES if code in ignore],
        "looked": looked_at(y.size),
        "codes": CODES,
        "plan": repr(model.plan_),
        "kernel": str(model.kernel_) if _short_enough(model) else type(model.kernel_).__name__,
        "alpha": number(float(np.mean(model.alpha_))),
        "rows": y.size,
        "contains": len(getattr(model, "center_indices_", ())),
        "show_rows": show_rows,
        "versions": _versions(),
        "seconds": [(name, f"{value:,.1f} s") for name, value in facts.seconds.items()],
    }
    text = environment.get_template("report.html.jinja").render(contents)
    return HtmlReport(text, outer, verdict, checks)


def _environment() -> Any:
    try:
        import jinja2
        import matplotlib  # noqa: F401
    except ImportError as error:
        msg = f'a report needs {error.name}, which is not installed: pip install "squareone[cli]"'
        raise ImportError(msg, name=error.name) from error
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["legible"] = _legible
    environment.filters["legible_lines"] = _legible_lines
    return environment


def _legible(text: Any) -> str:
    """Text of data without control characters."""
    return printable(str(text))


def _legible_lines(text: str) -> str:
    return "\n".join(map(_legible, text.splitlines()))


# --- what the sections show ---


def _errors(outer: OuterErrors) -> dict[str, Any]:
    """A table of the model and its rivals."""
    rivals = [("this model", outer.model), ("guessing", outer.guess)]
    if outer.trees is not None:
        rivals.append(("boosted trees", outer.trees))
    classes = outer.task == "classification"
    shown: Callable[[float], str] = percent if classes else number
    heads = ["", "wrong" if classes else "root mean square error", "±"]
    heads += ["Brier score"] if classes else ["mean absolute error", "half are off by less than"]
    binary = classes and len(outer.classes) == 2
    heads += ["area under ROC"] if binary else []
    rows = []
    for name, values in rivals:
        error, spread = outer.error(values)
        row = [name, shown(error), shown(spread)]
        if classes:
            row.append(number(float(outer.losses(values).mean())))
        else:
            off = np.abs(values - outer.truth)
            row += [number(float(off.mean())), number(float(np.median(off)))]
        if binary:
            row.append(_area(outer, values))
        rows.append(row)
    sizes = np.array([outer.error(values)[0] for _, values in rivals])
    amounts = (100 * sizes / (sizes.max() or 1.0)).round(1).tolist()
    explained = share_explained(outer.explained)
    return {"heads": heads, "rows": rows, "amounts": amounts, "explained": explained}


def _tiles(outer: OuterErrors) -> list[tuple[str, str, str]]:
    """Names, figures and what is said beside them, of the numbers that are looked at first."""
    shown: Callable[[float], str] = number if outer.task == "regression" else percent
    error, spread = outer.error(outer.model)
    tiles = [
        ("this model", shown(error), f"± {shown(spread)}"),
        ("guessing", shown(outer.error(outer.guess)[0]), ""),
    ]
    if outer.trees is not None:
        tiles.append(("boosted trees", shown(outer.error(outer.trees)[0]), ""))
    seen = outer.coverage(_TILE_LEVEL) if outer.task == "regression" else None
    if seen is not None:
        tiles.append((f"{_TILE_LEVEL:.0%} intervals cover", f"{seen[0]:.1%}", ""))
    if outer.task == "classification" and len(outer.classes) == 2:
        tiles.append(("area under ROC", _area(outer, outer.model), ""))
    tiles.append(("explained", share_explained(outer.explained), ""))
    return tiles


def _area(outer: OuterErrors, values: Array) -> str:
    from sklearn.metrics import roc_auc_score

    truth = outer.truth == 1
    if truth.all() or not truth.any():
        return "–"
    return f"{roc_auc_score(truth, values[:, 1]):.3f}"


def _coverage(outer: OuterErrors) -> dict[str, Any] | None:
    if outer.task != "regression":
        return None
    from .outer_errors import interval_ends

    rows = []
    for level in LEVELS:
        seen, ends = outer.coverage(level), interval_ends(outer.errors, level)
        if seen is not None and ends is not None:
            width = number(ends[1] - ends[0])
            rows.append((f"{level:.0%}", f"{seen[0]:.1%}", f"± {seen[1]:.1%}", width))
    return {"rows": rows, "figure": coverage_figure(outer, LEVELS)} if rows else None


def _class_names(outer: OuterErrors) -> list[str]:
    """Names of classes, those of fewer than ten rows as numbers; none for numbers."""
    if not outer.classes:
        return []
    counts = np.bincount(outer.truth, minlength=len(outer.classes))
    return [
        name if count >= _FEWEST else f"rare class {j + 1}"
        for j, (name, count) in enumerate(zip(outer.classes, counts, strict=True))
    ]


def _confusion(outer: OuterErrors) -> dict[str, Any] | None:
    """How many rows of each class were taken for each; rare and many classes put together."""
    if outer.task != "classification" or outer.decided is None:
        return None
    counts = np.bincount(outer.truth, minlength=len(outer.classes))
    order = np.argsort(-counts, kind="stable")
    named = [int(j) for j in order if counts[j] >= _FEWEST][:_CLASSES]
    others = len(outer.classes) - len(named)
    place = np.full(len(outer.classes), len(named))
    place[named] = np.arange(len(named))
    size = len(named) + (others > 0)
    table = np.zeros((size, size), int)
    np.add.at(table, (place[outer.truth], place[outer.decided]), 1)
    names = [outer.classes[j] for j in named]
    if others:
        names.append(f"{others:,} other{'s' * (others > 1)}")
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j in range(size):
            shade = int(np.searchsorted(_SHADES, shares[i, j], side="right"))
            kind = "right" if i == j else "wrong"
            cells.append((int(table[i, j]), f"{kind}{shade}" if shade else ""))
        rows.append((name, cells))
    return {"names": names, "rows": rows}


def _columns(model: Any, outer: OuterErrors) -> tuple[list[str], list[list[str]], Drawing | None]:
    """Columns by what they are worth: permuted on outer rows, otherwise by slopes."""
    encoder = model.encoder_
    slopes = dict(zip([c.name for c in encoder.columns_], model.feature_importances_, strict=True))
    if outer.permuted:
        order = sorted(outer.permuted, key=lambda name: -outer.permuted[name][0])
        order += [name for name, share in slopes.items() if share and name not in outer.permuted]
        loss = float(outer.losses(outer.model).mean()) or 1.0
        top = order[:12]
        values = np.array(
            [outer.permuted[name][0] / loss for name in top if name in outer.permuted]
        )
        spread = np.array(
            [outer.permuted[name][1] / loss for name in top if name in outer.permuted]
        )
        label = "rise of the error, times itself"
        figure = columns_figure(top[: values.size], values, spread, label, of=len(order))
        cells = [
            [
                f"{outer.permuted[name][0] / loss:z,.2f} ± {outer.permuted[name][1] / loss:,.2f}"
                if name in outer.permuted
                else "not dealt anew",
                percent(float(slopes[name])),
            ]
            for name in order
        ]
        return order, cells, figure
    order = sorted((name for name in slopes if slopes[name]), key=lambda name: -slopes[name])
    top = order[:12]
    drawn: Drawing | None = None
    if top:
        values = np.array([100 * slopes[name] for name in top])
        label = "share in how predictions move, %"
        drawn = columns_figure(top, values, None, label, of=len(order))
    return order, [[percent(float(slopes[name]))] for name in order], drawn


def _metric(model: Any) -> str:
    """What the shares of columns are of, in words."""
    rounds = int(getattr(model, "rounds_", 0))
    if rounds:
        return (
            "the diagonal of the metric that the kernel has learned in "
            f"{rounds} round{'s' * (rounds > 1)}, from the slopes of the model"
        )
    return "the slopes of the model; the kernel has learned no metric"


def _dealt(outer: OuterErrors, columns: int) -> str:
    """What was left out where columns were dealt anew."""
    said = []
    if len(outer.permuted) < columns:
        said.append(f"{len(outer.permuted):,} of {columns:,} columns were dealt anew")
    largest = int(np.unique(outer.folds, return_counts=True)[1].max())
    if largest > PERMUTED_ROWS:
        said.append(f"{PERMUTED_ROWS:,} of {largest:,} outer rows were taken for that")
    return f"{'; '.join(said).capitalize()}." if said else ""


def _encoded(model: Any, *, show_rows: bool) -> dict[str, Any]:
    """What columns were taken for; why, where cells may be shown."""
    columns = model.encoder_.columns_
    kinds: dict[str, int] = {}
    for column in columns:
        kinds[column.kind] = kinds.get(column.kind, 0) + 1
    dropped = [c for c in columns if not c.outputs]
    shown = [(c.name, c.kind, c.why if show_rows else "") for c in dropped[:_COLUMNS]]
    return {
        "kinds": [(kind, count) for kind, count in sorted(kinds.items())],
        "dropped": shown,
        "left": max(0, len(dropped) - len(shown)),
    }


def _suspects(
    model: Any, X: Any, y: Array, outer: OuterErrors, positions: Array | None, *, show_rows: bool
) -> dict[str, Any]:
    """Rows whose targets models that have not seen them believe least."""
    order, strange = suspicion(outer)
    order = order[: min(_SUSPECTS, order.size)]
    regression = outer.task == "regression"
    most = float(strange[order].max()) or 1.0
    rows, cells = [], []
    places = outer.rows if positions is None else np.searchsorted(positions, outer.rows)
    for j in order:
        row = f"{outer.rows[j] + 1:,}"
        doubt = f"{strange[j]:,.1f}" if regression else percent(1.0 - strange[j])
        amount = round(100.0 * float(strange[j]) / most, 1)
        rows.append({"number": row, "doubt": doubt, "amount": amount})
        if show_rows:
            cells.append([row, *_shown_row(model, X, y, outer, int(places[j]), int(j))])
    what = "the error in times the usual one" if regression else "the probability of its own class"
    return {"rows": rows, "cells": cells, "what": what, "of": outer.rows.size}


def suspicion(outer: OuterErrors) -> tuple[Array, Array]:
    """The outer rows (m,) in order, the least believed first, and how little each is (m,).

    For numbers the error over the root mean square error; for classes one minus the probability of
    the row's own class.
    """
    if outer.task == "regression":
        errors = np.abs(outer.truth - outer.model)
        strange = errors / (float(np.sqrt(np.mean(errors**2))) or 1.0)
    else:
        strange = 1.0 - outer.model[np.arange(outer.truth.size), outer.truth]
    return np.argsort(-strange, kind="stable"), strange


def _shown_row(model: Any, X: Any, y: Array, outer: OuterErrors, place: int, j: int) -> list[str]:
    columns = model.encoder_.columns_
    top = np.argsort(-model.feature_importances_, kind="stable")[:4]
    row = rows_of_table(X, np.array([place]))
    values = []
    for k in top:
        name = columns[k].name
        if hasattr(row, "column_names"):
            cell = row.column(name)[0].as_py()
        elif hasattr(row, "columns"):
            cell = next(iter(row[name]))
        else:
            cell = row[0][k]
        values.append(f"{name} = {cell}")
    if outer.task == "regression":
        told = [number(float(outer.truth[j])), number(float(outer.model[j]))]
    else:
        told = [outer.classes[outer.truth[j]], outer.classes[int(outer.model[j].argmax())]]
    return [*told, "; ".join(values)]


def _choice(model: Any) -> dict[str, Any]:
    """What the kernel was chosen from: those of the last stage, the best first."""
    learned = model._recorded().learned
    if learned is None:
        return {"rows": [], "of": 0}
    trials = learned.trials
    last = np.flatnonzero(trials["stage"] == trials["stage"][-1])
    order = last[np.argsort(-trials["score"][last], kind="stable")]
    chosen = int(np.flatnonzero(trials["chosen"])[0])
    shown = [int(i) for i in order[:_TRIALS]]
    if chosen not in shown:
        shown.append(chosen)
    scalings = ("standard deviation", "normal scores") if model.encoder is None else ("as given",)
    rows = []
    for i in shown:
        kernel = str(trials["kernel"][i]).replace("sigma='auto'", "").replace(", )", ")")
        rounds = int(trials["rounds"][i])
        rows.append(
            (
                kernel.replace("()", ""),
                _learned(rounds, float(trials["power"][i])),
                scalings[min(int(trials["preparation"][i]), len(scalings) - 1)],
                number(float(-trials["score"][i])),
                i == chosen,
            )
        )
    return {
        "rows": rows,
        "of": int(last.size),
        "stage_rows": int(trials["rows"][chosen]),
        "plainer": chosen != order[0],
    }


def _learned(rounds: int, power: float) -> str:
    """A metric, in words."""
    if not rounds:
        return "none"
    root = ", its root" if power == 0.5 else ""
    return f"learned in {rounds} round{'s' * (rounds > 1)}{root}"


def _short_enough(model: Any) -> bool:
    return len(str(model.kernel_)) < 200


def _versions() -> str:
    import sklearn

    pairs = {
        "squareone": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    return ", ".join(f"{name} {version}" for name, version in pairs.items())


def command_line(arguments: Sequence[str]) -> str:
    """A command as it could be typed."""
    return shlex.join(["squareone", *arguments])
