"""Support vector machines: a path with certificates, its leave-one-out errors, against LIBSVM.

Rows are those of satimage and the digits where ``SQUAREONE_DATA`` names a folder that has them;
otherwise ``hinge-path-satimage`` and ``hinge-automatic`` have made-up ones.
"""

import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.case import Case, Contest, Outcome, Scale, timed
from benchmarks.data import Data
from benchmarks.measure import Contestant, Interleaved, fitting, interleaved

ROWS, ALL_C = 4000, np.logspace(-2, 3, 20)
SETS = ("optdigits", "satimage", "pendigits", "usps")


@cache
def _published(name: str) -> tuple[Data, Data] | None:
    file = Path(os.environ.get("SQUAREONE_DATA", "")) / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as found:
        train, test = (Data(found[f"X_{part}"], found[f"y_{part}"]) for part in ("train", "test"))
    scaler = StandardScaler().fit(train.X)
    return (
        Data(scaler.transform(train.X).astype(float), train.y),
        Data(scaler.transform(test.X).astype(float), test.y),
    )


def _satimage(scale: Scale) -> tuple[NDArray, NDArray, float]:
    """Class 7 against the rest, and a width."""
    found = _published("satimage")
    if found is None:
        return _noisy(scale)
    rows = np.random.default_rng(0).permutation(len(found[0].y))[: scale.rows(ROWS)]
    return found[0].X[rows], (found[0].y[rows] == 7).astype(int), 3.0


def _noisy(scale: Scale, n: int = ROWS) -> tuple[NDArray, NDArray, float]:
    """Two classes with a tenth of the labels flipped."""
    X, y = make_classification(
        scale.rows(n), 20, n_informative=8, flip_y=0.1, class_sep=0.8, random_state=0
    )
    return X, y, 5.0


def _grid(sigma: float) -> GridSearchCV:
    return GridSearchCV(SVC(gamma=0.5 / sigma**2), {"C": ALL_C}, cv=5, n_jobs=2)


def _machine(loss: str, sigma: float, C: Any = ALL_C, **more: Any) -> Any:
    from squareone import SVMClassifier
    from squareone.kernels import Gaussian

    return SVMClassifier(Gaussian(sigma), C=C, loss=loss, calibration=None, **more)


def _path(made: Any, loss: str, scale: Scale) -> Outcome:
    """The kernel matrix and the path beside the search; exact values at three C are a note."""
    X, y, sigma = made(scale)
    fits: list[dict[str, Any]] = []  # of the warm-up, too

    def keep(fitted: Any) -> None:
        found = {
            **fitted.plan_.stages,
            "gap": float(fitted.path_["gap"].max()),
            "undecided": fitted.undecided_rows_.size / len(y),
        }
        found["all of the path"] = found["kernel matrix"] + found["path"]
        fits.append(found)

    grid = _grid(sigma)
    ours = Contestant(lambda: _machine(loss, sigma).fit(X, y), tuple, keep)
    peer = Contestant(lambda search: search.fit(X, y), lambda: (clone(grid),))
    times = interleaved(ours, peer, scale.repeats or 1)
    counted = fits[1:]
    paths = [found["all of the path"] for found in counted]
    ratios = [path / seconds for path, seconds in zip(paths, times.yardstick.seconds, strict=True)]
    exact = np.median([found["leave-one-out"] for found in counted]) / np.median(paths)
    last = counted[-1]
    return Outcome(
        float(np.median(paths)) / times.yardstick.median,
        (min(ratios), max(ratios)),
        f"with exact leave-one-out at three C: {times.ours.median / times.yardstick.median:.2f}, "
        f"which takes {exact:.2f} times the path; largest gap {last['gap']:.1g}; undecided "
        f"{100 * last['undecided']:.2g} %",
        {"seconds": {"path": paths, "fit": times.ours.seconds, "peer": times.yardstick.seconds}},
    )


def _one_c(scale: Scale) -> Contest:
    X, y, sigma = _noisy(scale, 10_000)
    ours = fitting(_machine("hinge", sigma, 1.0, fit_intercept=True), X, y, "gap_", "plan_")
    peer = fitting(SVC(C=1.0, gamma=0.5 / sigma**2), X, y)

    def remark(times: Interleaved) -> str:
        found = times.ours.summary
        seconds = ", ".join(f"{name} {s:.1f} s" for name, s in found["plan_"].stages.items())
        return f"gap {found['gap_']:.1g}; {seconds}"

    return Contest(ours, peer, remark=remark)


def _automatic(scale: Scale) -> Outcome:
    """Everything chosen, once for each set: seconds over those of RLSClassifier, and errors."""
    from squareone import RLSClassifier, SVMClassifier

    ratios, notes, no_worse = [], [], 0
    for name in SETS:
        found = _published(name)
        if found is None:
            continue
        train, test = found
        rows = np.random.default_rng(0).permutation(len(train.y))[: scale.rows(len(train.y))]
        X, y = train.X[rows], train.y[rows]
        seconds, errors = [], []
        gamma = np.array([0.1, 1.0, 10.0]) / X.shape[1]
        grid = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": gamma}, cv=3, n_jobs=2)
        for model in (SVMClassifier(), RLSClassifier(), grid):
            start = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
            errors.append(100.0 * (1.0 - model.score(test.X, test.y)))
        ratios.append(seconds[0] / seconds[1])
        no_worse += errors[0] <= errors[2]
        notes.append(
            f"{name}: {ratios[-1]:.1f} times, errors {errors[0]:.2f} (RLSC {errors[1]:.2f}, "
            f"SVC {errors[2]:.2f}) %"
        )
    if not ratios:
        raise FileNotFoundError("SQUAREONE_DATA names no folder with optdigits.npz")
    notes.append(f"no worse than SVC on {no_worse} of {len(ratios)}")
    return Outcome(max(ratios), (min(ratios), max(ratios)), "; ".join(notes))


def _path_case(name: str, made: Any, what: str, loss: str, target: float) -> Case:
    return Case(
        f"hinge-{name}",
        f"{loss}: 20 C with gaps and estimated leave-one-out errors, {what}",
        "GridSearchCV(SVC), the same 20 C, five folds, two processes",
        target,
        "at most",
        lambda scale: _path(made, loss, scale),
    )


CASES: list[Case] = [
    _path_case("satimage", _satimage, "satimage 7 or not, n = 4,000", "hinge", 1.5),
    _path_case("satimage-squared", _satimage, "satimage 7 or not, n = 4,000", "squared_hinge", 1.0),
    _path_case("noisy", _noisy, "noisy, n = 4,000", "hinge", 1.5),
    _path_case("noisy-squared", _noisy, "noisy, n = 4,000", "squared_hinge", 1.0),
    timed(
        "hinge-one-c",
        _one_c,
        what="one C, n = 10,000, relative gap at most 1e-3",
        against="SVC at its default tolerance",
        target=3.0,
        repeats=1,
    ),
    Case(
        "hinge-automatic",
        "SVMClassifier() on optdigits, satimage, pendigits, USPS: the largest ratio",
        "RLSClassifier() on the same",
        3.0,
        "at most",
        _automatic,
    ),
]
