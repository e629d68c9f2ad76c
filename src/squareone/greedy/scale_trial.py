"""What a greedy fit with few centers makes of rows: how much it would gain by other units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..fitting.progress import Progress
from ..kernels import Kernel
from ..kernels.widths import with_width
from ..targets import Responses
from .fit_task import GreedyTask
from .parameter_search import SEARCH_COLUMNS, choose

#: Rows of a trial, and its centers at most: a path of them takes milliseconds.
SPARSE_TRIED, _CENTERS = 200, 30


def sparse_trial(estimator: Any) -> Callable[[Kernel, Any, Array], float]:
    """The least mean square held-out error of small fits, over widths, as a function.

    Of a kernel, rows X (n, d) and target columns (n, t). The exact fit is no judge of a sparse one:
    with a λ near nothing it reads a small feature off the last digits of all rows, which a few
    centers cannot.
    """
    most = min(estimator.max_centers or _CENTERS, _CENTERS)
    small = clone(estimator).set_params(max_centers=most, random_state=0, verbose=0)
    if estimator.stopping == "validation":  # which takes rows away from few
        small.set_params(stopping="gcv")

    def least_error(kernel: Kernel, X: Any, columns: Array) -> float:
        own = columns if estimator.shared_centers else columns[:, :SEARCH_COLUMNS]
        small.n_features_in_ = X.shape[1]
        free, everything = with_width(kernel, "sigma", "auto"), np.arange(X.shape[0])
        task = GreedyTask.of(small, [free], X, own, None, Responses(False), everything)
        _, _, looks = choose(task, Progress())
        return min((look.error for look in looks), default=0.0)

    return least_error
