"""Regularised least-squares classification with nothing set: what it chose and what it reached."""

import time
from dataclasses import dataclass
from typing import Any

from experiments.data import Rows
from experiments.measure import per_cent_wrong, timed_fit
from squareone import RLSClassifier


@dataclass(frozen=True)
class Judged:
    """Figures of one fit. Errors are in per cent; the seconds are those of :func:`judge`."""

    sigma: float
    alpha: float
    seconds: float
    test_error: float
    loo_error: float
    planned_bytes: float


def judge(train: Rows, test: Rows, **parameters: Any) -> Judged:
    """Fit to more than two classes; only figures survive, so that the factor is released.

    The seconds are until leave-one-out predictions and probabilities are there as well.
    """
    warm_up(train)
    model, seconds = timed_fit(RLSClassifier(**parameters), train)
    start = time.perf_counter()
    left_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
    model.predict_proba(test.X[:1])
    seconds += time.perf_counter() - start
    return Judged(
        sigma=model.kernel_.sigma,
        alpha=model.alpha_,
        seconds=seconds,
        test_error=per_cent_wrong(model.predict(test.X), test.y),
        loo_error=per_cent_wrong(left_out, train.y),
        planned_bytes=model.plan_.chosen.bytes,
    )


def warm_up(train: Rows) -> None:
    """Fit a few rows: libraries start their threads and allocate their buffers once."""
    few = train.sample(200)
    RLSClassifier().fit(few.X, few.y)
