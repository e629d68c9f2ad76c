"""``squareone inspect``: what a model file holds, and two of them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..planning.text_table import Table
from ..report.verdict import number, percent, share_explained
from ..tables.table_model import TableModel
from .console import Console
from .fit_command import approximation, described, typed_options

__all__ = ["run"]

_COLUMNS = 12


def run(paths: tuple[str, ...], console: Console, echo: Any) -> None:
    """The command; ``echo`` writes to stdout."""
    models = [TableModel.load(path) for path in paths]
    if console.as_json:
        found = [{"file": Path(p).name, **described(m)} for p, m in zip(paths, models, strict=True)]
        console.give("inspect", {"models": found})
        return
    if len(models) == 1:
        echo(_one(Path(paths[0]).name, models[0], everything=console.verbose))
        return
    facts = [_facts(model) for model in models]
    names = list(dict.fromkeys(name for each in facts for name in each))
    rows = [(name, *(each.get(name, "–") for each in facts)) for name in names]
    heads = ("", *(Path(path).name for path in paths))
    echo(Table(heads, rows, "<" * len(heads)).text())


def _one(name: str, model: TableModel, *, everything: bool) -> str:
    facts = _facts(model)
    width = max(map(len, facts))
    lines = [name, *(f"  {key:<{width}}  {value}" for key, value in facts.items()), ""]
    order = np.argsort(-model.estimator.feature_importances_, kind="stable")
    columns = [(model.encoder.columns_[j], model.estimator.feature_importances_[j]) for j in order]
    shown = columns if everything else columns[:_COLUMNS]
    rows: list[tuple[str, ...]] = [
        (c.name, c.kind, percent(share) if c.outputs else "–", c.why) for c, share in shown
    ]
    lines.append(Table(("column", "kind", "share", "what it was taken for"), rows, "<<><").text())
    if len(columns) > len(shown):
        lines.append(f"and {len(columns) - len(shown):,} more columns: -v lists them")
    lines += ["", model.measured.verdict]
    if model.centers:
        lines.append("The file contains training rows: share it as you would share the table.")
    return "\n".join(lines)


def _facts(model: TableModel) -> dict[str, str]:
    measured, source = model.measured, model.source
    shown = number if model.task == "regression" else percent
    error, spread = measured.error
    facts = {
        "predicts": f"{model.target} ({model.task})",
        "table": f"{source['name']}, {source['rows']:,} rows, {source['used']:,} used",
        "hash": f"sha256 {source['sha256'][:16]}…",
        "error": f"{shown(error)} ± {shown(spread)}",
        "guessing": shown(measured.guess[0]),
        "boosted trees": "not measured" if measured.trees is None else shown(measured.trees[0]),
        "explained": share_explained(measured.explained),
        "measured by": f"{measured.how} ({measured.rows:,} rows)",
        "kernel": str(model.estimator.kernel_),
        "alpha": number(float(np.mean(model.estimator.alpha_))),
        "columns": f"{len(model.needed):,} used, {len(model.encoder.dropped_):,} not",
        "training rows inside": f"{model.centers:,}",
        "exact": "no" if approximation(model.estimator, source["used"]) else "yes",
        "options": " ".join(typed_options(model)),
        "versions": ", ".join(f"{k} {v}" for k, v in model.versions.items()),
    }
    if model.classes:
        facts["classes"] = ", ".join(model.classes[:10])
    return facts
