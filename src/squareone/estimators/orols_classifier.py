"""OROLSClassifier."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ..targets import CODINGS, Coding
from .mixins import ClassificationMixin
from .orols import OrthogonalLeastSquares


class OROLSClassifier(ClassificationMixin, OrthogonalLeastSquares):
    """Sparse kernel classification by order-recursive orthogonal least squares.

    Classes become columns of ±1 (one column for two classes, one against all or a code for more,
    one per label for an indicator matrix), each of which is fitted as in :class:`OROLSRegressor`;
    the largest value wins.

    Parameters
    ----------
    kernel, max_centers, candidates, stopping, lambda_update, selection, epsilon, condition_limit, \
fit_intercept, validation_fraction, memory_limit, random_state, verbose
        As in :class:`OROLSRegressor`; numbers of centers are those of a column.
    shared_centers : bool, default=False
        One path for all columns: a prediction then costs as many kernel values as one column has
        centers, instead of the union over the columns. Where there are fewer centers than classes,
        and more than 2,000 rows, an automatic width is compared with wider ones on all rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into ``sample_weight``; not for an indicator matrix.
    coding : {"one_vs_all", "one_vs_one", "bch"} or Coding, default="one_vs_all"
        How more than two classes become columns: see :mod:`squareone.targets`.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    code_ : array of shape (k, columns)
        The targets of each class, where there is a coding other than one against all.
    n_centers_, path_, lambda_, epsilon_, kernel_, search_, centers_, center_indices_, \
center_kernels_, dual_coef_, intercept_, stopped_by_, n_features_in_, feature_names_in_
        As in :class:`OROLSRegressor`; one path for each column unless they share it.

    See Also
    --------
    OROLSRegressor : The same for numbers; cost and conventions are told there.

    Notes
    -----
    **Cost**: that of :class:`OROLSRegressor` for every column; columns of the kernel matrix that
    several of them choose are evaluated once, as far as memory allows.

    Decision values are not probabilities: ``sklearn.calibration.CalibratedClassifierCV`` makes
    them, and :class:`RLSClassifier` has its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import OROLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OROLSClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OrthogonalLeastSquares._parameter_constraints,
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "coding": [StrOptions(set(CODINGS)), Coding],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        max_centers: int | None = None,
        candidates: int | None = None,
        stopping: str | int = "gcv",
        lambda_update: str | float = "gcv",
        selection: str = "sampled",
        epsilon: float | str = "auto",
        condition_limit: float | None = None,
        fit_intercept: bool = True,
        shared_centers: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: dict[Any, float] | str | None = None,
        coding: str | Coding = "one_vs_all",
    ) -> None:
        super().__init__(
            kernel,
            max_centers=max_centers,
            candidates=candidates,
            stopping=stopping,
            lambda_update=lambda_update,
            selection=selection,
            epsilon=epsilon,
            condition_limit=condition_limit,
            fit_intercept=fit_intercept,
            shared_centers=shared_centers,
            validation_fraction=validation_fraction,
            memory_limit=memory_limit,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.coding = coding

    def _rotated(self) -> bool:
        return self.shared_centers
