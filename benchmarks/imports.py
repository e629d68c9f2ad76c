"""The import, against that of scikit-learn's own ridge regression, and the help of the commands."""

import subprocess
import sys

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.measure import Contestant


def _fresh(*arguments: str) -> Contestant:
    """Run Python in a new process; the start of the interpreter is in all times."""
    command = [sys.executable, *arguments]
    run = {"check": True, "stdout": subprocess.DEVNULL}
    return Contestant(lambda: subprocess.run(command, **run))


def _import(_: Scale) -> Contest:
    mine = _fresh("-c", "from squareone import RLSRegressor")
    return Contest(mine, _fresh("-c", "import sklearn.linear_model"))


def _help(_: Scale) -> Contest:
    return Contest(_fresh("-m", "squareone", "--help"), _fresh("-c", "import numpy"))


CASES: list[Case] = [
    timed(
        "import",
        _import,
        what="from squareone import RLSRegressor, in a fresh process",
        against="import sklearn.linear_model",
        target=1.3,
        repeats=9,
    ),
    timed(
        "help",
        _help,
        what="squareone --help, in a fresh process",
        against="import numpy",
        target=1.0,
        repeats=9,
    ),
]
