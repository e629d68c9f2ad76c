"""The table a model was fitted to, again: found by its hash, and read as it was."""

from __future__ import annotations

from typing import Any

from ..errors import TableFileError
from ..tables.table_model import TableModel
from .console import Console
from .table_problem import READING, TableProblem, table_problem

__all__ = ["training_problem"]

_SPECIAL = ("weights", "groups", "time-column")


def training_problem(
    model: TableModel, path: str, options: dict[str, Any], console: Console
) -> TableProblem:
    """The problem that a model was fitted to, from its table.

    Raises
    ------
    TableFileError
        Where the table is another one, or was changed since.
    """
    settings = model.settings
    special = {name.replace("-", "_"): settings.get(name) for name in _SPECIAL}
    reading: dict[str, Any] = {name: settings.get(name.replace("_", "-")) for name in READING}
    if reading["header_lines"] is not None:
        reading["header_lines"] = int(reading["header_lines"])
    given = {name: options[name] for name in READING if options.get(name) is not None}
    words = settings.get("words")
    reading["words"] = words.split("\n") if words else ()
    asked = {"target": model.target, "task": model.task, **special, **reading, **given}
    problem = table_problem(path, asked, console)
    if problem.file.sha256 != model.source["sha256"]:
        raise TableFileError(
            problem.file.name,
            f"this is not the table that the model was fitted to ({model.source['name']}, sha256 "
            f"{model.source['sha256'][:16]}…), or it was changed since",
            "give that table, or fit again",
        )
    names = [column.name for column in model.encoder.columns_]
    problem.X = problem.X.select(names)
    return problem
