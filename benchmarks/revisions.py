"""Two checkouts of this repository on the same cases, in turns: seconds of ours, and their ratio.

``python -m benchmarks.revisions BEFORE AFTER --only cholesky predict``, where both are folders with
an environment ``.venv`` of their own. Cases are those of ``benchmarks.run`` whose names begin so,
as far as both checkouts have them and time something. ``--store FILE`` keeps what was measured, so
that a later call adds to it and prints all. Where other work runs on the machine, ``--clock cpu``
with one thread counts the seconds of the processor instead.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROUNDS = 5
# Run in each checkout, for one case: a repeat of ours to warm up, and one for every line that
# comes, without yardstick and peers. It uses what both revisions have.
_TIME_OURS = """
import contextlib, gc, sys, time
sys.path.insert(0, ".")
from benchmarks.run import CASES
from benchmarks import case as cases
from benchmarks.case import Scale

class Done(Exception):
    pass

clock = time.process_time if sys.argv[3] == "cpu" else time.perf_counter

def ours_alone(ours, yardstick, repeats, peers=None):
    for told in ["warm up", *[None] * 1000]:
        if told is None and not sys.stdin.readline():
            raise Done
        arguments = ours.prepare()
        gc.collect()
        start = clock()
        result = ours.run(*arguments)
        print(clock() - start, flush=True)
        del result, arguments
    raise Done

cases.interleaved = ours_alone
[chosen] = [case for case in CASES if case.name == sys.argv[1]]
with contextlib.suppress(Done):
    chosen.measure(Scale(int(sys.argv[2]), 1))
"""
_NAMES = """
import sys
sys.path.insert(0, ".")
from benchmarks.run import CASES
print(*[case.name for case in CASES])
"""


class NotTimedError(RuntimeError):
    """A case that failed, or that times nothing (some measure memory, or in other processes)."""


class Side:
    """A case in one checkout, in a process that repeats it when asked."""

    def __init__(self, checkout: Path, name: str, shrink: int = 1, clock: str = "wall") -> None:
        self._where = f"{name} in {checkout}"
        asked = (name, str(shrink), clock)
        self._process = _python(checkout, _TIME_OURS, *asked, stdin=subprocess.PIPE)
        self.seconds()  # the first repeat does not count

    def repeat(self) -> float:
        """Seconds of one more repeat."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.seconds()

    def seconds(self) -> float:
        """What the process says next."""
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        try:
            return float(told)
        except ValueError:
            _, said = self._process.communicate()
            last = said.strip().splitlines()[-1:] or ["it times nothing"]
            raise NotTimedError(f"{self._where} was not timed: {last[0]}") from None

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main(arguments: list[str] | None = None) -> None:
    """Measure what was asked for, and print the table of all that the store has."""
    options = _parser().parse_args(arguments)
    store = json.loads(options.store.read_text()) if options.store.exists() else {}
    for name in _names(options):
        try:
            measured = measure(
                options.before, options.after, name, options.rounds, options.shrink, options.clock
            )
        except NotTimedError as error:
            print(error, file=sys.stderr)
            continue
        seconds = store.setdefault(name, {"before": [], "after": []})
        for side, values in measured.items():
            seconds[side] += values
        options.store.write_text(json.dumps(store, indent=1))
    print(table(store))


def measure(
    before: Path,
    after: Path,
    name: str,
    rounds: int = ROUNDS,
    shrink: int = 1,
    clock: str = "wall",
) -> dict[str, list[float]]:
    """Seconds of a case in both checkouts, which take turns: a value for every round."""
    sides: dict[str, Side] = {}
    try:
        for side, checkout in (("before", before), ("after", after)):
            sides[side] = Side(checkout, name, shrink, clock)
        turns = [{side: each.repeat() for side, each in sides.items()} for _ in range(rounds)]
    finally:
        for each in sides.values():
            each.close()
    return {side: [turn[side] for turn in turns] for side in sides}


def table(store: dict[str, dict[str, list[float]]]) -> str:
    """Return the medians before and after, and the median of the ratios of single turns."""
    lines = [
        "| case | before, s | after, s | ratio | of single turns |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, seconds in store.items():
        pairs = list(zip(seconds["before"], seconds["after"], strict=True))
        ratios = sorted(after / before for before, after in pairs)
        before, after = (statistics.median(side) for side in zip(*pairs, strict=True))
        lines.append(
            f"| `{name}` | {before:.3g} | {after:.3g} | {statistics.median(ratios):.2f}"
            f" | {ratios[0]:.2f} to {ratios[-1]:.2f} |"
        )
    return "\n".join(lines)


def _names(options: argparse.Namespace) -> list[str]:
    """Names that begin as was asked for, of the cases that both have."""
    both = []
    for checkout in (options.before, options.after):
        process = _python(checkout, _NAMES)
        told, said = process.communicate()
        if process.returncode:
            sys.exit(f"{checkout} has no cases: {said.strip()}")
        both.append(told.split())
    found = [name for name in both[1] if name in both[0]]
    return [name for name in found if name.startswith(tuple(options.only))]


def _python(checkout: Path, program: str, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(checkout.resolve() / ".venv/bin/python"), "-c", program, *arguments],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--shrink", type=int, default=1, help="divides the numbers of rows")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--store", type=Path, default=Path("revisions.json"))
    return parser


if __name__ == "__main__":
    main()
