"""A run as a table for people and as JSON for programs."""

import datetime as dt
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import threadpoolctl

from benchmarks.case import Case, Outcome

RESULTS = Path(__file__).parent / "results"
_HEADER = ("case", "against", "ratio seen", "to reach", "met?", "note")
_MET = {True: "yes", False: "no", None: "–"}


def environment(threads: int) -> dict[str, Any]:
    """Return what the ratios may depend on."""
    packages = ("squareone", "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl")
    pools = ("user_api", "internal_api", "version", "architecture", "threading_layer")
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
        "cores": os.cpu_count(),
        "threads": threads,
        "load_at_start": round(os.getloadavg()[0], 2),
        # Without the paths of the libraries, which say nothing about speed.
        "libraries": [
            {key: pool.get(key) for key in (*pools, "num_threads")}
            for pool in threadpoolctl.threadpool_info()
        ],
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "from a source tree"


def record(case: Case, outcome: Outcome) -> dict[str, Any]:
    """Return one case and its outcome as plain values."""
    return {
        **_description(case),
        "ratio": outcome.ratio,
        "spread": outcome.spread,
        "met": case.met(outcome),
        "note": outcome.note,
        **outcome.figures,
    }


def failure(case: Case, error: Exception) -> dict[str, Any]:
    """Return one case that could not be measured, and why."""
    return {**_description(case), "error": f"{type(error).__name__}: {error}"}


def _description(case: Case) -> dict[str, Any]:
    return {key: getattr(case, key) for key in ("name", "what", "against", "direction", "target")}


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    to_reach = f"{entry['direction']} {entry['target']:g}" if entry["target"] else "–"
    case = f"`{entry['name']}`: {entry['what']}"
    if "error" in entry:
        message = " ".join(entry["error"].split()).replace("|", "\\|")
        return case, entry["against"], "–", to_reach, "error", message[:200]
    seen = f"{entry['ratio']:.3g}"
    if entry["spread"]:
        seen += " ({:.3g} to {:.3g})".format(*entry["spread"])
    return case, entry["against"], seen, to_reach, _MET[entry["met"]], entry["note"]


def table(entries: list[dict[str, Any]]) -> str:
    """Return the Markdown table of a run."""
    rows = [_HEADER, ("---",) * len(_HEADER), *map(_row, entries)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def conditions(about: dict[str, Any]) -> str:
    """Return what a run was made with, as a line of text."""
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    blas = {
        f"{pool['internal_api']} {pool['version']} ({pool['architecture']})"
        for pool in about["libraries"]
        if pool["user_api"] == "blas"
    }
    size = f" Rows divided by {about['shrink']}: no targets." if about["shrink"] > 1 else ""
    return (
        f"{about['date']}; {about['threads']} threads on {about['cores']} cores,"
        f" load {about['load_at_start']} at the start;"
        f" Python {about['python']}, {packages}; BLAS: {', '.join(sorted(blas))}.{size}"
    )


def write(stem: str, about: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    """Write ``results/<stem>.json`` and ``results/<stem>.md``."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"environment": about, "cases": entries}, indent=2, ensure_ascii=False)
    (RESULTS / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    markdown = f"# Benchmarks\n\n{conditions(about)}\n\n{table(entries)}\n"
    (RESULTS / f"{stem}.md").write_text(markdown, encoding="utf-8")
