"""Mutants of the numerical code, and whether `make test` and `make test-all` notice them.

`python -m tools.mutation map` runs all tests once and keeps which lines each of them executes,
`coverage` compares the statements that the two suites execute, `run` draws mutants and tries them.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from .coverage_map import CoverageMap, read, record, statement_coverage
from .mutants import Mutant, draw, mutants_of
from .results import Results
from .trial import Trials

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("solvers", "selection", "fitting")
SEED = 20  # of the results that are kept beside this file


def main() -> int:
    """Read the command line, and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "mutation")
    commands = parser.add_subparsers(dest="command", required=True)
    mapping = commands.add_parser("map", help="run all tests, and keep the lines of each")
    mapping.add_argument("arguments", nargs="*", help="for pytest: -- -n 2")
    commands.add_parser("coverage", help="statements executed by each suite")
    running = commands.add_parser("run", help="draw mutants, and run the tests of their lines")
    running.add_argument("--count", type=int, default=60)
    running.add_argument("--seed", type=int, default=SEED)
    running.add_argument("--workers", type=int, choices=(1, 2), default=2)
    running.add_argument("--minutes", type=float, default=110)
    running.add_argument("--results", type=Path, default=Path(__file__).with_name("results.md"))
    options = parser.parse_args()

    if options.command == "map":
        return record(ROOT, options.folder, options.arguments)
    covered = read(ROOT, options.folder)
    if options.command == "coverage":
        _compare(covered)
        return 0
    drawn = draw(_mutants(), covered.lines_of_tests(), options.count, options.seed)
    results = Results(options.results, _commit(), options.seed, drawn)
    Trials(ROOT, covered, options.workers, options.minutes).run(drawn, results.add)
    return 0


def _mutants() -> list[Mutant]:
    files = [file for room in ROOMS for file in (ROOT / "src" / "squareone" / room).rglob("*.py")]
    return [
        mutant
        for file in sorted(files)
        for mutant in mutants_of(str(file.relative_to(ROOT)), file.read_bytes())
    ]


def _compare(covered: CoverageMap) -> None:
    some, statements, missing = statement_coverage(ROOT, covered, lambda test: not test.thorough)
    every, _, missing_in_all = statement_coverage(ROOT, covered, lambda test: not test.exhaustive)
    for name, executed in (("make test", some), ("make test-all", every)):
        print(f"{name}: {executed} of {statements} statements, {executed / statements:.2%}")
    for path, lines in missing.items():
        lost = sorted(set(lines) - set(missing_in_all.get(path, ())))
        if lost:
            print(f"only make test-all: {path} {', '.join(map(str, lost))}")


def _commit() -> str:
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


sys.exit(main())
