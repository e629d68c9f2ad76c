"""A run of benchmarks that is stopped keeps what it has measured."""

import json

import pytest

from benchmarks import report
from benchmarks.case import Case, Outcome


def stopped(scale):
    raise KeyboardInterrupt


def test_a_stopped_run_keeps_its_cases(monkeypatch, tmp_path):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the import sets them, too
    from benchmarks import run

    first = Case("first", "work", "itself", 2.0, "at most", lambda scale: Outcome(1.5))
    second = Case("second", "work", "itself", None, "at most", stopped)
    monkeypatch.setattr(run, "CASES", [first, second])
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run.main([])
    kept = json.loads((tmp_path / "latest.json").read_text())["cases"]
    assert [(case["name"], case["ratio"], case["met"]) for case in kept] == [("first", 1.5, True)]
    assert "`first`" in (tmp_path / "latest.md").read_text()
