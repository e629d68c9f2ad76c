"""Measure every case and print the table: ``python benchmarks/run.py --help``."""

import argparse
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.threads import pin_threads

THREADS = pin_threads()  # before anything imports numpy

from benchmarks import (  # noqa: E402
    afterwards,
    centers,
    greedy,
    hinge,
    imports,
    kernel_choice,
    kernels,
    linear,
    memory,
    online,
    plans,
    predict,
    report,
    solvers,
    text,
)
from benchmarks.case import Case, Scale  # noqa: E402

CASES = [
    case
    for theme in (
        kernels,
        solvers,
        linear,
        predict,
        afterwards,
        greedy,
        hinge,
        online,
        imports,
        memory,
        plans,
        text,
        centers,
        kernel_choice,
    )
    for case in theme.CASES
]
QUICK_SHRINK = 8


def main(arguments: list[str] | None = None) -> int:
    """Run the cases asked for; return 1 if one could not be measured, missed targets or not."""
    options = _parser().parse_args(arguments)
    chosen = [case for case in CASES if _asked(case, options.only)]
    if not chosen:
        _say(f"No case starts with {options.only}; there are: {', '.join(c.name for c in CASES)}")
        return 2
    scale = Scale(QUICK_SHRINK if options.quick else 1, options.repeats)
    about = {**report.environment(THREADS), "shrink": scale.shrink}
    stem = "quick" if options.quick else "partial" if options.only else "latest"
    entries: list[dict[str, Any]] = []
    for case in chosen:
        entry = _measure(case, scale)
        # the targets are for full size
        entries.append({**entry, "met": None} if options.quick else entry)
        report.write(stem, about, entries)  # a stopped run keeps its cases
    print(report.table(entries))
    return int(any("error" in entry for entry in entries))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Ratios of squareone to its yardsticks.")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="the cases whose names start with NAME"
    )
    parser.add_argument("--repeats", type=_positive, help="repeats per case, instead of its own")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"1/{QUICK_SHRINK} of the rows: shows that the cases run, not how fast they are",
    )
    return parser


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


def _asked(case: Case, names: list[str] | None) -> bool:
    return names is None or case.name.startswith(tuple(names))


def _measure(case: Case, scale: Scale) -> dict[str, Any]:
    _say(f"{case.name} …")
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("once")
            outcome = case.measure(scale)
    except Exception as error:  # noqa: BLE001  one broken case must not lose the others
        _say(f"  {type(error).__name__}: {error}")
        return report.failure(case, error)
    finally:
        _say(f"  {time.perf_counter() - start:.0f} s")
    if kinds := sorted({warning.category.__name__ for warning in caught}):
        outcome = replace(outcome, note="; ".join(filter(None, [outcome.note, *kinds])))
    return report.record(case, outcome)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
