"""Fits of Dask collections on worker processes here: ``python -m benchmarks.cluster --help``.

Every case is a ratio of two times of one run. The workers have one thread each. What more machines
would take is foretold by ``scale``: from the seconds of a group of rows and of a task, as measured
here, and a network that is given. The same reckoning is held against fits with 1, 2 and 4 workers,
of the same rows and of as many rows for each worker. What was measured is written to
``results/cluster.md``.
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import scipy
from dask.distributed import Client, LocalCluster
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.planning.worker_memory import worker_bytes
from squareone.rows import open_rows
from squareone.rows.block_sums import ARITY, group_rows

D, M, NAMES = 20, 1000, [f"x{i}" for i in range(20)]
RESULTS = Path(__file__).parent / "results"
# What was measured in the case at hand: lines of a table.
_TABLE: list[str] = []


def main(arguments: list[str] | None = None) -> None:
    """Measure the cases asked for, print a line for each as it is known, and write all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "cluster.md")
    options = parser.parse_args(arguments)
    _say(
        f"{options.rows:,} rows, {options.workers} workers with one thread, {os.cpu_count()} cores"
    )
    sections = _sections(options.output)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            _TABLE.clear()
            load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
            CASES[name](options.rows, options.workers, Path(folder))
            sections[name] = _section(name, options, load)
            # what is known stays known if a later case fails
            options.output.write_text(_page(sections), encoding="utf-8")


def _sections(page: Path) -> dict[str, str]:
    """What is on the page of earlier cases, by their names."""
    if not page.exists():
        return {}
    parts = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip("\n") for part in parts}


def _section(name: str, options: argparse.Namespace, load: float) -> str:
    command = (
        f"python -m benchmarks.cluster --rows {options.rows} --workers {options.workers} "
        f"--only {name}"
    )
    versions = ", ".join(
        f"{module.__name__} {module.__version__}" for module in (np, scipy, pd, dask, distributed)
    )
    about = [
        f"`{command}`: {os.cpu_count()} cores, load {load:.1f} at the start.",
        f"Python {platform.python_version()}, {versions}.",
    ]
    head = "| work | this | against | ratio | to reach | met | note |"
    rule = "| --- | --- | --- | --- | --- | --- | --- |"
    return "\n".join([*about, "", head, rule, *_TABLE])


def _page(sections: dict[str, str]) -> str:
    about = [
        "Each section is one run, with worker processes of one thread each. Seconds of the clock,",
        "and MiB of memory; the client's BLAS has two threads.",
    ]
    known = [f"## {name}\n\n{sections[name]}\n" for name in CASES if name in sections]
    return "\n".join(["# Fits on worker processes", "", *about, "", *known])


def rectangle(n: int, workers: int, folder: Path) -> None:
    """All rows and m centers, from Parquet: against a stream of the same file on two threads."""
    rows = _parquet(n, folder)
    alone, one = _timed(lambda: _fit(rows.stream, rows.y))
    with _cluster(workers) as client:
        _fit(rows.frame.partitions[:2], rows.y[: 2 * rows.part])
        idle = max(client.run(_peak_bytes, reset=True).values())
        together, many = _timed(lambda: _fit(rows.frame, rows.y))
        peak = max(client.run(_peak_bytes).values()) - idle
    equal = bool((one.dual_coef_ == many.dual_coef_).all())
    chunk = 8.0 * rows.part * D
    counted = worker_bytes(many.plan_.task, many.plan_.solver, 1, chunk)
    _line("rectangle", together, alone, 1.25, f"equal bits: {equal}")
    _line("its memory on a worker", peak / 2**20, counted / 2**20, 1.1, "MiB, over the idle worker")


def rows_times_four(n: int, workers: int, folder: Path) -> None:
    """The same work on a quarter of the rows, and on all."""
    few, many = _parquet(n // 4, folder / "few"), _parquet(n, folder)
    seconds, peaks = [], []
    with _cluster(workers) as client:
        _fit(few.frame.partitions[:2], few.y[: 2 * few.part])
        for rows in (few, many):
            idle = max(client.run(_peak_bytes, reset=True).values())
            seconds.append(_timed(lambda rows=rows: _fit(rows.frame, rows.y))[0])
            peaks.append((max(client.run(_peak_bytes).values()) - idle) / 2**20)
    _line(
        "four times the rows",
        seconds[1],
        seconds[0],
        4.2,
        f"peaks {peaks[0]:.0f}, {peaks[1]:.0f} MiB",
    )


def linear(n: int, workers: int, folder: Path) -> None:
    """Every λ and leave-one-out, 100 features in the memory of the workers: against lstsq."""
    with _cluster(workers):
        X = _normal(n, 100).persist()
        y = (X[:, 0] - 2.0 * X[:, 1]).compute() + np.random.default_rng(0).standard_normal(n)
        target = da.from_array(y, chunks=X.chunks[0])
        RLSRegressor("linear").fit(X[:200_000], y[:200_000])
        ours, model = _timed(lambda: RLSRegressor("linear").fit(X, y))
        # one linear map as they are: without an intercept and λ
        theirs, _ = _timed(lambda: dask.compute(da.linalg.lstsq(X, target)[0]))
    _line("linear, every λ", ours, theirs, 1.5, f"λ = {model.alpha_:.3g}")


def krylov(n: int, workers: int, folder: Path) -> None:
    """Hashed sparse rows in 40 blocks, held by the workers: against one machine in memory."""
    n //= 2
    parts = [partial(_hashed, seed, n // 40) for seed in range(40)]
    whole = csr_array(vstack([make() for make in parts]))
    y = np.asarray(whole[:, :50].sum(axis=1)) + np.random.default_rng(0).standard_normal(
        len(parts) * (n // 40)
    )
    make = partial(RLSRegressor, "linear", 1.0, solver="krylov", keep_factor=False)
    make().fit(whole[:5000], y[:5000])
    alone, one = _timed(lambda: make().fit(whole, y))
    with _cluster(workers):
        meta = csr_array((0, 2**18))
        blocks = [
            da.from_delayed(dask.delayed(each)(), (n // 40, 2**18), meta=meta) for each in parts
        ]
        X = da.concatenate(blocks).persist()
        make().fit(X[: n // 40], y[: n // 40])
        together, many = _timed(lambda: make().fit(X, y))
    away = np.abs(one.coef_ - many.coef_).max() / np.abs(one.coef_).max()
    _line("krylov, sparse", together, alone, 1.6, f"relative difference {away:.1e}")


def lost_worker(n: int, workers: int, folder: Path) -> None:
    """A fit that loses one of its workers halfway, which a nanny begins anew."""
    _lose_a_worker(n, folder, _cluster(workers), "with a nanny", 2.0)


def lost_for_good(n: int, workers: int, folder: Path) -> None:
    """The same without a nanny: a single worker of two is left."""
    _lose_a_worker(n, folder, _without_nannies(workers), "without a nanny", 2.6)


def _lose_a_worker(
    n: int, folder: Path, cluster: AbstractContextManager[Client], how: str, limit: float
) -> None:
    rows = _parquet(n, folder)
    with cluster as client:
        _fit(rows.frame.partitions[:2], rows.y[: 2 * rows.part])
        undisturbed, whole = _timed(lambda: _fit(rows.frame, rows.y))
        victim = next(iter(client.run(os.getpid).values()))
        killing = threading.Timer(undisturbed / 2, os.kill, (victim, signal.SIGKILL))
        killing.start()
        disturbed, model = _timed(lambda: _fit(rows.frame, rows.y))
        killing.join()
    equal = bool((whole.dual_coef_ == model.dual_coef_).all())
    _line(f"a worker lost halfway, {how}", disturbed, undisturbed, limit, f"equal bits: {equal}")


def scale(n: int, workers: int, folder: Path) -> None:
    """Fits with 1, 2 and 4 workers, what is foretold of them, and of 10⁹ rows on 100 machines.

    Strong scaling: all have the same rows. Weak scaling: all have as many for each worker.
    """
    rows = _parquet(n, folder)
    measured = {}
    for count in (1, 2, 4):
        with _cluster(count):
            _fit(rows.frame.partitions[:4], rows.y[: 4 * rows.part])
            measured[count] = _timed(lambda: _fit(rows.frame, rows.y))
    seconds, model = measured[1]
    stages = model.plan_.stages
    group = stages["factorisation"] / n * group_rows(D, False)
    rest = seconds - stages["factorisation"]
    for count, (took, _) in measured.items():
        usable = min(count, os.cpu_count() or 1)
        foretold = rest + _foretold(n, D, M, usable, group)
        _line(f"strong scaling, {_workers(count)}", took, foretold, None, "against the forecast")
    for count in (1, 2, 4):
        part = rows.part * (n // 4 * count // rows.part)
        with _cluster(count):
            _fit(rows.frame.partitions[:4], rows.y[: 4 * rows.part])
            some = rows.frame.partitions[: part // rows.part]
            took = _timed(lambda some=some, part=part: _fit(some, rows.y[:part]))[0]
        foretold = rest + _foretold(part, D, M, min(count, os.cpu_count() or 1), group)
        name = f"weak scaling, {_workers(count)}, {part:,} rows"
        _line(name, took, foretold, None, "against the forecast")
    flops = group / (D + M) * (100 + M)  # of kernel values and their products, with 100 features
    for machines in (1, 10, 100):
        hours = _foretold(10**9, 100, M, machines * 16, flops, machines) / 3600.0
        what = f"10⁹ × 100 rows, m = {M:,}, {machines} workers of 16 threads"
        _say(f"  foretold: {what}: {hours:.2f} h")
        _TABLE.append(f"| {what} | {hours:.2f} h | | | | | a forecast, with 10 Gbit/s |")


def _foretold(
    n: int, d: int, m: int, threads: int, group: float, machines: int = 1, network: float = 1.25e9
) -> float:
    """Seconds of the sums over n rows: the work, the network and the scheduler, one after another.

    ``group`` are the seconds of a group of rows on one thread. Every sum goes over the network
    once, and so do all rows (float64), to ``machines`` of ``network`` bytes a second each. A task
    costs the scheduler a millisecond.
    """
    groups = -(-n // group_rows(d, False))
    work = -(-groups // threads) * group
    sums, rows = groups * 8.0 * m * m, 8.0 * n * d
    moved = (sums + rows) / (machines * network) if machines > 1 else 0.0
    return work + moved + 1e-3 * groups * (1.0 + 1.0 / ARITY)


# --- what the cases share ---


class _Rows:
    """Rows in a folder of Parquet files: a stream of them, a Dask data frame, and the targets."""

    def __init__(self, n: int, folder: Path) -> None:
        self.part = min(100_000, max(1, n // 2))
        count = max(2, n // self.part)
        parts, whole = folder / "parts", folder / "all.parquet"
        self.y = np.empty(count * self.part)
        if not parts.exists():
            parts.mkdir(parents=True)
            for i in range(count):
                pd.DataFrame(self._made(i), columns=NAMES).to_parquet(parts / f"{i:05}.parquet")
        for i in range(count):
            X = self._made(i)
            noise = np.random.default_rng([1, i]).standard_normal(self.part)
            self.y[i * self.part : (i + 1) * self.part] = np.sin(X[:, 0]) + X[:, 1] + 0.1 * noise
        # beside the parts: what lies among them is read as one of them
        if not whole.exists():
            pd.concat(pd.read_parquet(f) for f in sorted(parts.glob("*.parquet"))).to_parquet(
                whole, row_group_size=self.part
            )
        self.frame = dd.read_parquet(parts)[NAMES]
        self.stream = open_rows(whole)

    def _made(self, i: int) -> np.ndarray:
        return np.random.default_rng([0, i]).standard_normal((self.part, D))


def _parquet(n: int, folder: Path) -> _Rows:
    return _Rows(n, folder / f"rows{n}")


def _normal(n: int, d: int) -> da.Array:
    return da.random.default_rng(0).standard_normal((n, d), chunks=(100_000, d))


def _hashed(seed: int, rows: int) -> csr_array:
    """Rows with 50 words each, by their frequencies."""
    draw = np.random.default_rng(seed)
    columns = (2**18 * draw.uniform(size=(rows, 50)) ** 4).astype(np.int32)
    columns.sort(axis=1)
    found = csr_array(
        (np.ones(rows * 50), columns.ravel(), np.arange(0, rows * 50 + 1, 50)), (rows, 2**18)
    )
    found.sum_duplicates()
    return found


def _fit(rows: Any, y: np.ndarray) -> RLSRegressor:
    model = RLSRegressor(Gaussian(4.0), 1.0, centers=M, solver="rectangle", keep_factor=False)
    return model.fit(rows, y)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    with threadpool_limits(2):
        found = work()
    return time.perf_counter() - start, found


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as processes,
        Client(processes) as client,
    ):
        yield client


@contextmanager
def _without_nannies(workers: int) -> Iterator[Client]:
    """Worker processes that nobody begins anew."""
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as scheduler:
        address = scheduler.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = [
            subprocess.Popen([*command, "--nthreads", "1", "--no-dashboard"], **quiet)
            for _ in range(workers)
        ]
        try:
            with Client(scheduler) as client:
                client.wait_for_workers(workers)
                yield client
        finally:
            for each in running:
                each.kill()
                each.wait()


def _workers(count: int) -> str:
    return f"{count} worker{'s' * (count > 1)}"


def _peak_bytes(reset: bool = False) -> float:
    """The most memory that the process has had since it was reset (Linux)."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * float(next(each.split()[1] for each in lines if each.startswith("VmHWM")))


def _line(name: str, ours: float, theirs: float, limit: float | None, note: str) -> None:
    ratio = ours / theirs
    target = "" if limit is None else f" (to reach {limit})"
    _say(f"  {name}: {ours:.2f} / {theirs:.2f} = {ratio:.2f}{target}; {note}")
    met = " | " if limit is None else f"{limit} | {'yes' if ratio <= limit else 'no'}"
    _TABLE.append(f"| {name} | {ours:.2f} | {theirs:.2f} | {ratio:.2f} | {met} | {note} |")


def _say(text: str) -> None:
    print(text, flush=True)


CASES: dict[str, Callable[[int, int, Path], None]] = {
    "rectangle": rectangle,
    "rows": rows_times_four,
    "linear": linear,
    "krylov": krylov,
    "lost": lost_worker,
    "lost-for-good": lost_for_good,
    "scale": scale,
}

if __name__ == "__main__":
    main()
