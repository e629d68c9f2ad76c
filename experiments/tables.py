"""Tables of mixed columns as people have them: 25 of them, against boosted trees and others.

``python -m experiments.tables --store tables.jsonl`` adds what the store does not have yet, and
``python -m experiments.tables --store tables.jsonl --report`` writes what it holds. Parts of it:
``--tables ames concrete --contestants gauss trees --seeds 0 1 --rows 6000 --workers 2``.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import environment
from experiments.table_contestants import CLASSIFIERS_ONLY, CONTESTANTS, Mean, Prediction
from experiments.table_data import (
    IN_TIME_ORDER,
    Table,
    are_classes,
    load_table,
    split,
    table_names,
)
from experiments.table_report import ROWS, write_report

SEEDS, SEEDS_OF_LARGE, LARGE = 5, 3, 20_000
OPTIONAL_PACKAGES = ("pandas", "xrfm", "torch")
EPSILON = np.finfo(float).eps
TENTHS = 10


class Job(NamedTuple):
    """One contestant on one split of a table, with at most so many training rows (None: all)."""

    table: str
    contestant: str
    seed: int
    at_most: int | None


def main() -> None:
    options = _parser().parse_args()
    if options.report:
        write_report(read_store(options.store), options.rows, options.tables)
        return
    names = options.tables or table_names()
    if not names:
        sys.exit("no tables: set SQUAREONE_DATA to the folder that has them")
    done = {_key(record) for record in read_store(options.store)}
    tables = sorted(map(load_table, names), key=lambda table: len(table.y))
    jobs = [
        job
        for table in tables
        for job in jobs_of(table, options.contestants, options.seeds, options.rows)
        if (*job[:3], len(split(table, job.seed, job.at_most).train)) not in done
    ]
    failures = run(jobs, options.store, options.workers)
    if failures:
        sys.exit(f"{failures} of {len(jobs)} could not be measured; another run tries them again")


def jobs_of(
    table: Table, contestants: Iterable[str], seeds: list[int] | None, at_most: int | None
) -> Iterator[Job]:
    """Every contestant that this table is for, on every split."""
    if seeds is None:
        count = SEEDS_OF_LARGE if len(table.y) > LARGE else SEEDS
        seeds = list(range(1 if table.name in IN_TIME_ORDER else count))
    for seed in seeds:
        for contestant in contestants:
            if are_classes(table.y) or contestant not in CLASSIFIERS_ONLY:
                yield Job(table.name, contestant, seed, at_most)


def run(jobs: list[Job], store: Path, workers: int) -> int:
    """Add a line to the store for each job as soon as it is finished; count those that failed."""
    # read by the libraries when a process loads them: the workers are fresh ones
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    fresh = multiprocessing.get_context("spawn")
    missing: set[str] = set()
    failures = 0
    with ProcessPoolExecutor(workers, mp_context=fresh) as pool:
        running = {pool.submit(measure, job): job for job in jobs}
        for future in as_completed(running):
            job = running.pop(future)
            error = future.exception()
            if isinstance(error, ImportError):
                if job.contestant not in missing:
                    print(f"{job.contestant} is left out: {error}", flush=True)
                missing.add(job.contestant)
            elif error is not None:
                failures += 1
                print(f"{job} failed: {type(error).__name__}: {error}", flush=True)
            else:
                record = future.result()
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
                print("{table} {contestant} {seed}: {error:.4g}".format(**record), flush=True)
    return failures


def measure(job: Job) -> dict[str, Any]:
    """Return what the store keeps of a job."""
    table = load_table(job.table)
    train, test, available = split(table, job.seed, job.at_most)
    columns, y = table.columns, table.y
    start = time.perf_counter()
    prediction = CONTESTANTS[job.contestant](
        columns.take(train), y[train], columns.take(test), job.seed
    )
    seconds = time.perf_counter() - start
    return {
        "table": job.table,
        "contestant": job.contestant,
        "seed": job.seed,
        "rows": len(train),
        "available": available,
        "test_rows": len(test),
        "regression": not are_classes(y),
        "seconds": round(seconds, 3),
        **figures(prediction, y[test]),
        **_conditions(),
    }


def _conditions() -> dict[str, Any]:
    """Return what a figure may depend on."""
    about = environment(threads=1)
    versions = about["packages"]
    for name in OPTIONAL_PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {"date": about["date"], "python": about["python"], "versions": versions}


def figures(prediction: Prediction, y: NDArray) -> dict[str, Any]:
    """Return the error, and what probabilities and intervals are worth where there are any.

    Parameters
    ----------
    prediction : Prediction
        Of the test rows.
    y : array of shape (m,)
        Their targets.

    Returns
    -------
    dict
        ``error``: the root mean squared error over the standard deviation of ``y``, or wrong
        classes in per cent. ``log_loss``: natural, with probabilities at least 2.2e-16.
        ``coverage``: the share of targets inside their intervals, and ``coverage_by_width`` that
        in each tenth of the test rows, from the narrowest intervals to the widest. ``width``: the
        mean, over the standard deviation of ``y``. ``square`` and ``square_noise``: the mean square
        error and its standard error, in units of the variance of ``y``, or of decisions from ±1;
        ``square_by_folds`` and ``square_by_folds_noise``: what folds of the training rows say it
        is, in the same unit.
    """
    result: dict[str, Any]
    if are_classes(y):
        result = {"error": 100 * float(np.mean(prediction.values != y))}
        if prediction.probabilities is not None:
            truth = y[:, None] == prediction.classes
            of_truth = np.sum(np.where(truth, prediction.probabilities, 0.0), axis=1)
            result["log_loss"] = -float(np.mean(np.log(np.maximum(of_truth, EPSILON))))
        if prediction.by_folds is not None:
            result |= _squares(prediction.by_folds, _decision_errors(prediction, y), 1.0)
        return result
    scale = y.std()
    result = {"error": float(np.sqrt(np.mean((prediction.values - y) ** 2)) / scale)}
    if prediction.by_folds is not None:
        result |= _squares(prediction.by_folds, prediction.values - y, scale**2)
    if prediction.intervals is not None:
        lower, upper = prediction.intervals.T
        inside = (lower <= y) & (y <= upper)
        order = np.argsort(upper - lower, kind="stable")
        tenths = np.array_split(inside[order], TENTHS)
        result["coverage"] = float(inside.mean())
        result["coverage_by_width"] = [round(float(tenth.mean()), 4) for tenth in tenths]
        result["width"] = float(np.mean(upper - lower) / scale)
    return result


def _decision_errors(prediction: Prediction, y: NDArray) -> NDArray:
    """Return decisions less what they were fitted to, 1 for the class of a row and −1 elsewhere."""
    decisions, classes = prediction.decisions, prediction.classes
    truth = y == classes[1] if decisions.ndim == 1 else y[:, None] == classes
    return decisions - np.where(truth, 1.0, -1.0)


def _squares(by_folds: Mean, errors: NDArray, unit: float) -> dict[str, float]:
    square = Mean.of(errors**2)
    return {
        "square": square.value / unit,
        "square_noise": square.noise / unit,
        "square_by_folds": by_folds.value / unit,
        "square_by_folds_noise": by_folds.noise / unit,
    }


def read_store(store: Path) -> list[dict[str, Any]]:
    if not store.exists():
        return []
    return [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]


def _key(record: dict[str, Any]) -> tuple[str, str, int, int]:
    return record["table"], record["contestant"], record["seed"], record["rows"]


def _rows(text: str) -> int | None:
    return None if text == "all" else int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True, help="one JSON object a line")
    parser.add_argument("--tables", nargs="+", help="these only")
    parser.add_argument("--contestants", nargs="+", choices=[*CONTESTANTS], default=[*CONTESTANTS])
    parser.add_argument("--seeds", nargs="+", type=int, help="of the splits and of the models")
    parser.add_argument(
        "--rows", type=_rows, default=ROWS, help='at most so many training rows, or "all"'
    )
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--report", action="store_true", help="write what the store holds")
    return parser


if __name__ == "__main__":
    main()
