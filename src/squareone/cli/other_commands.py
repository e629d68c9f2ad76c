"""What is asked beside fit and predict: plan, suspects, compare, explain and report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..estimators import RLSClassifier, RLSRegressor
from ..planning.text_table import Table
from ..report.comparison import (
    FOLDS,
    LEVEL,
    MOST_ROWS,
    REPEATS,
    Rival,
    compare,
    described,
    rivals_of,
)
from ..report.html_report import (
    ReportFacts,
    command_line,
    html_of,
    suspicion,
)
from ..report.outer_errors import MOST_FOLDED, N_FOLDS, fitted_to, left_out_errors, outer_errors
from ..report.table_checks import check_codes
from ..report.verdict import number, percent
from ..tables.encoded_rows import rows_of_table
from ..tables.table_model import TableModel
from .console import Console
from .feature_columns import as_fitted
from .fit_command import REPORT, estimator_for, tell_columns, typed_options
from .outputs import check_outputs, format_of, write_table
from .table_problem import TableProblem, counted, table_problem
from .training_table import training_problem

__all__ = ["run_compare", "run_explain", "run_plan", "run_report", "run_suspects"]

Echo = Callable[[str], None]


def run_plan(path: str, options: dict[str, Any], console: Console, echo: Echo) -> None:
    """What a fit would do, and what it costs; nothing is fitted."""
    problem = table_problem(path, options, console)
    estimator = estimator_for(problem.task, problem.y.size, options)
    with console.warnings_as_notes():
        plan = estimator.plan(problem.X, problem.y, problem.weights)
    n = problem.y.size
    fits = N_FOLDS + 1 if n <= MOST_FOLDED else 2
    one = plan.expected()
    said = (
        f"A fit measures its error with {fits - 1} fit{'s' * (fits > 2)} beside the one to all "
        "rows; --quick leaves these out. The seconds are those of one fit, in which the kernel is "
        "chosen first, from 6,000 rows at most; a kernel that is given leaves that out."
    )
    if console.as_json:
        console.give(
            "plan",
            {
                "rows": n,
                "solver": plan.solver,
                "why": plan.reason,
                "seconds_of_a_fit": one,
                "fits": fits,
                "memory": plan.chosen.bytes,
                "memory_limit": plan.memory_limit,
            },
        )
        return
    echo(f"{plan!r}\n\n{said}")


# --- rows ---


def run_suspects(path: str, options: dict[str, Any], console: Console) -> None:
    """The rows whose target the others do not believe, as a table to correct."""
    output = Path(options["output"]) if options.get("output") else None
    if output is not None:
        format_of(output)
        check_outputs([output], force=options["force"], inputs=[] if path == "-" else [Path(path)])
    problem = table_problem(path, options, console)
    estimator = estimator_for(problem.task, problem.y.size, options, console)
    with console.warnings_as_notes():
        fitted_to(estimator, problem.X, problem.y, problem.weights, problem.groups)
    tell_columns(estimator, console)
    found = left_out_errors(estimator, problem.y, problem.target.rows)
    order, strange = suspicion(found)
    order = order[: options["rows"]]
    rows = found.rows[order]
    import pyarrow

    columns: dict[str, Any] = {"row": rows + 1}
    if problem.task == "regression":
        columns["expected"] = found.model[order]
        columns["times the usual error"] = np.round(strange[order], 2)
    else:
        likely = found.model[order].argmax(axis=1)
        columns["expected"] = [found.classes[j] for j in likely]
        columns["probability of its own class"] = np.round(1.0 - strange[order], 4)
    table = problem.file.table.take(rows)
    names = [problem.target.name]
    names += [name for name in table.column_names if name not in names]
    for name in names:
        columns[name if name not in columns else f"{name} (of the table)"] = table.column(name)
    console.say(
        f"{counted(order.size, 'row')} of {found.rows.size:,}, the least believed first: look at "
        "each before it is changed; a row can be right and rare"
    )
    if console.as_json:
        listed = [
            {"row": int(row) + 1, "doubt": float(strange[j])}
            for row, j in zip(rows, order, strict=True)
        ]
        if output is not None:
            write_table(pyarrow.table(columns), output)
        console.give("suspects", {"rows": listed, "of": int(found.rows.size)})
        return
    write_table(pyarrow.table(columns), output)
    if output is not None:
        console.say(f"wrote {output}")


def run_explain(
    model_path: str, path: str, options: dict[str, Any], console: Console, echo: Echo
) -> None:
    """The training rows that speak most for and against the prediction of a row."""
    from .predict_command import check_schema
    from .table_problem import open_table

    model = TableModel.load(model_path)
    problem = training_problem(model, options["data"], options, console.aside())
    file = problem.file if path == options["data"] else open_table(path, options, model.words)
    if options["row"] > file.table.num_rows:
        msg = f"--row {options['row']}: {file.name} has {file.table.num_rows:,} rows"
        raise ValueError(msg)
    file = as_fitted(model, file, console)
    check_schema(model, file)
    row = file.table.slice(options["row"] - 1, 1).select(model.needed)
    with console.warnings_as_notes():
        prediction, name, change = _influence(model, problem, row)
    order = np.argsort(change, kind="stable")  # without the row the prediction would change so
    most = min(options["most"], int((change != 0).sum()))
    speak_for = [int(i) for i in order[:most] if change[i] < 0]
    against = [int(i) for i in order[::-1][:most] if change[i] > 0]
    shown_rows = {
        "for": [_told(problem, i, change[i], model) for i in speak_for],
        "against": [_told(problem, i, change[i], model) for i in against],
    }
    if console.as_json:
        console.give("explain", {"row": options["row"], "prediction": prediction, **shown_rows})
        return
    echo(f"row {options['row']:,} of {file.name}: {model.target} is predicted as {name}\n")
    heads = ("row", model.target, "moves the prediction by", "where it is")
    what = "the prediction" if model.task == "regression" else f"the decision for {name}"
    for title, rows in (("for", shown_rows["for"]), ("against", shown_rows["against"])):
        verb = "raise" if title == "for" else "lower"
        echo(f"Training rows that {verb} {what} most:")
        cells: list[tuple[str, ...]] = [
            (f"{r['row']:,}", str(r["target"]), number(r["moves"]), str(r["values"])) for r in rows
        ]
        echo(Table(heads, cells, ">>><").text() if cells else "none")
        echo("")
    echo("A row moves the prediction by what it is now, less what it would be without that row.")


def _influence(model: TableModel, problem: TableProblem, row: Any) -> tuple[Any, str, Array]:
    """The prediction, its name, and how it would change without each training row (n,)."""
    estimator = model.estimator
    predicted = estimator.predict(row)[0]
    try:
        change = np.asarray(estimator.influence(row))[0]
    except (ValueError, AttributeError):  # a hyperplane, for instance, has no rows
        change = _influence_again(model, problem, row)
    name = str(predicted)
    if model.task == "regression":
        return float(predicted), number(float(predicted)), change
    if change.ndim == 2:
        return name, name, change[:, model.classes.index(name)]
    return name, name, change if name == model.classes[1] else -change


def _influence_again(model: TableModel, problem: TableProblem, row: Any) -> Array:
    """The same from a fit to the training rows, at the kernel and λ of the model."""
    kind = RLSRegressor if model.task == "regression" else RLSClassifier
    estimator = model.estimator
    again = kind(clone(estimator.kernel_), alpha=estimator.alpha_)
    again.fit(model.encoder._outputs(problem.X), problem.y, problem.weights)
    return np.asarray(again.influence(model.encoder._outputs(row)))[0]


def _told(problem: TableProblem, i: int, change: float, model: TableModel) -> dict[str, Any]:
    columns = model.encoder.columns_
    top = np.argsort(-model.estimator.feature_importances_, kind="stable")[:3]
    values = "; ".join(
        f"{columns[j].name} = {problem.X.column(columns[j].name)[i].as_py()}" for j in top
    )
    target = problem.y[i]
    return {
        "row": int(problem.target.rows[i]) + 1,
        "target": target.item() if hasattr(target, "item") else target,
        "moves": -float(change),
        "values": values,
    }


# --- models ---


def run_compare(path: str, options: dict[str, Any], console: Console, echo: Echo) -> None:
    """A model and its rivals on the same folds."""
    if options.get("time_column"):
        msg = "compare deals rows at random, which --time-column forbids: fit measures later rows"
        raise ValueError(msg)
    if options.get("weights"):
        msg = "compare counts every row once: leave --weights out"
        raise ValueError(msg)
    problem = table_problem(path, options, console)
    X, y, groups = problem.X, problem.y, problem.groups
    if y.size > MOST_ROWS:
        some = np.random.default_rng(options["seed"]).choice(y.size, MOST_ROWS, replace=False)
        some.sort()
        X, y = rows_of_table(X, some), y[some]
        groups = None if groups is None else groups[some]
        console.note(f"{MOST_ROWS:,} of {problem.y.size:,} rows are compared, drawn at random")
    kernel = options.get("kernel") or ("gaussian" if options["quick"] else "auto")
    model = estimator_for(problem.task, y.size, options)
    mine = Rival("squareone", f"kernel {kernel}", model, True)
    found = compare(
        [mine, *rivals_of(problem.task)],
        X,
        y,
        problem.task,
        groups=groups,
        seed=options["seed"],
        tell=console.progress,
    )
    rows = described(found)
    if console.as_json:
        console.give("compare", {"rows": found.rows, "level": LEVEL, "models": rows})
        return
    shown = number if problem.task == "regression" else percent
    lines: list[tuple[str, ...]] = [
        (
            str(row["name"]),
            shown(row["error"]),
            number(row["loss"]),
            "–" if not place else _signed(row["difference"], row["standard_error"]),
            row["verdict"] or "–",
            f"{row['seconds']:,.1f} s",
            row["settings"],
        )
        for place, row in enumerate(rows)
    ]
    error = "error" if problem.task == "regression" else "wrong"
    loss = "mean square" if problem.task == "regression" else "Brier score"
    more = "more than squareone"
    columns = ("model", error, loss, more, "squareone is", "time", "settings")
    echo(Table(columns, lines, "<>>><><").text())
    echo(
        f"\n{found.rows:,} rows, {REPEATS} times {FOLDS} folds, preparation and tuning inside. "
        "Differences are paired; one is called so where chance gives it in fewer than "
        f"{LEVEL:.0%} of cases, by the corrected resampled t test (Nadeau & Bengio 2003)."
    )


def _signed(difference: float, spread: float) -> str:
    sign = "−" if difference < 0 else "+"
    return f"{sign}{number(abs(difference))} ± {number(spread, 2)}"


def run_report(model_path: str, options: dict[str, Any], console: Console) -> None:
    """The report of a model again, from its training table."""
    check_codes(options["ignore"])
    model = TableModel.load(model_path)
    output = Path(options["output"] or f"{Path(model_path).stem}{REPORT}")
    inputs = [Path(model_path), Path(options["data"])]
    check_outputs([output], force=options["force"], inputs=inputs)
    problem = training_problem(model, options["data"], options, console)
    with console.warnings_as_notes():
        if options["quick"]:
            rows, weighted = problem.target.rows, problem.weights is not None
            outer = left_out_errors(model.estimator, problem.y, rows, weighted=weighted)
        else:
            outer = outer_errors(
                clone(model.estimator),
                problem.X,
                problem.y,
                problem.task,
                weights=problem.weights,
                groups=problem.groups,
                order=problem.order,
                seed=int(model.settings.get("seed", 0)),
                tell=console.progress,
            )
            outer.rows = problem.target.rows[outer.rows]
        facts = ReportFacts(
            target=model.target,
            source=problem.file.name,
            sha256=problem.file.sha256,
            command=command_line(["fit", str(model.source["name"]), *typed_options(model)]),
            settings=model.settings,
            ordered=problem.order is not None,
        )
        found = html_of(
            model.estimator,
            problem.X,
            problem.y,
            outer,
            facts,
            positions=problem.target.rows,
            show_rows=options["show_rows"],
            ignore=options["ignore"],
        )
    found.save(output)
    console.say(found.verdict.text)
    for check in found.checks:
        console.say(f"{check.code}, {check.title}: {check.text}")
    console.say(f"\nwrote {output}")
    console.give("report", {"report": str(output), "verdict": found.verdict.text})
