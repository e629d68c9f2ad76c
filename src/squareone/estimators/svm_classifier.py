"""SVMClassifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..arrays import Array
from ..centers import Selector
from ..fitting.class_probabilities import chosen_threshold
from ..fitting.feature_scales import warn_of_scales
from ..fitting.learned_kernel import check_rows, with_chosen_kernel
from ..fitting.problem import Problem
from ..fitting.progress import Progress, fit_progress
from ..fitting.request import KernelSearch, RequestedCenters, selector_of
from ..fitting.scoring import held_out_scorer
from ..hinge.certified_errors import error_interval, error_share
from ..hinge.svm_fit import fit_svm
from ..hinge.svm_plan import SVMPlan
from ..hinge.svm_record import SVMRecord
from ..hinge.svm_task import Fold, SVMTask
from ..kernels import Kernel, Precomputed
from ..kernels.names import BY_NAME, kernel_from
from ..kernels.widths import free_width, with_width
from ..models import KernelExpansion
from ..models.probabilities import CALIBRATIONS
from ..persistence import Fields
from ..rows.checks import in_memory
from ..rows.stream_views import kept_rows
from ..selection.alpha_grid import check_alpha
from ..selection.threshold import check_threshold, is_metric
from ..targets import CODINGS, Coding, Labels
from . import calibrated_classifier as calibrated
from .classifier import RLSClassifier
from .fit_request import asked_folds, check_choice_of_alpha, check_formula, copy_for_plan
from .fitted_attributes import FromResult
from .fitted_estimator import set_callbacks
from .mixins import ClassificationMixin
from .validation import FitData, read

# Folds in place of leaving out every row.
_SPARE_FOLDS = 5


def _no_centers(problem: Problem) -> NoReturn:
    """Where every row is a center, nothing is fitted with fewer of them."""
    raise AssertionError(problem)


class SVMClassifier(ClassificationMixin):
    """Support vector machine: every C, with its duality gap, and the exact leave-one-out error.

    With signs yᵢ = ±1 for each column of classes, ::

        minimise Σ wᵢ ℓ(yᵢ f(xᵢ)) + λ‖f‖²,    ℓ(m) = (1 − m)₊ or (1 − m)₊²

    by Newton's method, whose steps are regularised least squares on the rows that are on the margin
    (hinge) or inside of it (squared hinge). λ is chosen by the leave-one-out error: estimated for
    every λ, exact for the best one and its neighbours.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A name or an object of :mod:`squareone.kernels`; ``sigma="auto"`` is chosen together with λ.
        ``"auto"``, and a kernel with ``metric="learned"``, choose and learn as
        :class:`RLSClassifier` does, by the square loss; λ, the width and left-out values are then
        those of the hinge loss, by folds that have learned everything anew.
    alpha : float, sequence of float or "auto", default="auto"
        λ above zero, values to choose from, or ``"auto"``. It is 1/(2C) of scikit-learn's ``SVC``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    C : float, sequence of float or None, default=None
        In place of ``alpha``: 1/(2λ).
    centers : int, array-like (m, d), sparse matrix, Selector or None, default=None
        Points that carry the coefficients, as in :class:`RLSClassifier`, for more rows than an
        n × n matrix can have: features of these take its place. None: all rows. A row that is left
        out stays a center, without its label.
    fit_intercept : {"penalised", True, False}, default="penalised"
        A constant in the kernel; or one that is not penalised, as LIBSVM's; or none.
    criterion : {"loo", "holdout"}, default="loo"
        How λ and the width are chosen: by leave-one-out errors, or by a part of the rows.
    cv : int, splitter, iterable of splits or None, default=None
        Choose λ by folds, of which each is fitted; an integer means stratified ones.
    scoring : str, callable or None, default=None
        A scikit-learn scorer of classes or decision values of rows that were left out, for λ; None
        means minus the share of errors, and of equal ones the least mean loss. A width is always
        chosen by the errors of rows that were left out, in which one that is right or wrong by less
        than ½ is a part of an error.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``criterion="holdout"``.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into ``sample_weight``; not for an indicator matrix.
    coding : {"one_vs_all", "one_vs_one", "bch"} or Coding, default="one_vs_all"
        How more than two classes become columns: see :mod:`squareone.targets`. Where a code has a
        zero, the row takes no part in the column.
    calibration : {"temperature", "platt", "isotonic", "linear"} or None, default="temperature"
        How values become probabilities, by exact leave-one-out values, or those of ``cv``.
    threshold : float, str, callable, array-like of shape (labels,) or None, default=None
        What a decision value has to exceed, or a metric whose best threshold on these values is
        taken; for two classes, or labels.
    tol : float, default=1e-3
        Relative duality gap of the solutions on the path. That in the end is exact but for
        rounding, 1e-10, as left-out values need it; one λ with ``calibration=None``, which has
        none, is solved to ``tol``.
    memory_limit : int, str or None, default=None
        Bytes, or ``"2GiB"``; None for what is free.
    random_state : int, RandomState or None, default=None
        For rows of the search for the width, and those held out; None means always the same.
    verbose : int, default=0
        1 for the stages, 2 for every λ.

    Attributes
    ----------
    classes_ : array of shape (k,)
    plan_ : SVMPlan
        What took the place of the kernel, its bytes, and the seconds of every stage.
    alpha_, C_ : float
        λ, and 1/(2λ).
    kernel_ : Kernel
    support_ : array of shape (s,)
        Rows with a coefficient in some column; ``n_support_`` of each column.
    dual_coef_ : array of shape (s,) or (s, t)
        Their coefficients.
    centers_, center_indices_ : array of shape (m, d) and (m,)
        With ``centers``: those that are independent, and which rows they are (−1: none);
        ``center_coef_`` (m,) or (m, t) are their coefficients.
    intercept_ : array of shape (t,)
    coef_ : array of shape (1, d) or (t, d)
        With the linear kernel.
    path_ : dict of array
        Every λ that was tried: ``primal``, ``dual``, ``gap`` (relative), ``kkt_violation``,
        ``support_vectors``, ``loo_error`` (estimated where ``exact`` is 0), ``loo_loss`` and more.
    primal_, dual_, gap_, kkt_violation_ : float
        Of the λ that was chosen, summed over columns, or the worst of them.
    best_score_ : float
    margins_ : array of shape (n, t)
        yf at the rows of the fit.
    loo_predictions_, loo_decision_values_ : array of shape (n,), (n, k) or (n, labels)
        Values of the models that have not seen the row.
    loo_probabilities_ : array of shape (n, k) or (n, labels)
    loo_error_ : float
        Their share of errors; ``loo_error_interval_`` has what is certain of it, in spite of
        rounding, and ``undecided_rows_`` the rows between.
    threshold_, calibration_
        As in :class:`RLSClassifier`.

    See Also
    --------
    RLSClassifier : The square loss, for which the leave-one-out error has a closed form.

    Notes
    -----
    **Cost**: n²d/2 multiplications for the kernel matrix, n² numbers of float64 (also for float32
    rows), some ten systems of the rows on the margin for each λ and column (hinge), or two of all
    support vectors (squared hinge). Exact leave-one-out values: 2n·M·S flops for M of these
    and S support vectors, and some passes over the rows for each one without which the margin
    changes. With the linear kernel on more rows than features, features take the place of the
    matrix; with m centers nmd multiplications and nm² flops once, nm numbers, and systems of the
    free rows or of m features, whichever are fewer. Rows of a stream are then read block by block
    and never held. Where exact leave-one-out values would take more than 10¹¹ flops, λ is chosen by
    the estimate, and left-out values are those of five folds.

    References
    ----------
    .. [1] Rifkin, Yeo & Poggio, "Regularized least-squares classification", 2003.
    .. [2] Chapelle, "Training a support vector machine in the primal", 2007.
    .. [3] Vapnik & Chapelle, "Bounds on error expectation for support vector machines", 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifier().fit(X, y)
    >>> bool(model.loo_error_ < 0.06), bool(model.gap_ < 1e-9)
    (True, True)
    """

    set_callbacks = set_callbacks

    predict_proba = calibrated.predict_proba
    predict_log_proba = calibrated.predict_log_proba
    calibration_ = calibrated.calibration_
    loo_probabilities_ = calibrated.loo_probabilities_
    loo_decision_values_ = calibrated.loo_decision_values_
    probability_threshold_ = property(calibrated.probability_threshold)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"auto", *BY_NAME}), Kernel],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "C": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "centers": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Selector,
            "array-like",
            "sparse matrix",
        ],
        "fit_intercept": [StrOptions({"penalised"}), "boolean"],
        "criterion": [StrOptions({"loo", "holdout"})],
        "cv": [
            None,
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split"]),
            "cv_object",
        ],
        "scoring": [None, str, callable],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "coding": [StrOptions(set(CODINGS)), Coding],
        "calibration": [None, StrOptions(set(CALIBRATIONS))],
        "threshold": [None, str, callable, Real, "array-like"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "memory_limit": [None, str, Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        loss: str = "hinge",
        C: Any = None,
        centers: Any = None,
        fit_intercept: str | bool = "penalised",
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        coding: str | Coding = "one_vs_all",
        calibration: str | None = "temperature",
        threshold: Any = None,
        tol: float = 1e-3,
        memory_limit: float | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.loss = loss
        self.C = C
        self.centers = centers
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.coding = coding
        self.calibration = calibration
        self.threshold = threshold
        self.tol = tol
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    # --- fit ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit, and choose λ and, where it is ``"auto"``, the kernel's width.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows; for a precomputed kernel its matrix (n, n). A stream is read into memory, or with
            ``centers`` block by block.
        y : array-like of shape (n,) or (n, labels)
            Classes, or an indicator matrix of several labels per row.
        sample_weight : array-like of shape (n,) or float, optional
            Weights at or above zero; a row of weight zero leaves the fit.
        groups : array-like of shape (n,), optional
            For a ``cv`` that splits by groups.

        Returns
        -------
        self
        """
        self._forget()
        try:
            with fit_progress(self, X, y, sample_weight) as progress:
                alphas, search = self._checked(groups)
                kernel = search.stand_in if search else self._checked_kernel()
                data = read(self, X, y, sample_weight, given=isinstance(kernel, Precomputed))
                rng = check_random_state(0 if self.random_state is None else self.random_state)
                task = self._task(data, kernel, alphas, groups, rng)
                plan = task.plan()
                plan.check_memory()
                if search is not None:
                    with plan.stage(progress, "choice of the kernel"):
                        task = self._with_learned_kernel(task, data, search, progress)
                warn_of_scales(
                    self, [task.kernel], data.X, data.columns, data.kept, relevance=False
                )
                record = fit_svm(task, plan, data.X.dtype, rng, progress)
                record.class_weights, record.calibrated_by = data.class_weights, self.calibration
                self._show(record, plan)
                if not record.targets.exclusive:
                    weights = record.user_weights
                    self.threshold_ = chosen_threshold(record, self.threshold, weights)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def plan(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SVMPlan:
        """What a fit would hold, before any work; a fit that does not fit is refused here, too.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for :meth:`fit`.

        Returns
        -------
        SVMPlan

        Notes
        -----
        **Cost**: the checks of the input.
        """
        alone = copy_for_plan(self)
        alphas, search = alone._checked(groups)
        kernel = search.stand_in if search else alone._checked_kernel()
        data = read(alone, X, y, sample_weight, given=isinstance(kernel, Precomputed))
        rng = check_random_state(0 if alone.random_state is None else alone.random_state)
        plan = alone._task(data, kernel, alphas, groups, rng).plan()
        plan.check_memory()
        return plan

    def _checked(self, groups: Any) -> tuple[Array | None, KernelSearch | None]:
        """λ to choose from, and kernels; parameters that make no sense are refused."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        alphas = self._alphas()
        search = KernelSearch.asked(self.kernel)
        self._check_together(groups, search)
        return alphas, search

    def _alphas(self) -> Array | None:
        """λ to choose from; None for all of them."""
        if self.C is None:
            found = check_alpha(self.alpha)
            name, given = "alpha", self.alpha
        else:
            if not (isinstance(self.alpha, str) and self.alpha == "auto"):
                msg = (
                    f"alpha={self.alpha!r} and C={self.C!r} say the same, C = 1/(2·alpha): give one"
                )
                raise ValueError(msg)
            if isinstance(self.C, str):
                msg = f"C={self.C!r}: a number above zero, or a sequence of such, is expected"
                raise ValueError(msg)
            found = check_alpha(self.C)
            name, given = "C", self.C
        if isinstance(found, str):
            return None
        values = np.unique(np.atleast_1d(found))
        if not (values > 0).all():
            msg = f"{name}={given!r}: numbers above zero are expected, for a support vector machine"
            raise ValueError(msg)
        return values if name == "alpha" else np.unique(0.5 / values)

    def _check_together(self, groups: Any, search: KernelSearch | None) -> None:
        """Refuse parameters that exclude each other, before any work."""
        check_choice_of_alpha(self, groups)
        if search is None:
            return
        folds = self.cv is not None or self.criterion != "loo"
        if folds or self.centers is not None:
            name = "centers" if self.centers is not None else "cv" if self.cv else "criterion"
            msg = (
                f"{name}={getattr(self, name)!r} and kernel={self.kernel!r}: a kernel is chosen, "
                "and its metric learned, by folds of its own of all rows. Leave "
                f"{name} out, or fit RLSClassifier with that kernel and give its kernel_ here"
            )
            raise ValueError(msg)

    def _checked_kernel(self) -> Kernel:
        kernel = kernel_from(self.kernel)
        kernel.check_parameters()
        if free_width(kernel) and getattr(kernel, "ard", False):
            msg = f"{kernel}: ard=True is for RLSClassifier. Fit that, and give its kernel_ here"
            raise ValueError(msg)
        if self.centers is not None:
            check_formula(kernel)
        return kernel

    def _task(
        self,
        data: FitData,
        kernel: Kernel,
        alphas: Array | None,
        groups: Any,
        rng: np.random.RandomState,
    ) -> SVMTask:
        kept, given = data.kept, isinstance(kernel, Precomputed)
        selector = selector_of(self.centers, "auto")
        n_centers = RequestedCenters.of(self.centers, selector, kept.size, "auto", None, None).count
        X = data.X if selector is not None else in_memory(data.X)
        X = kept_rows(X, kept, given)
        if selector is None:
            X = X.astype(np.float64, copy=False)
        weights, user_weights = (
            None if w is None else w[kept] for w in (data.weights, data.user_weights)
        )
        labels = data.targets
        assert isinstance(labels, Labels)
        return SVMTask(
            kernel=kernel,
            X=X,
            Y=data.columns[kept].astype(np.float64),
            weights=weights,
            user_weights=user_weights,
            targets=labels,
            squared=self.loss == "squared_hinge",
            intercept="penalised"
            if isinstance(self.fit_intercept, str)
            else bool(self.fit_intercept),
            alphas=alphas,
            tolerance=float(self.tol),
            scorer=held_out_scorer(
                self.scoring, data.y[kept], labels, user_weights, per_target=False
            ),
            folds=self._folds(data, groups, rng),
            left_out=self.calibration is not None or is_metric(self.threshold),
            memory_limit=self.memory_limit,
            kept=kept,
            n_rows=data.X.shape[0],
            selector=selector,
            n_centers=n_centers,
            spare_folds=self._spare_folds(data) if selector is not None else None,
        )

    def _with_learned_kernel(
        self, task: SVMTask, data: FitData, search: KernelSearch, progress: Progress
    ) -> SVMTask:
        """With the kernel that the square loss chooses, and folds that have learned it anew."""
        check_rows(data.X, data.kept.size, search)
        names = "kernel", "class_weight", "coding", "memory_limit", "random_state"
        square = RLSClassifier(**{name: getattr(self, name) for name in names}, calibration=None)
        request = square._request(task.X, data.y[data.kept], task.user_weights, None)
        chosen, learned, _ = with_chosen_kernel(request, progress, _no_centers)
        kernel = chosen.kernel
        task = replace(task, kernel=kernel)
        if not learned.has_seen_rows:
            return task
        if not learned.judged_by_folds(task.n):
            return replace(task, judged=learned.unseen(task.n))
        name = free_width(kernel)
        folds = []
        for number, model in enumerate(learned.models):
            own = model.kernel if not name else with_width(model.kernel, name, "auto")
            rows = learned.rows[learned.folds == number]
            folds.append(Fold(rows, learned.pool[model.train], own))
        return replace(task, folds=folds)

    def _folds(self, data: FitData, groups: Any, rng: np.random.RandomState) -> list[Fold] | None:
        """None for leave-one-out."""
        if self.cv is None and self.criterion == "loo":
            return None
        every = np.arange(data.kept.size)
        return [
            Fold(fold.removed[fold.scored], np.setdiff1d(every, fold.removed))
            for fold in asked_folds(self, data, groups, rng)
        ]

    def _spare_folds(self, data: FitData) -> Callable[[], list[Fold]]:
        """Five folds, for where exact leave-one-out values would cost too much."""
        from sklearn.model_selection import check_cv

        labels, kept = data.targets, data.kept
        classes = isinstance(labels, Labels) and not labels.multilabel

        def made() -> list[Fold]:
            most = min(_SPARE_FOLDS, kept.size)
            cv = check_cv(most, data.y[kept], classifier=classes)
            with warnings.catch_warnings():
                # a class of fewer rows than folds is in some of them only
                warnings.simplefilter("ignore", UserWarning)
                splits = list(cv.split(np.empty((kept.size, 1)), data.y[kept]))
            return [Fold(rows, rest) for rest, rows in splits]

        return made

    def _check_targets(self, targets: Labels, t: int, weights: Array | None) -> None:
        check_threshold(self.threshold, targets, t, weighted=weights is not None)

    def _rotated(self) -> bool:
        return False  # the hinge losses are not linear in the targets

    # --- what was learned ---

    def _recorded(self) -> SVMRecord:
        return super()._recorded()

    def _show(self, record: SVMRecord, plan: SVMPlan) -> None:
        self._record = record
        self.plan_ = plan
        self.kernel_ = record.kernel
        if record.centered:
            assert isinstance(record.model, KernelExpansion)
            self.centers_, self.center_indices_ = record.model.centers, record.model.indices
        self.classes_ = record.targets.classes
        if record.targets.code is not None:
            self.code_ = record.targets.code.matrix
        self.alpha_, self.C_ = float(record.alpha), 0.5 / float(record.alpha)
        self.support_ = record.support
        self.n_support_ = (record.dual != 0).sum(axis=0)

    dual_coef_: FromResult[Array] = FromResult(
        lambda record: record.targets.coefficients(record.dual),
        "Coefficients of the support vectors: (s,) or (s, t).",
    )
    center_coef_: FromResult[Array] = FromResult(
        lambda record: record.shown_center_coefficients,
        "Coefficients of the centers, with ``centers``: (m,) or (m, t).",
    )
    coef_: FromResult[Array] = FromResult(
        lambda record: record.shown_hyperplane,
        "Coefficients of the hyperplane, with the linear kernel: (1, d) or (t, d).",
    )
    intercept_: FromResult[Array] = FromResult(
        lambda record: record.shown_intercepts, "b of every column: (t,)."
    )
    path_: FromResult[dict[str, Array]] = FromResult(
        lambda record: dict(record.path),
        """Every λ that was tried, as a dict of 1-D arrays; first those of the search for a width.

        ``alpha``, ``C``, ``sigma``, ``rows``; the sums ``primal`` and ``dual`` over columns; the
        worst ``gap`` and ``kkt_violation``; ``support_vectors``, ``margin_rows`` (free coefficients
        of a column at most), ``systems`` that were solved; ``loo_error``, ``loo_loss``, estimated
        unless ``exact`` is 1 (or by folds); ``score``.
        """,
    )
    primal_: FromResult[float] = FromResult(
        lambda record: record.of_choice("primal"), "Σ wℓ + λ‖f‖², summed over the columns."
    )
    dual_: FromResult[float] = FromResult(
        lambda record: record.of_choice("dual"),
        "The dual objective, which no solution is below.",
    )
    gap_: FromResult[float] = FromResult(
        lambda record: record.of_choice("gap"), "The worst relative duality gap of a column."
    )
    kkt_violation_: FromResult[float] = FromResult(
        lambda record: record.of_choice("kkt_violation"),
        "The largest violation of the conditions for the optimum, in units of the margin.",
    )
    best_score_: FromResult[float] = FromResult(
        lambda record: record.best_score, "The score of the λ that was chosen."
    )
    margins_: FromResult[Array] = FromResult(
        lambda record: np.where(record.Y != 0, record.Y * record.values, np.nan),
        "yf at the rows of the fit (n, t): below one where they count, NaN where they do not.",
    )
    loo_predictions_: FromResult[Array] = FromResult(
        lambda record: record.targets.shaped(record.comparable_values),
        "Values of the models that have not seen the row: (n,), (n, k) or (n, labels).",
    )
    loo_error_: FromResult[float] = FromResult(
        error_share, "The share of errors of rows that were left out, by the user's weights."
    )
    loo_error_interval_: FromResult[tuple[float, float]] = FromResult(
        lambda record: error_interval(record)[:2],
        "What is certain of the leave-one-out error: the least and the greatest share.",
    )
    undecided_rows_: FromResult[Array] = FromResult(
        lambda record: record.kept[error_interval(record)[2]],
        "Rows of which it is not certain whether they are errors when left out.",
    )

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        return {
            **self._features_state(),
            "plan": self.plan_.state(),
            "record": self._recorded().state(),
            "threshold": getattr(self, "threshold_", None),
        }

    def _restore(self, found: Fields) -> None:
        record = SVMRecord.from_state(found.inner("record"))
        self._restore_features(found, record.n_features)
        self._show(record, SVMPlan.from_state(found.inner("plan")))
        calibrated.restore_threshold(self, found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.threshold is None
        return tags
