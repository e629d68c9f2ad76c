"""TableRegressor: numbers from the columns of a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

from ..arrays import Array
from ..estimators import RLSRegressor
from ..fitting.kernel_choice import FoldModel
from ..fitting.request import FitRequest
from ..fitting.result import FitResult
from ..kernels import Kernel
from ..planning import Plan
from .table_encoder import TableEncoder
from .table_fit import (
    encoded_rows,
    graph_inputs_of,
    remember_encoder,
    request_of,
    restore_table,
    rows_of_fold,
    search_of,
    table_in_memory,
    table_state,
    tags_of_tables,
)


class TableRegressor(RLSRegressor):
    """Regression on a table: an encoder, a kernel chosen by honest folds, and its fit in one.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        ``"auto"`` chooses among Gaussian, Matérn, Laplacian and linear kernels, each with and
        without a learned metric; a kernel of :mod:`squareone.kernels`, with ``metric="learned"``
        for instance, leaves only the rest to choose.
    alpha : float, sequence of float or "auto", default="auto"
    solver, centers, criterion, cv, scoring, fit_intercept, alpha_per_target : optional
    validation_fraction, memory_limit, device, keep_factor, random_state, verbose, tol : optional
    max_iter, loo_rows, time_limit, checkpoint, scale : optional
        As those of :class:`~squareone.RLSRegressor`.
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
        As those of :class:`~squareone.RLSRegressor`. ``loo_predictions_`` are of the final
        encoder and metric, which have seen the row; what is read from left-out values, intervals
        and suspicious rows,
        is read from those that have not.

    See Also
    --------
    TableClassifier : The same for classes.
    squareone.tables.TableEncoder : What becomes of the columns.

    Notes
    -----
    **Cost**: the choice of the kernel looks at 6,000 rows at most, and takes several times a plain
    fit of so many, more of them for few rows; then that of :class:`~squareone.RLSRegressor`.
    ``plan`` counts both.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone import TableRegressor
    >>> rng = np.random.default_rng(0)
    >>> area, town = rng.uniform(30, 200, 150), rng.choice(["Rome", "Bari"], 150)
    >>> price = 2.0 * area * np.where(town == "Rome", 1.5, 1.0) + 10.0 * rng.standard_normal(150)
    >>> X = np.column_stack([area.astype(object), town])
    >>> model = TableRegressor().fit(X[:100], price[:100])
    >>> round(model.score(X[100:], price[100:]), 2)
    0.99
    >>> model.predict_interval([[80.0, "Rome"]]).round(-1).tolist()
    [[210.0, 250.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLSRegressor._parameter_constraints,
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
        scale: float | str = "auto",
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
            scale=scale,
        )
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the encoder, the kernel, its metric, σ and λ, and fit to all rows.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)
            Of pandas or polars, of pyarrow, two-dimensional, or a list of rows.
        y : array (n,) or (n, t)
            Numbers.
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

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict the targets of rows.

        Parameters
        ----------
        X : DataFrame, Table, array or list (m, d)
            With the columns of the fit, in any order where they have names.
        return_std : bool, default=False
            Also the standard deviation that a Gaussian process would state; see
            :meth:`squareone.RLSRegressor.predict`.

        Returns
        -------
        array of shape (m,) or (m, t)
            With ``return_std`` a pair of such arrays.

        Warns
        -----
        UnseenValuesWarning
            Where much of a column is what no training row had.

        Examples
        --------
        >>> from squareone import TableRegressor
        >>> X = [[size, town] for size in range(30, 60) for town in ("Rome", "Bari")]
        >>> y = [2.0 * size + 50.0 * (town == "Rome") for size, town in X]
        >>> TableRegressor("linear").fit(X, y).predict([[45, "Bari"], [45, "Rome"]]).round(1)
        array([ 90., 140.])
        """
        return super().predict(X, return_std)

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        method: str = "adaptive",
        loo_rows: int | str | None = "auto",
        bounds: tuple[float | None, float | None] | None = None,
    ) -> Array:
        """Intervals that contain a new target with a given probability.

        Parameters
        ----------
        X : DataFrame, Table, array or list (m, d)
        coverage : float, default=0.9
        method : {"adaptive", "jackknife", "jackknife+", "minmax", "gaussian"}, default="adaptive"
            See :meth:`squareone.RLSRegressor.predict_interval`. ``"jackknife+"`` and ``"minmax"``
            read the models of five folds, each with its own encoder and metric (the CV+), unless
            half of the rows or more are outside of those that the kernel was chosen from.
        loo_rows : int, "auto" or None, default="auto"
        bounds : tuple of (low, high), default=None
            The least and the greatest target there can be, either may be None.

        Returns
        -------
        array of shape (m, 2) or (m, t, 2)

        Notes
        -----
        From left-out values of encoders and metrics that have not seen the row.

        **Cost**: for the default a prediction, once the size of errors is learned. The models of
        the folds keep their rows as they were encoded, four times those of the kernel's choice, in
        files too up to 32 MiB of them and 2,000 features.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import TableRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TableRegressor("gaussian").fit(X[:300], y[:300])
        >>> low, high = model.predict_interval(X[300:], bounds=(0, None)).T
        >>> round(float(((low <= y[300:]) & (y[300:] <= high)).mean()), 1)
        0.9
        """
        return super().predict_interval(X, coverage, method, loo_rows, bounds)

    def _look_at_scales(self, request: FitRequest, plan: Plan) -> None:
        """Not here: the encoder has scaled the columns, and its outputs are not for the user."""

    def _request(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> FitRequest:
        return request_of(self, X, y, sample_weight, groups, "regression")

    def _remember(self, request: FitRequest, record: FitResult, plan: Plan) -> None:
        remember_encoder(self, request, record)
        super()._remember(request, record, plan)

    _kernel_search = search_of
    _rows = encoded_rows
    _features_state = table_state
    _restore_features = restore_table
    _graph_inputs = graph_inputs_of

    def _rows_of_folds(self, X: Any) -> Callable[[FoldModel], Array]:
        X = table_in_memory(X, type(self).__name__)
        return partial(rows_of_fold, X, dtype=self._recorded().model.dtype)

    def __sklearn_tags__(self) -> Any:
        return tags_of_tables(super().__sklearn_tags__())
