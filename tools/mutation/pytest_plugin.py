"""A pytest plugin: keeps what became of each test, and runs tests from a list in its order.

``--record FILE`` writes every test with its seconds, and whether it passed and how it is marked.
``--listed FILE`` runs the tests of a list and no others, each within the seconds that stand beside
it, and writes the name of the first that fails into FILE with the suffix ``.failed``.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    parser.addoption("--record", type=Path, metavar="FILE")
    parser.addoption("--listed", type=Path, metavar="FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Register what was asked for; records are written by the process that gathers the workers."""
    if config.option.record and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Record(config.option.record))
    if config.option.listed:
        config.pluginmanager.register(_Listed(config.option.listed))


class _Record:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests.setdefault(
            report.nodeid,
            {
                "seconds": 0.0,
                "passed": True,
                "thorough": "thorough" in report.keywords,
                "exhaustive": "exhaustive" in report.keywords,
            },
        )
        test["seconds"] += report.duration
        test["passed"] &= report.outcome != "failed"

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.tests, indent=0))


class _Listed:
    def __init__(self, path: Path) -> None:
        self.limits: dict[str, float] = dict(json.loads(path.read_text()))
        self.failed = path.with_suffix(".failed")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.limits if test in found]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        # An endless loop is a failure as well.
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, self.limits[item.nodeid])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed.exists():
            self.failed.write_text(report.nodeid)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("the test takes much longer than without the mutant")
