"""Which tests execute which line, and what share of the statements a suite executes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import coverage

SOURCE = "src/squareone"


@dataclass(frozen=True)
class Test:
    """One test as it ran without a mutant."""

    seconds: float
    passed: bool
    thorough: bool
    exhaustive: bool


@dataclass(frozen=True)
class CoverageMap:
    """What a run of all tests left in a folder."""

    folder: Path
    tests: dict[str, Test]
    lines: dict[str, dict[int, frozenset[str]]]  # file → line → tests

    def covering(self, path: str, lines: range) -> set[str]:
        """Tests that execute one of these lines and pass."""
        by_line = self.lines.get(path, {})
        found = set().union(*(by_line.get(line, frozenset()) for line in lines))
        return {test for test in found if test in self.tests and self.tests[test].passed}

    def lines_of_tests(self) -> dict[str, set[int]]:
        """Lines of each file that some test executes, beyond what importing it does."""
        return {
            path: {line for line, tests in by_line.items() if tests - {""}}
            for path, by_line in self.lines.items()
        }


def environment(root: Path) -> dict[str, str]:
    """For tests of the code in ``root``, whatever is installed, with one BLAS thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    path = os.pathsep.join([str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | threads | {"PYTHONPATH": path}


def record(root: Path, folder: Path, arguments: list[str]) -> int:
    """Run all tests but the slow ones once, with the lines each of them executes."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-m", "not slow", "-q"),
        *("-p", "tools.mutation.pytest_plugin", "--record", str(folder / "tests.json")),
        *(f"--cov={SOURCE}", "--cov-context=test", "--cov-report="),
        *arguments,
    ]
    files = {"COVERAGE_FILE": str(folder / "coverage")}
    return subprocess.run(command, cwd=root, env=environment(root) | files, check=False).returncode


def read(root: Path, folder: Path) -> CoverageMap:
    """The map that `record` has left."""
    records = json.loads((folder / "tests.json").read_text())
    tests = {name: Test(**values) for name, values in records.items()}
    data = coverage.CoverageData(str(folder / "coverage"))
    data.read()
    lines = {}
    for file in sorted(data.measured_files()):
        by_line = data.contexts_by_lineno(file)
        lines[os.path.relpath(file, root)] = {
            line: frozenset(context.rpartition("|")[0] for context in contexts)
            for line, contexts in by_line.items()
        }
    return CoverageMap(folder, tests, lines)


def statement_coverage(
    root: Path, covered: CoverageMap, belongs: Callable[[Test], bool]
) -> tuple[int, int, dict[str, list[int]]]:
    """Statements executed by a suite, all statements, and the missing lines of each file.

    What runs while modules are imported belongs to every suite.
    """
    suite = {name for name, test in covered.tests.items() if belongs(test)} | {""}
    measured = coverage.Coverage(data_file=None, config_file=False)
    measured.get_data().add_lines(
        {
            str(root / path): [line for line, tests in by_line.items() if tests & suite]
            for path, by_line in covered.lines.items()
        }
    )
    statements, missing = 0, {}
    for path in sorted(covered.lines):
        _, of_file, _, missed, _ = measured.analysis2(str(root / path))
        statements += len(of_file)
        if missed:
            missing[path] = missed
    return statements - sum(map(len, missing.values())), statements, missing
