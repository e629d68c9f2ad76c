"""TableClassifier: classes from the columns of a table."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

from ..arrays import Array
from ..estimators import RLSClassifier
from ..fitting.request import FitRequest
from ..fitting.result import FitResult
from ..kernels import Kernel
from ..planning import Plan
from ..targets import Coding
from .table_encoder import TableEncoder
from .table_fit import (
    encoded_rows,
    graph_inputs_of,
    remember_encoder,
    request_of,
    restore_table,
    search_of,
    table_state,
    tags_of_tables,
)


class TableClassifier(RLSClassifier):
    """Classification on a table: an encoder, a kernel chosen by honest folds, and its fit in one.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        ``"auto"`` chooses among Gaussian, Matérn, Laplacian and linear kernels, each with and
        without a learned metric; a kernel of :mod:`squareone.kernels`, with ``metric="learned"``
        for instance, leaves only the rest to choose.
    alpha : float, sequence of float or "auto", default="auto"
    solver, centers, criterion, cv, scoring, fit_intercept, alpha_per_target : optional
    validation_fraction, memory_limit, device, keep_factor, random_state, verbose, tol : optional
    max_iter, loo_rows, time_limit, checkpoint, class_weight : optional
    calibration, threshold, coding : optional
        As those of :class:`~squareone.RLSClassifier`.
    encoder : TableEncoder or None, default=None
        How columns become numbers. None: with numbers scaled to mean zero and standard deviation
        one, or to normal scores, whichever predicts better.

    Attributes
    ----------
    encoder_ : TableEncoder
        The one that was chosen, fitted; ``encoder_.summary()`` says what each column was taken
        for, ``encoder_.unseen(X)`` counts what new rows hold that no training row did.
    feature_importances_ : array of shape (d,)
        Shares of the columns of the table in how much predictions move: the root mean square slope
        times the standard deviation, over the features of a column. Zero for those dropped.
    rounds_ : int
        Rounds of the learned metric; zero where a plain kernel was better.
    best_score_ : float or array of shape (t,)
        Of folds that learned the encoder, the metric, σ and λ without the rows they predict.
    kernel_, alpha_, path_, plan_ and others
        As those of :class:`~squareone.RLSClassifier`. ``loo_predictions_`` are of the final
        encoder and metric, which have seen the row; what is read from left-out values,
        probabilities, thresholds and suspicious rows, is read from those that have not.

    See Also
    --------
    TableRegressor : The same for numbers.
    squareone.tables.TableEncoder : What becomes of the columns.

    Notes
    -----
    **Cost**: the choice of the kernel looks at 6,000 rows at most, and takes several times a plain
    fit of so many, more of them for few rows; then that of :class:`~squareone.RLSClassifier`.
    ``plan`` counts both.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import TableClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TableClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLSClassifier._parameter_constraints,
        "encoder": [None, TableEncoder],
    }
    _takes_tables: ClassVar[bool] = True

    def __init__(
        self,
        kernel: str | Kernel = "auto",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        centers: Any = None,
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        device: str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        tol: float = 1e-4,
        max_iter: int | None = None,
        loo_rows: int | str | None = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        calibration: str | None = "temperature",
        threshold: Any = None,
        coding: str | Coding = "one_vs_all",
        encoder: TableEncoder | None = None,
    ) -> None:
        super().__init__(
            kernel,
            alpha,
            solver=solver,
            centers=centers,
            criterion=criterion,
            cv=cv,
            scoring=scoring,
            fit_intercept=fit_intercept,
            alpha_per_target=alpha_per_target,
            validation_fraction=validation_fraction,
            memory_limit=memory_limit,
            device=device,
            keep_factor=keep_factor,
            random_state=random_state,
            verbose=verbose,
            tol=tol,
            max_iter=max_iter,
            loo_rows=loo_rows,
            time_limit=time_limit,
            checkpoint=checkpoint,
            class_weight=class_weight,
            calibration=calibration,
            threshold=threshold,
            coding=coding,
        )
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the encoder, the kernel, its metric, σ and λ, and fit to all rows.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)
            Of pandas or polars, of pyarrow, two-dimensional, or a list of rows.
        y : array (n,)
            Classes: texts, integers or booleans. Or (n, labels), zeros and ones.
        sample_weight : array (n,), optional
            How many rows each row counts as; one of weight zero is not learned from.
        groups : array (n,), optional
            Rows of one group are in the same fold, always.

        Returns
        -------
        self

        Warns
        -----
        EmptyColumnWarning, IdentifierWarning
            Where columns are dropped; see :class:`~squareone.tables.TableEncoder`.
        """
        return super().fit(X, y, sample_weight, groups)

    def predict(self, X: Any) -> Array:
        """Predict the classes of rows.

        Parameters
        ----------
        X : DataFrame, Table, array or list (m, d)
            With the columns of the fit, in any order where they have names.

        Returns
        -------
        array of shape (m,), or (m, labels)

        Warns
        -----
        UnseenValuesWarning
            Where much of a column is what no training row had.

        Examples
        --------
        >>> from squareone import TableClassifier
        >>> X = [[size, town] for size in range(30, 60) for town in ("Rome", "Bari")]
        >>> y = ["dear" if size > 44 or town == "Rome" else "cheap" for size, town in X]
        >>> model = TableClassifier("gaussian", random_state=0).fit(X, y)
        >>> model.predict([[35, "Bari"], [35, "Rome"]]).tolist()
        ['cheap', 'dear']
        """
        return super().predict(X)

    def decision_function(self, X: Any) -> Array:
        """The decision values of rows: how far on the side of a class they are.

        Parameters
        ----------
        X : DataFrame, Table, array or list (m, d)

        Returns
        -------
        array of shape (m,) for two classes, (m, classes) or (m, labels)
        """
        return super().decision_function(X)

    def _look_at_scales(self, request: FitRequest, plan: Plan) -> None:
        """Not here: the encoder has scaled the columns, and its outputs are not for the user."""

    def _request(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> FitRequest:
        return request_of(self, X, y, sample_weight, groups, "classification")

    def _remember(self, request: FitRequest, record: FitResult, plan: Plan) -> None:
        remember_encoder(self, request, record)
        super()._remember(request, record, plan)

    _kernel_search = search_of
    _rows = encoded_rows
    _features_state = table_state
    _restore_features = restore_table
    _graph_inputs = graph_inputs_of

    def __sklearn_tags__(self) -> Any:
        return tags_of_tables(super().__sklearn_tags__())
