"""From the parameters of an estimator and what came with them to the request of a fit, checked."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import check_random_state

from ..arrays import Array
from ..centers import Selector
from ..devices import HOST, Place, open_place
from ..devices.place import place_of_array
from ..fitting.learned_kernel import check_rows, check_solver
from ..fitting.request import FitRequest, KernelSearch, RequestedCenters, selector_of
from ..fitting.scoring import held_out_scorer
from ..kernels import Kernel, Linear
from ..kernels.names import is_precomputed, kernel_from
from ..rows.checks import is_dask
from ..selection import (
    Folds,
    GeneralisedCrossValidation,
    LeaveOneOut,
    MarginalLikelihood,
    folds_from_splits,
)
from ..selection.alpha_grid import check_alpha
from ..selection.criteria import Criterion, Fold
from ..solvers.registry import SOLVERS, listed, takes_centers
from ..targets import Labels
from .array_libraries import as_numpy
from .validation import FitData, read

CRITERIA = ("loo", "gcv", "holdout", "marginal_likelihood")
#: Criteria that leave no rows out.
WITHOUT_ROWS = ("gcv", "marginal_likelihood")
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
    came = read(estimator, X, y, sample_weight, given=is_precomputed(asked.kernel))
    if asked.search is not None:
        check_rows(came.X, came.kept.size, asked.search)
    return _request_for(estimator, came, asked, selector, groups)


def copy_for_plan(estimator: Any) -> Any:
    """An estimator with the same parameters, of which a plan can use up what there is to draw."""
    if hasattr(estimator.cv, "__next__"):
        msg = "cv is a generator, which plan would use up: pass list(cv)"
        raise ValueError(msg)
    parameters = estimator.get_params(deep=False)
    parameters["random_state"] = deepcopy(estimator.random_state)
    return type(estimator)(**parameters)


def _checked_parameters(estimator: Any, X: Any, groups: Any) -> CheckedParameters:
    """The parameters, checked before the rows are: these may be many."""
    if not get_config()["skip_parameter_validation"]:
        estimator._validate_params()
    alpha = check_alpha(estimator.alpha)
    search = estimator._kernel_search()
    if search is None:
        kernel = kernel_from(estimator.kernel)
    else:
        check_solver(estimator.solver)
        kernel = search.stand_in
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
    kept = came.kept
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
    folds = asked_folds(estimator, came, groups, rng)
    return Folds(folds, "holdout" if estimator.cv is None else "cv")


def asked_folds(
    estimator: Any, came: FitData, groups: Any, rng: np.random.RandomState
) -> list[Fold]:
    """The folds of ``cv``, or where it is None the one part of ``criterion="holdout"``."""
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

    X, y, targets = came.X, came.y, came.targets
    classes = isinstance(targets, Labels) and not targets.multilabel
    if estimator.cv is None:
        splitter = StratifiedShuffleSplit if classes else ShuffleSplit
        cv = splitter(1, test_size=estimator.validation_fraction, random_state=rng)
    else:
        cv = check_cv(estimator.cv, y, classifier=classes)
    groups = None if groups is None else np.asarray(groups)
    return folds_from_splits(cv.split(X, y, groups), came.kept, X.shape[0])


# --- parameters that exclude each other ---


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
    if estimator.centers is not None or takes_centers(estimator.solver):
        check_formula(kernel)
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
    check_choice_of_alpha(estimator, groups)


def check_formula(kernel: Kernel) -> None:
    """Refuse centers for a kernel matrix that the user brings."""
    if not kernel.has_formula:
        msg = (
            f"centers need a kernel that can be evaluated on rows, got {kernel!r}: use "
            "centers=None, or give rows and another kernel"
        )
        raise ValueError(msg)


def check_choice_of_alpha(estimator: Any, groups: Any) -> None:
    """Refuse two answers to how alpha is chosen, and groups that nothing asks for."""
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
