"""Parameters of RLSRegressor and RLSClassifier that exclude each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..devices import HOST, Place
from ..kernels import Kernel, Linear
from ..rows.checks import is_dask
from ..solvers.registry import SOLVERS, listed, takes_centers

CRITERIA = ("loo", "gcv", "holdout", "marginal_likelihood")
#: Criteria that leave no rows out.
WITHOUT_ROWS = ("gcv", "marginal_likelihood")


def check_consistency(estimator: Any, kernel: Kernel, groups: Any) -> None:
    """Refuse parameters that do not fit together, before any work."""
    solver = SOLVERS.get(estimator.solver)
    shape = np.shape(estimator.centers)
    centers = f"an array of shape {shape}" if shape else repr(estimator.centers)
    if estimator.centers is not None and solver and not solver.with_centers:
        msg = (
            f'solver="{estimator.solver}" has all rows as centers, and centers={centers} was '
            f"given: use solver={listed(lambda s: s.with_centers, 'auto')}"
        )
        raise ValueError(msg)
    few_centers = estimator.centers is not None or takes_centers(estimator.solver)
    if few_centers and not kernel.has_formula:
        msg = (
            f"centers need a kernel that can be evaluated on rows, got {kernel!r}: use "
            "centers=None, or give rows and another kernel"
        )
        raise ValueError(msg)
    if estimator.checkpoint is not None and solver and not solver.checkpoints:
        msg = (
            f'solver="{estimator.solver}" has no state to be kept on its way: checkpoint is for '
            f"solver={listed(lambda s: s.checkpoints, last='and')}"
        )
        raise ValueError(msg)
    if estimator.time_limit is not None and not isinstance(estimator.centers, str):
        msg = (
            f'time_limit={estimator.time_limit!r} is for centers="auto", which chooses how many '
            f"there is time for; centers={centers} leaves nothing to choose"
        )
        raise ValueError(msg)
    if solver and solver.needs_linear and not isinstance(kernel, Linear):
        named = isinstance(estimator.kernel, str) and estimator.kernel != "auto"
        asked = kernel if named else estimator.kernel
        msg = (
            f'solver="{estimator.solver}" works with features and needs kernel="linear", got '
            f"{asked!r}. Use {listed(lambda s: s.works_on == 'kernel matrix', 'auto')}"
        )
        raise ValueError(msg)
    without_rows = estimator.criterion in WITHOUT_ROWS
    if estimator.scoring is not None and estimator.cv is None and without_rows:
        msg = (
            f'criterion="{estimator.criterion}" holds no rows out, so there is nothing for '
            f'scoring={estimator.scoring!r} to score: use criterion="loo", "holdout" or cv'
        )
        raise ValueError(msg)
    if estimator.cv is not None and estimator.criterion != "loo":
        msg = (
            f"cv={estimator.cv!r} and criterion={estimator.criterion!r} both say how alpha is "
            "chosen: set one of them"
        )
        raise ValueError(msg)
    if groups is not None and estimator.cv is None:
        msg = "groups were given, but cv is None: pass a splitter such as GroupKFold() as cv"
        raise ValueError(msg)


def check_place(estimator: Any, place: Place, kernel: Kernel, X: Any) -> None:
    """Refuse what is not worked on anywhere but in the machine's memory."""
    if place is HOST:
        return
    if issparse(X):
        msg = (
            f"X is a sparse matrix, and on {place.name} rows are dense: leave device=None, or pass "
            "X.toarray()"
        )
        raise TypeError(msg)
    if is_dask(X):
        msg = (
            f"X is a collection of Dask, and device asks for {place.name}, which is here: leave "
            "device=None, or pass X.compute()"
        )
        raise TypeError(msg)
    if not kernel.fills_anywhere:
        msg = (
            f"{kernel} is written for NumPy's arrays, its fills_anywhere is False, and device asks "
            f"for {place.name}: leave device=None, or write fill with squareone.devices.namespace"
        )
        raise TypeError(msg)
