"""The import, against that of the scikit-learn module everyone with ridge regression imports."""

import subprocess
import sys

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.measure import Contestant


def _fresh_import(module: str) -> Contestant:
    """Import in a new process; the start of the interpreter is in both times."""
    command = [sys.executable, "-c", f"import {module}"]
    return Contestant(lambda: subprocess.run(command, check=True))


def _import(_: Scale) -> Contest:
    return Contest(_fresh_import("squareone"), _fresh_import("sklearn.linear_model"))


CASES: list[Case] = [
    timed(
        "import",
        _import,
        what="import squareone, in a fresh process",
        against="import sklearn.linear_model",
        target=1.3,
        repeats=9,
    )
]
