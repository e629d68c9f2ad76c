"""Seconds of a fit, and errors in per cent."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import Rows


def timed_fit(estimator: Any, rows: Rows) -> tuple[Any, float]:
    """Return the fitted estimator, of whatever kind, and the seconds it took."""
    start = time.perf_counter()
    estimator.fit(rows.X, rows.y)
    return estimator, time.perf_counter() - start


def per_cent_wrong(predicted: NDArray, true: NDArray) -> float:
    """Return the rate of wrong classes."""
    return 100 * float(np.mean(predicted != true))
