"""``squareone predict``: a model and a table of new rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import CellError
from ..report.outer_errors import interval_ends
from ..report.table_checks import check_codes
from ..rows.column_problems import refuse_missing
from ..rows.table_reader import TableFile
from ..tables.columns import columns_of
from ..tables.table_model import TableModel
from .console import Console
from .feature_columns import as_fitted
from .outputs import check_outputs, format_of, write_table
from .refitted_intervals import RefittedIntervals
from .table_problem import counted, open_table
from .training_table import training_problem

__all__ = ["run"]

# Rows that are encoded at once.
_BLOCK = 20_000
# Standard deviations by which the mean of a column has moved, for a note; rows from which.
_DRIFT, _DRIFT_ROWS, _LISTED = 0.5, 30, 5


def run(model_path: str, path: str, options: dict[str, Any], console: Console) -> None:
    """The command."""
    output = Path(options["output"]) if options.get("output") else None
    check_codes(options["ignore"])
    if output is not None:
        format_of(output)
        read = (model_path, path, options["data"])
        inputs = [Path(each) for each in read if each not in (None, "-")]
        check_outputs([output], force=options["force"], inputs=inputs)
    model = TableModel.load(model_path)
    file = open_table(path, options, words=model.words)
    refuse_missing(
        model.needed,
        file.table.column_names,
        file.name,
        "None of the model's columns is there: is it another table?",
    )
    kept = list(options.get("columns") or ())
    refuse_missing(kept, file.table.column_names, file.name)
    columns = {name: file.table.column(name) for name in kept}
    file = as_fitted(model, file, console)
    unseen = check_schema(model, file)
    refitted = None
    if model.task == "regression" and options["intervals"] == "jackknife+":
        training = training_problem(model, options["data"], options, console.aside())
        refitted = RefittedIntervals.of(model, training, console)
    made = _predictions(model, file, options, refitted)
    _refuse_collisions(kept, list(made))
    import pyarrow

    table = pyarrow.table(columns | made)
    _tell(model, file, unseen, console)
    if model.measured.optimistic and "low" in made and refitted is None:
        console.note("intervals are too narrow: the model was fitted with --quick")
    if "SQ005" not in options["ignore"]:
        for text in drift(model, file)[:_LISTED]:
            console.note(text)
    write_table(table, output)
    if output is not None:
        console.say(f"wrote {output}: {file.table.num_rows:,} predictions of {model.target}")
    counts = {name: {"levels": u.levels, "gaps": u.gaps} for name, u in unseen.items()}
    console.give("predict", {"output": str(output), "rows": file.table.num_rows, "unseen": counts})


def check_schema(model: TableModel, file: TableFile) -> dict[str, Any]:
    """What the rows hold that no training row did; refused where a value cannot be what it was."""
    table = columns_of(file.table, "the model")
    places = {name: place for place, name in enumerate(file.table.column_names)}
    unseen = {}
    for column in model.encoder._encoded:
        if not column.parts:
            continue
        try:
            counts = column.unseen(column.read(table.column(places[column.name], column.name)))
        except CellError as error:
            raise file.error(
                f"{error.expected} expected here",
                "write it as in the other rows, or leave the cell empty",
                row=error.row,
                column=error.column,
                value=error.shown.strip("'"),
            ) from error
        if any(counts):
            unseen[column.name] = counts
    return unseen


def _predictions(
    model: TableModel,
    file: TableFile,
    options: dict[str, Any],
    refitted: RefittedIntervals | None,
) -> dict[str, Any]:
    """Columns by name: the prediction, and intervals or probabilities."""
    found: dict[str, Any] = {}
    rows = file.table.select(model.needed)
    if model.task == "classification":
        parts = [
            (model.estimator.predict(block), model.estimator.predict_proba(block))
            for block in _blocks(rows)
        ]
        found["prediction"] = np.concatenate([decided for decided, _ in parts])
        probabilities = np.concatenate([each for _, each in parts])
        for name, column in zip(model.classes, probabilities.T, strict=True):
            found[f"probability of {name}"] = np.ascontiguousarray(column)
        return found
    values = np.concatenate([model.estimator.predict(block) for block in _blocks(rows)])
    found["prediction"] = np.asarray(values, np.float64)
    method, level = options["intervals"], options["coverage"]
    if method == "none":
        return found
    if method == "stored":
        low, high = _stored(model, level)
        found["low"], found["high"] = found["prediction"] + low, found["prediction"] + high
        return found
    blocks = _blocks(rows)
    if refitted is not None:
        values = found["prediction"]
        starts = range(0, values.size, _BLOCK)
        ends = [
            refitted.ends(block, values[start : start + _BLOCK], level)
            for start, block in zip(starts, blocks, strict=True)
        ]
    else:
        ends = [_factored_again(model, block, level) for block in blocks]
    found["low"], found["high"] = np.concatenate(ends).astype(np.float64).T.copy()
    return found


def _factored_again(model: TableModel, block: Any, level: float) -> Array:
    """Intervals whose width depends on the row, from the training rows that the model contains."""
    try:
        return model.estimator.predict_interval(block, level, "adaptive")
    except (AttributeError, ValueError) as error:
        msg = (
            "--intervals adaptive needs all training rows in the model, which this one does not "
            "have: take --intervals stored, or jackknife+ with --data TRAINING"
        )
        raise ValueError(msg) from error


def _stored(model: TableModel, level: float) -> tuple[float, float]:
    """From the errors in the file, which need no factorisation."""
    errors = model.measured.errors
    ends = None if errors is None else interval_ends(errors, level)
    if ends is None:
        count = 0 if errors is None else errors.size
        msg = (
            f"intervals with {100 * level:g}% coverage cannot be made of {count:,} errors: say a "
            "lower --coverage, or --intervals none"
        )
        raise ValueError(msg)
    return ends


def _blocks(table: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that are not known: they are counted and told
        for start in range(0, table.num_rows, _BLOCK):
            yield table.slice(start, _BLOCK)


def _refuse_collisions(kept: list[str], made: list[str]) -> None:
    both = [name for name in kept if name in made]
    if both:
        msg = f"the table has a column {both[0]!r}, as the predictions have: keep others"
        raise ValueError(msg)


def _tell(model: TableModel, file: TableFile, unseen: Any, console: Console) -> None:
    for name, counts in list(unseen.items())[:_LISTED]:
        parts = []
        if counts.levels:
            parts.append(f"{counted(counts.levels, 'row')} with levels that no training row had")
        if counts.gaps:
            parts.append(
                f"{counted(counts.gaps, 'row')} with gaps, of which the training rows had none"
            )
        console.note(f"{name}: {' and '.join(parts)}")
    if len(unseen) > _LISTED:
        console.note(f"{len(unseen) - _LISTED:,} more columns have levels or gaps that are new")


def drift(model: TableModel, file: TableFile) -> list[str]:
    """Columns whose mean is no longer that of the training rows, in words."""
    m = file.table.num_rows
    if m < _DRIFT_ROWS:
        return []
    some = file.table.select(model.needed)
    if m > _BLOCK:
        some = some.take(np.linspace(0, m - 1, _BLOCK).astype(int))
    rows = model.encoder._outputs(some)
    spread = np.where(model.deviations > 0, model.deviations, 1.0)
    moved = np.abs(rows.mean(axis=0, dtype=np.float64) - model.means) / spread
    sources = model.encoder.output_columns_
    found = {}
    for place in np.argsort(-moved):
        name = sources[place]
        if moved[place] > _DRIFT and name not in found:
            found[name] = (
                f"SQ005: {name} is not as it was in the training rows: its mean has moved by "
                f"{moved[place]:.1f} standard deviations"
            )
    return list(found.values())
