"""``squareone fit``: from a table to a model and a report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..report.html_report import HtmlReport, ReportFacts, command_line, html_of
from ..report.outer_errors import OuterErrors, fitted_to, left_out_errors, outer_errors
from ..report.table_checks import check_codes
from ..report.verdict import Verdict, verdict_of
from ..rows.checks import import_extra
from ..rows.table_reader import stem_of
from ..tables import TableClassifier, TableEncoder, TableRegressor
from ..tables.encoded_rows import rows_of_table, transformed
from ..tables.table_model import MeasuredErrors, TableModel
from .console import Console
from .outputs import check_outputs
from .table_problem import TableProblem, table_problem

__all__ = ["FittedTable", "estimator_for", "fit_table", "run", "tell_columns", "typed_options"]

# Rows from which the columns that were encoded are described.
_DESCRIBED = 20_000
# Seconds of a quick fit, as far as the plan can tell, and rows that all carry coefficients anyway.
_QUICK_SECONDS, _QUICK_EXACT = 30.0, 3000
# Columns that are not used, of which it is told.
_DROPPED = 10
#: Endings of the files that are made.
MODEL, REPORT = ".squareone", ".html"


@dataclass
class FittedTable:
    """All that a fit to a table has found.

    Attributes
    ----------
    problem : TableProblem
    estimator : TableRegressor or TableClassifier
    outer : OuterErrors
    verdict : Verdict
    seconds : dict of str to float
    """

    problem: TableProblem
    estimator: Any
    outer: OuterErrors
    verdict: Verdict
    seconds: dict[str, float]


def run(path: str, options: dict[str, Any], console: Console) -> None:
    """The command."""
    model_path, report_path = _outputs(path, options)
    found = fit_table(path, options, console)
    console.say("")
    console.say(found.verdict.text)
    model = table_model(found, options)
    report = None
    if report_path is not None:
        with console.warnings_as_notes():
            report = report_of(found, model, options)
        for check in report.checks:
            console.say(f"{check.code}, {check.title}: {check.text}")
    model.save(model_path)
    if report is not None and report_path is not None:
        report.save(report_path)
    files = [str(each) for each in (model_path, report_path) if each]
    console.say(f"\nwrote {' and '.join(files)}")
    if model.centers:
        console.say(
            f"{model_path.name} contains rows of {found.problem.file.name}: share it as you would "
            "share the table"
        )
    checks = [] if report is None else report.checks
    console.give(
        "fit",
        {
            "model": str(model_path),
            "report": None if report_path is None else str(report_path),
            **described(model),
            "checks": [
                {"code": c.code, "title": c.title, "text": c.text, "columns": list(c.columns)}
                for c in checks
            ],
        },
    )


def _outputs(path: str, options: dict[str, Any]) -> tuple[Path, Path | None]:
    """Where model and report go; refused before any work."""
    given = options.get("output")
    model = Path(given) if given else Path(f"{stem_of(Path(path).name)}{MODEL}")
    inputs = [] if path == "-" else [Path(path)]
    report = None
    check_codes(options["ignore"])
    if not options["no_report"]:
        wanted = options.get("report")
        report = Path(wanted) if wanted else model.with_name(f"{model.stem}{REPORT}")
        import_extra("jinja2", "a report")
        import_extra("matplotlib", "a report")
    both = [model, *([] if report is None else [report])]
    check_outputs(both, force=options["force"], inputs=inputs)
    return model, report


def report_of(found: FittedTable, model: TableModel, options: dict[str, Any]) -> HtmlReport:
    """The report of a fit."""
    problem = found.problem
    facts = ReportFacts(
        target=problem.target.name,
        source=problem.file.name,
        sha256=problem.file.sha256,
        command=command_line(options["typed"]),
        seconds=found.seconds,
        settings=model.settings,
        ordered=problem.order is not None,
    )
    return html_of(
        found.estimator,
        problem.X,
        problem.y,
        found.outer,
        facts,
        positions=problem.target.rows,
        show_rows=options["show_rows"],
        ignore=options["ignore"],
    )


def estimator_for(
    task: str, n: int, options: dict[str, Any], console: Console | None = None
) -> Any:
    """The estimator that the options ask for, not fitted, for ``n`` rows."""
    kind = TableRegressor if task == "regression" else TableClassifier
    kernel = options.get("kernel") or "auto"
    encoder = None
    if options.get("quick"):
        kernel = options.get("kernel") or "gaussian"
        encoder = TableEncoder(random_state=options["seed"])
    centers: Any = options.get("centers") or "auto"
    if str(centers).isdigit() and int(centers) > n:
        msg = (
            f"--centers {centers}: the table has {n:,} rows with a target: ask for fewer, or leave "
            "it out"
        )
        raise ValueError(msg)
    seconds = options.get("time")
    if options.get("quick") and centers == "auto" and n > _QUICK_EXACT:
        seconds = seconds or _QUICK_SECONDS
    return kind(
        kernel,
        centers=int(centers) if str(centers).isdigit() else centers,
        memory_limit=options.get("memory"),
        device=options.get("device"),
        time_limit=seconds,
        random_state=options["seed"],
        encoder=encoder,
        verbose=0 if console is None else console.level,
    )


def fit_table(path: str, options: dict[str, Any], console: Console) -> FittedTable:
    """Read, measure on outer rows, fit to all rows, and judge."""
    started = time.perf_counter()
    problem = table_problem(path, options, console)
    read = time.perf_counter()
    with console.warnings_as_notes():
        outer, estimator, spent = _fits(problem, options, console)
    spent = {"reading": read - started, **spent}
    verdict = verdict_of(outer, problem.target.name, approximation(estimator, problem.y.size))
    tell_columns(estimator, console)
    return FittedTable(problem, estimator, outer, verdict, spent)


def _fits(
    problem: TableProblem, options: dict[str, Any], console: Console
) -> tuple[OuterErrors, Any, dict[str, float]]:
    estimator = estimator_for(problem.task, problem.y.size, options, console)
    started = time.perf_counter()
    outer = None
    if not options.get("quick"):
        outer = outer_errors(
            estimator.set_params(verbose=0),
            problem.X,
            problem.y,
            problem.task,
            weights=problem.weights,
            groups=problem.groups,
            order=problem.order,
            seed=options["seed"],
            tell=console.progress,
        )
        estimator.set_params(verbose=console.level)
    measured = time.perf_counter()
    console.progress(f"all {problem.y.size:,} rows teach")
    fitted_to(estimator, problem.X, problem.y, problem.weights, problem.groups)
    if outer is None:
        weighted = problem.weights is not None
        outer = left_out_errors(estimator, problem.y, problem.target.rows, weighted=weighted)
    else:
        outer.rows = problem.target.rows[outer.rows]
    done = time.perf_counter()
    return outer, estimator, {"measuring": measured - started, "fit": done - measured}


def approximation(estimator: Any, n: int) -> str:
    """What of a model is an approximation, in words; empty where nothing is."""
    if not estimator._recorded().sample.few_centers:
        return ""
    m = len(estimator.center_indices_)
    return f"The model is an approximation: {m:,} of {n:,} rows carry coefficients."


def table_model(found: FittedTable, options: dict[str, Any]) -> TableModel:
    """What goes into the file."""
    import platform

    import sklearn

    from ..version import __version__

    problem, estimator, outer = found.problem, found.estimator, found.outer
    some = np.arange(problem.y.size)
    if some.size > _DESCRIBED:
        some = np.sort(np.random.default_rng(0).choice(some, _DESCRIBED, replace=False))
    rows = transformed(estimator.encoder_, rows_of_table(problem.X, some)).astype(np.float64)
    measured = MeasuredErrors(
        how=outer.how,
        verdict=found.verdict.text,
        optimistic=outer.optimistic,
        rows=int(outer.truth.size),
        error=outer.error(outer.model),
        guess=outer.error(outer.guess),
        trees=None if outer.trees is None else outer.error(outer.trees),
        explained=outer.explained,
        errors=outer.errors if problem.task == "regression" else None,
        threshold=outer.threshold,
    )
    return TableModel(
        estimator=estimator,
        target=problem.target.name,
        task=problem.task,
        source={
            "name": problem.file.name,
            "sha256": problem.file.sha256,
            "said": problem.file.said(),
            "rows": problem.file.table.num_rows,
            "used": int(problem.y.size),
        },
        settings=settings_of(options),
        versions={
            "squareone": __version__,
            "Python": platform.python_version(),
            "NumPy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        measured=measured,
        means=rows.mean(axis=0),
        deviations=rows.std(axis=0),
    )


def settings_of(options: dict[str, Any]) -> dict[str, str]:
    """The options that shape a model, those that were given, as text; several in a line each."""
    shaping = (
        "target",
        "task",
        "kernel",
        "centers",
        "quick",
        "memory",
        "time",
        "device",
        "seed",
        "groups",
        "time_column",
        "weights",
        "drop",
        "words",
        "encoding",
        "delimiter",
        "decimal",
        "header_lines",
    )
    found = {}
    for name in shaping:
        value = options.get(name)
        if value is None or value is False or value == ():
            continue
        shown = "\n".join(value) if isinstance(value, tuple | list) else str(value)
        found[name.replace("_", "-")] = shown
    return found


def typed_options(model: TableModel) -> list[str]:
    """The options a model was fitted with, as they are typed."""
    found = []
    for name, value in model.settings.items():
        for each in value.split("\n"):
            typed = each.replace("\t", "\\t")
            found += [f"--{name}"] if each == "True" else [f"--{name}", typed]
    return found


def tell_columns(estimator: Any, console: Console) -> None:
    """Name the columns that a fitted model does not use, and why."""
    dropped = estimator.encoder_.dropped_
    for name, why in list(dropped.items())[:_DROPPED]:
        console.note(f"not used: {name} ({why})")
    if len(dropped) > _DROPPED:
        console.note(f"not used: {len(dropped) - _DROPPED:,} more; squareone inspect lists them")


def described(model: TableModel) -> dict[str, Any]:
    """What ``--json`` has of a model."""
    measured = model.measured
    trees = measured.trees
    return {
        "target": model.target,
        "task": model.task,
        "classes": model.classes,
        "table": model.source,
        "settings": model.settings,
        "verdict": measured.verdict,
        "measured": {
            "how": measured.how,
            "optimistic": measured.optimistic,
            "rows": measured.rows,
            "error": measured.error[0],
            "standard_error": measured.error[1],
            "guessing": measured.guess[0],
            "boosted_trees": None if trees is None else trees[0],
            "explained": measured.explained,
            "threshold": measured.threshold,
        },
        "kernel": str(model.estimator.kernel_),
        "alpha": float(np.mean(model.estimator.alpha_)),
        "centers": model.centers,
        "columns": [
            {"name": column.name, "kind": column.kind, "importance": float(share)}
            for column, share in zip(
                model.encoder.columns_, model.estimator.feature_importances_, strict=True
            )
        ],
        "versions": model.versions,
    }
