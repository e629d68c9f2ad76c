"""Seconds and memory of the commands, and the size of their reports: absolute, on this machine.

``python -m benchmarks.commands``, some cases by ``--only million-quick``. Each command is a process
of its own. Tables that are made up are made in a folder that is removed; ``ames`` is read from the
folder named by ``SQUAREONE_DATA``. Linux only: the peak of memory is read from ``/proc``.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.threads import pin_threads

THREADS = pin_threads()
RESULTS = Path(__file__).parent / "results"
HEADER = ("case", "seconds", "of the processor", "peak GiB", "report, KB", "to reach", "met?")
_HELPS = 9
# Seconds between looks at the memory of a command.
_LOOKS = 0.02
# A made-up table, in a process of its own: its memory is not to be that of the command.
_MAKE = """
import sys
import numpy as np
path, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
names = ",".join([*(f"column {j}" for j in range(d)), "y"])
with open(path, "w") as file:
    print(names, file=file)
    for start in range(0, n, 10_000):
        X = rng.standard_normal((min(10_000, n - start), d))
        noise = rng.standard_normal(len(X))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * noise
        np.savetxt(file, np.column_stack([X, y]), "%.4f", ",")
"""
NOTES = """
*seconds* are those of the whole process, with the start of the interpreter; of `help` the median of
{helps}. *peak GiB* is the high-water mark of its resident memory. `million` has 1,000,000 rows and
20 columns of normal numbers with four decimals, `wide` 500 rows and 2,000 columns; y is sin x₀ +
x₁x₂ + x₃/2 + noise. `ames` has 2,930 houses and 74 columns.
"""


@dataclass(frozen=True)
class Case:
    """A command, and what it should not exceed.

    Attributes
    ----------
    name : str
    arguments : str
        ``{table}`` is the table, ``{model}`` the model that is written.
    table : callable or None
        Writes the table into a folder, and returns its path.
    seconds, gib : float or None
        To reach.
    """

    name: str
    arguments: str
    table: Callable[[Path, int], Path] | None = None
    seconds: float | None = None
    gib: float | None = None


@dataclass(frozen=True)
class Measured:
    """Of a command: seconds, those of the processor, the peak in bytes and the size of a report."""

    seconds: float
    processor: float
    peak: int
    report: int | None


def _ames(folder: Path, shrink: int) -> Path:
    return Path(os.environ.get("SQUAREONE_DATA", "nowhere")) / "tables" / "ames.csv.gz"


def _made(n: int, d: int) -> Callable[[Path, int], Path]:
    def make(folder: Path, shrink: int) -> Path:
        path = folder / f"made_up_{n}_{d}.csv"
        if not path.exists():
            rows = str(max(100, n // shrink))
            subprocess.run([sys.executable, "-c", _MAKE, path, rows, str(d)], check=True)
        return path

    return make


_FIT = "fit {table} -o {model} --force --target"
_MILLION = _made(1_000_000, 20)
CASES = (
    Case("help", "--help"),
    Case("ames-quick", f"{_FIT} target --quick", _ames, seconds=60),
    Case("ames-full", f"{_FIT} target", _ames),
    Case("wide-quick", f"{_FIT} y --quick", _made(500, 2000)),
    Case("million-quick", f"{_FIT} y --quick --memory 2GiB", _MILLION, seconds=240, gib=2),
    Case("million-full", f"{_FIT} y --memory 2GiB", _MILLION),
)
_LARGEST_REPORT = 1e6


def measure(case: Case, folder: Path, shrink: int = 1) -> Measured | None:
    """Run a command once; None where its table is not there."""
    model = folder / f"{case.name}.squareone"
    table = None if case.table is None else case.table(folder, shrink)
    if table is not None and not table.exists():
        return None
    places = {"{table}": str(table), "{model}": str(model)}
    arguments = [places.get(each, each) for each in case.arguments.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "squareone", *arguments]
    with tempfile.TemporaryFile() as said:
        streams = {"stdout": subprocess.DEVNULL, "stderr": said}
        process = subprocess.Popen(command, cwd=folder, **streams)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _high_water_mark(process.pid))
            time.sleep(_LOOKS)
        seconds = time.perf_counter() - started
        said.seek(0)
        message = said.read().decode()
    if process.returncode:
        sys.exit(f"{case.name}: {message}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    page = model.with_suffix(".html")
    return Measured(seconds, processor, peak, page.stat().st_size if page.exists() else None)


def _high_water_mark(pid: int) -> int:
    """Not that of ``getrusage``, which begins at the peak of the parent process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has ended
        return 0
    marks = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(marks[0].split()[1]) * 1024 if marks else 0


def row(case: Case, found: Measured | None, *, judged: bool = True) -> tuple[str, ...]:
    """The cells of a case."""
    if found is None:
        return (f"`{case.name}`", *["–"] * 5, "not measured: no table")
    limits, kept = [], []
    if case.seconds is not None:
        limits.append(f"≤ {case.seconds:g} s")
        kept.append(found.seconds <= case.seconds)
    if case.gib is not None:
        limits.append(f"≤ {case.gib:g} GiB")
        kept.append(found.peak <= case.gib * 2**30)
    if found.report is not None:
        limits.append("≤ 1,000 KB")
        kept.append(found.report <= _LARGEST_REPORT)
    return (
        f"`{case.name}`: `squareone {case.arguments}`",
        f"{found.seconds:,.3g}",
        f"{found.processor:,.3g}",
        f"{found.peak / 2**30:.2f}",
        "–" if found.report is None else f"{found.report / 1000:,.0f}",
        ", ".join(limits) or "–",
        ("yes" if all(kept) else "no") if kept and judged else "–",
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the table again after each case."""
    from benchmarks.report import environment

    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the rows: shows that it runs"
    )
    options = parser.parse_args(arguments)
    about = environment(THREADS)
    stem = "commands-quick" if options.quick else "commands"
    stem += "-partial" if set(options.only) != set(names) else ""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.name not in options.only:
                continue
            shrink = 100 if options.quick else 1
            found = measure(case, Path(folder), shrink)
            if case.name == "help" and found is not None:
                others = [measure(case, Path(folder)) for _ in range(_HELPS - 1)]
                middle = statistics.median(each.seconds for each in [found, *others] if each)
                found = Measured(middle, found.processor, found.peak, None)
            rows.append(row(case, found, judged=not options.quick))
            print("; ".join(rows[-1]), flush=True)
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{stem}.md").write_text(_markdown(about, rows), encoding="utf-8")


def _markdown(about: dict, rows: list[tuple[str, ...]]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    command = " ".join(["python -m benchmarks.commands", *sys.argv[1:]])
    lines = [HEADER, ("---",) * len(HEADER), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return (
        f"# Commands\n\n`{command}`, {about['date']}; {about['threads']} threads on "
        f"{about['cores']} cores, load {about['load_at_start']} at the start; Python "
        f"{about['python']}, {packages}.\n\n{table}\n{NOTES.format(helps=_HELPS)}"
    )


if __name__ == "__main__":
    main()
