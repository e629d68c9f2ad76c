"""From the parameters of an estimator and what came with them to the request of a fit, checked."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state

from ..arrays import Array
from ..centers import Selector
from ..devices import Place, open_place
from ..devices.tensors import place_of_array
from ..fitting.learned_kernel import check_rows, check_solver, stand_in
from ..fitting.request import FitRequest, KernelSearch, RequestedCenters, selector_of
from ..fitting.scoring import held_out_scorer
from ..kernels import Kernel
from ..kernels.names import kernel_from
from ..selection import (
    Folds,
    GeneralisedCrossValidation,
    LeaveOneOut,
    MarginalLikelihood,
    folds_from_splits,
)
from ..selection.criteria import Criterion
from ..targets import Labels
from . import validation
from .array_libraries import as_numpy
from .fit_data import FitData, read
from .parameter_validation import check_consistency, check_place

#: Iterations where ``max_iter`` says nothing.
MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class CheckedParameters:
    """Parameters of a fit that are not only passed on.

    Attributes
    ----------
    alpha : float, array or "auto"
    kernel : Kernel
        Where one is to be chosen, it only stands for its cost.
    search : KernelSearch or None
    place : Place
        Where kernel matrices are made.
    place_note : str
        What there is to say about that.
    """

    alpha: float | Array | str
    kernel: Kernel
    search: KernelSearch | None
    place: Place
    place_note: str


def checked_request(estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> FitRequest:
    """Everything that came, checked; nothing large is allocated."""
    asked = _checked_parameters(estimator, X, groups)
    X, y, sample_weight, groups = (
        as_numpy(came, name)
        for came, name in (
            (X, "X"),
            (y, "y"),
            (sample_weight, "sample_weight"),
            (groups, "groups"),
        )
    )
    check_place(estimator, asked.place, asked.kernel, X)
    selector = selector_of(estimator.centers, estimator.solver)
    came = read(estimator, X, y, sample_weight, given=validation.is_precomputed(asked.kernel))
    if asked.search is not None:
        check_rows(came.X, came.kept.size, asked.search)
    return _request_for(estimator, came, asked, selector, groups)


def _checked_parameters(estimator: Any, X: Any, groups: Any) -> CheckedParameters:
    """The parameters, checked before the rows are: these may be many."""
    if not get_config()["skip_parameter_validation"]:
        estimator._validate_params()
    alpha = validation.check_alpha(estimator.alpha)
    search = estimator._kernel_search()
    if search is None:
        kernel = kernel_from(estimator.kernel)
    else:
        check_solver(estimator.solver)
        kernel = stand_in(search)
    kernel.check_parameters()
    check_consistency(estimator, kernel, groups)
    place, note = open_place(estimator.device)
    if estimator.device is None:
        place = place_of_array(X)
    return CheckedParameters(alpha, kernel, search, place, note)


def _request_for(
    estimator: Any, came: FitData, asked: CheckedParameters, selector: Selector | None, groups: Any
) -> FitRequest:
    """The request of a fit to data and parameters that have been checked."""
    kept, user_weights = came.kept, came.user_weights
    rng = check_random_state(0 if estimator.random_state is None else estimator.random_state)
    # centers are the same whatever else is drawn
    centers_seed = int(deepcopy(rng).randint(2**31 - 1))
    more = estimator._more_of_request()
    criterion = _criterion(estimator, came, groups, rng, asked.alpha, more.get("scale"))
    per_target = estimator.alpha_per_target and came.columns.shape[1] > 1
    scorer = held_out_scorer(
        estimator.scoring,
        came.y[kept],
        came.targets,
        None if user_weights is None else user_weights[kept],
        per_target=per_target,
    )
    return FitRequest(
        X=came.X,
        targets=came.targets,
        columns=came.columns,
        weights=came.weights,
        user_weights=user_weights,
        class_weights=came.class_weights,
        kept=kept,
        kernel=asked.kernel,
        alpha=asked.alpha,
        criterion=criterion,
        scorer=scorer,
        per_target=per_target,
        intercept=estimator.fit_intercept,
        solver=estimator.solver,
        centers=RequestedCenters.of(
            estimator.centers,
            selector,
            kept.size,
            estimator.solver,
            estimator.loo_rows,
            estimator.time_limit,
        ),
        memory_limit=estimator.memory_limit,
        keep_factor=bool(estimator.keep_factor),
        rng=rng,
        centers_seed=centers_seed,
        tolerance=float(estimator.tol),
        most_iterations=MOST_ITERATIONS if estimator.max_iter is None else int(estimator.max_iter),
        checkpoint=estimator.checkpoint,
        search=asked.search,
        place=asked.place,
        place_note=asked.place_note,
        **more,
    )


def _criterion(
    estimator: Any,
    came: FitData,
    groups: Any,
    rng: np.random.RandomState,
    alpha: float | Array | str,
    scale: float | None,
) -> Criterion:
    """How λ is chosen, from ``criterion``, ``cv`` and ``validation_fraction``."""
    X, y, targets, kept = came.X, came.y, came.targets, came.kept
    if estimator.cv is None and estimator.criterion != "holdout":
        if kept.size < 2 and not isinstance(alpha, float):
            msg = (
                f"criterion={estimator.criterion!r} needs at least two rows of positive weight to "
                f"choose alpha, got n_samples = {kept.size}: give a number for alpha"
            )
            raise ValueError(msg)
        if estimator.criterion == "marginal_likelihood":
            return MarginalLikelihood(scale)
        return LeaveOneOut() if estimator.criterion == "loo" else GeneralisedCrossValidation()
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

    n = X.shape[0]
    classes = isinstance(targets, Labels) and not targets.multilabel
    if estimator.cv is None:
        splitter = StratifiedShuffleSplit if classes else ShuffleSplit
        cv = splitter(1, test_size=estimator.validation_fraction, random_state=rng)
        return Folds(folds_from_splits(cv.split(X, y), kept, n), "holdout")
    cv = check_cv(estimator.cv, y, classifier=classes)
    if groups is not None:
        groups = np.asarray(groups)
    return Folds(folds_from_splits(cv.split(X, y, groups), kept, n))
