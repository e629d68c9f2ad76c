"""One mutant at a time in a copy of the tree, and the tests of its line until one fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from .coverage_map import CoverageMap, environment
from .mutants import Mutant

NEAREST = 60  # tests of the first round: most mutants go no further


@dataclass(frozen=True)
class Outcome:
    """What is known of a mutant."""

    verdict: str  # "noticed by make test", "noticed by make test-all alone", "survived", ...
    by: str  # the first test that failed
    tests: int
    thorough_tests: int
    seconds: float


class Trials:
    """Mutants tried by one or two processes, in rounds, until all are done or time is over."""

    def __init__(self, root: Path, covered: CoverageMap, workers: int, minutes: float) -> None:
        self.root = root
        self.covered = covered
        self.workers = workers
        self.until = time.monotonic() + 60 * minutes
        # Bytecode is taken for current by the time of its source, in whole seconds.
        self.times = count(int(time.time()))
        self.breadth = Counter(
            test
            for by_line in covered.lines.values()
            for tests in by_line.values()
            for test in tests
        )

    def run(self, mutants: Sequence[Mutant], report: Callable[[Mutant, Outcome], None]) -> None:
        """All mutants in the first round, and in the next those that no test has noticed."""
        rounds = {mutant: self._rounds(mutant) for mutant in mutants}
        outcomes = {mutant: self._untried(mutant) for mutant in mutants}
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(self.workers) as pool:
            copies: SimpleQueue[Path] = SimpleQueue()
            for number in range(self.workers):
                copies.put(self._copy(Path(folder) / str(number)))

            def one(mutant: Mutant, suite: str, tests: list[str], last: bool) -> None:
                copy = copies.get()
                try:
                    outcome = self._try(mutant, copy, outcomes[mutant], suite, tests, last)
                finally:
                    copies.put(copy)
                outcomes[mutant] = outcome

            for number, last in enumerate((False, False, False, True)):
                left = {}
                for mutant in mutants:
                    if not outcomes[mutant].by:
                        suite, tests = rounds[mutant][number]
                        left[pool.submit(one, mutant, suite, tests, last)] = mutant
                for done in as_completed(left):
                    done.result()
                    report(left[done], outcomes[left[done]])

    def _rounds(self, mutant: Mutant) -> list[tuple[str, list[str]]]:
        """The tests of its line, those first that are most likely to notice.

        A test that executes few lines is about this one more than others are; and one case of a
        test mostly fails with the others.
        """
        tests = self.covered.covering(mutant.path, mutant.lines)
        some = {test for test in tests if not self.covered.tests[test].thorough}
        nearest = sorted(some, key=lambda test: (self.breadth[test], test))[:NEAREST]
        rest = self._in_order(some.difference(nearest))
        one_of_each = list({test.partition("[")[0]: test for test in reversed(rest)}.values())[::-1]
        others = [test for test in rest if test not in set(one_of_each)]
        noticed = "noticed by make test"
        return [
            *((noticed, stage) for stage in (nearest, one_of_each, others)),
            (f"{noticed}-all alone", self._in_order(tests - some)),
        ]

    def _untried(self, mutant: Mutant) -> Outcome:
        tests = self.covered.covering(mutant.path, mutant.lines)
        thorough = sum(self.covered.tests[test].thorough for test in tests)
        return Outcome("not tried", "", len(tests) - thorough, thorough, 0.0)

    def _try(
        self,
        mutant: Mutant,
        copy: Path,
        before: Outcome,
        suite: str,
        tests: list[str],
        last: bool,
    ) -> Outcome:
        """One round of one mutant."""
        started = time.monotonic()
        if started > self.until:
            return before
        by = self._first_failure(mutant, copy, tests)
        if by:
            verdict = suite
        elif last:
            verdict = "survived"
        else:
            verdict = "survived so far"
        seconds = before.seconds + time.monotonic() - started
        return replace(before, verdict=verdict, by=by, seconds=seconds)

    def _copy(self, target: Path) -> Path:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.root / name, target / name)
        return target

    def _in_order(self, tests: Iterable[str]) -> list[str]:
        """File by file, as they came when all ran: fixtures of a module are made once."""
        wanted = set(tests)
        order = [test for test in self.covered.tests if test in wanted]
        return sorted(order, key=_file)

    def _first_failure(self, mutant: Mutant, copy: Path, tests: list[str]) -> str:
        """The first test that fails with the mutant and passes without it, if there is one."""
        file = copy / mutant.path
        source = file.read_bytes()
        while tests:
            self._write(file, mutant.applied(source))
            failed = self._pytest(copy, tests)
            self._write(file, source)
            if not failed or not self._pytest(copy, [failed] if failed in tests else tests):
                return failed
            # It fails here without the mutant too: the machine is busy, or a copy is not the tree.
            tests = [test for test in tests if test != failed] if failed in tests else []
        return ""

    def _write(self, file: Path, source: bytes) -> None:
        file.write_bytes(source)
        moment = next(self.times)
        os.utime(file, (moment, moment))

    def _pytest(self, copy: Path, tests: list[str]) -> str:
        """The first failing test, or what else went wrong; empty where all pass."""
        listed = copy.with_suffix(".json")
        failed = copy.with_suffix(".failed")
        failed.unlink(missing_ok=True)
        seconds = {test: self.covered.tests[test].seconds for test in tests}
        listed.write_text(json.dumps([[test, 20 + 10 * seconds[test]] for test in tests]))
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *("-p", "tools.mutation.pytest_plugin", "--listed", str(listed)),
            *dict.fromkeys(map(_file, tests)),
        ]
        code = _run(command, copy, limit=120 + 4 * sum(seconds.values()))
        if failed.exists():
            return failed.read_text()
        return "" if code == 0 else f"pytest ended with {code}"


def _file(test: str) -> str:
    return test.partition("::")[0]


def _run(command: list[str], folder: Path, limit: float) -> int | str:
    """The exit status, or that it took too long; with all processes it has started."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return "its time"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
