"""Probabilities from the leave-one-out values of one fit against cross-validated calibration.

``python -m experiments.calibration``
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from experiments.data import Rows, Split, load_split
from experiments.measure import timed_fit
from experiments.report import Report, parser
from experiments.rlsc import warm_up
from squareone import RLSClassifier
from squareone.models import CALIBRATIONS, fit_calibration

SETS = ("usps", "letter", "optdigits", "pendigits", "satimage")
DEFAULT = "temperature"
THEIRS = ("sigmoid", "isotonic")
FOLDS = 5
BINS = 15
RESAMPLES = 100
HEADER = (
    "set",
    "training rows",
    "fit",
    "calibration",
    "log loss",
    "to reach",
    "calibration error",
    "to reach",
    "seconds of calibration",
)
NOTES = f"""\
`RLSClassifier()` with nothing set is fitted once (**fit**). Our calibrations are fitted to its
leave-one-out values; the others are `CalibratedClassifierCV(model, method=…, cv={FOLDS})` on a
model with the σ and λ of that fit, so that only the calibration differs. All are judged on the test
part.
**log loss** is natural, with probabilities kept 2.2e-16 away from 0 and 1. **calibration error** is
the expected calibration error in per cent: the rows are sorted by the probability of their most
probable class and divided into {BINS} bins of equally many; the mean of that probability and the
share of rows where the class is right differ in each bin, and the differences are averaged.
**to reach**, for the default, is what `CalibratedClassifierCV(model, cv={FOLDS})` reaches as it
comes, with a sigmoid; **equal** means worse by less than two standard errors of the difference,
over {RESAMPLES} draws of the test rows with replacement.
**seconds of calibration** are those beyond the fit for ours, and those of {FOLDS} fits and their
calibrations for the others."""
QUICK_ROWS = 400


class Calibrated(NamedTuple):
    """Probabilities of the test rows (m, k), and the seconds it took to calibrate them."""

    name: str
    probabilities: NDArray
    seconds: float


class Figures(NamedTuple):
    """Log loss, and calibration error in per cent."""

    log_loss: float
    error: float

    def judged(self, other: "Figures", noise: "Figures") -> tuple[str, str]:
        """Whether each is no more than the other, or by less than twice the noise of that."""
        verdicts = []
        for mine, limit, s in zip(self, other, noise, strict=True):
            verdict = "yes" if mine <= limit else "equal" if mine <= limit + 2 * s else "no"
            verdicts.append(f"≤ {limit:.4g}: {verdict}")
        return verdicts[0], verdicts[1]


def main() -> None:
    arguments = parser(__doc__, SETS)
    arguments.add_argument(
        "--rows", type=int, help="at most so many training rows, drawn at random"
    )
    options = arguments.parse_args()
    report = Report(
        "calibration",
        "Calibration",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(SETS) or options.rows is not None,
    )
    for name in options.only:
        _compare(name, _load(name, options.rows, options.quick), report)


def _load(name: str, rows: int | None, quick: bool) -> Split:
    split = load_split(name)
    if quick:
        return Split(*(part.sample(QUICK_ROWS) for part in split))
    return Split(split.train.sample(rows), split.test) if rows else split


def _compare(name: str, split: Split, report: Report) -> None:
    train, test = split
    warm_up(train)
    model, seconds = timed_fit(RLSClassifier(), train)
    truth = test.y[:, None] == model.classes_
    theirs = [(c, _judge(c.probabilities, truth)) for c in _theirs(model, train, test)]
    ours = [(c, _judge(c.probabilities, truth)) for c in _ours(model, train, test)]
    _, limits = theirs[0]
    for calibrated, figures in ours + theirs:
        verdicts = ("", "")
        if calibrated.name == DEFAULT and not report.quick:
            noise = _noise(calibrated.probabilities, theirs[0][0].probabilities, truth)
            verdicts = figures.judged(limits, noise)
        report.add(
            name,
            f"{len(train.y):,}",
            f"{seconds:.2f} s",
            calibrated.name,
            f"{figures.log_loss:.4f}",
            verdicts[0],
            f"{figures.error:.2f}",
            verdicts[1],
            f"{calibrated.seconds:.3f}",
        )


def _ours(model: RLSClassifier, train: Rows, test: Rows) -> Iterator[Calibrated]:
    values = model.decision_function(test.X)
    truth = train.y[:, None] == model.classes_
    for method in CALIBRATIONS:
        fit = partial(fit_calibration, method, model.loo_decision_values_, truth, exclusive=True)
        fit()  # what it imports is not part of its time
        start = time.perf_counter()
        calibration = fit()
        seconds = time.perf_counter() - start
        yield Calibrated(method, calibration.probabilities(values), seconds)


def _theirs(model: RLSClassifier, train: Rows, test: Rows) -> Iterator[Calibrated]:
    base = RLSClassifier(model.kernel_, model.alpha_, keep_factor=False)
    for method in THEIRS:
        fitted, seconds = timed_fit(CalibratedClassifierCV(base, method=method, cv=FOLDS), train)
        yield Calibrated(f"{FOLDS} folds, {method}", fitted.predict_proba(test.X), seconds)


def _judge(probabilities: NDArray, truth: NDArray) -> Figures:
    p = probabilities.astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)  # in float32 rows sum to one in fewer digits
    return Figures(log_loss(truth, p), 100 * _calibration_error(p, truth))


def _noise(ours: NDArray, theirs: NDArray, truth: NDArray) -> Figures:
    """Standard errors of both differences, by drawing the test rows again with replacement."""
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(RESAMPLES):
        rows = rng.integers(len(truth), size=len(truth))
        differences.append(
            np.subtract(_judge(ours[rows], truth[rows]), _judge(theirs[rows], truth[rows]))
        )
    return Figures(*np.std(differences, axis=0))


def _calibration_error(p: NDArray, truth: NDArray) -> float:
    top = p.argmax(axis=1)[:, None]
    confidence = np.take_along_axis(p, top, axis=1)[:, 0]
    right = np.take_along_axis(truth, top, axis=1)[:, 0]
    distance = confidence - right
    bins = np.array_split(np.argsort(confidence, kind="stable"), BINS)
    return sum(abs(distance[rows].sum()) for rows in bins) / len(p)


if __name__ == "__main__":
    main()
