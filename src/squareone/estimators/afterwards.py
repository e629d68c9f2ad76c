"""What can be asked of a fitted estimator, whatever it predicts."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import Array
from ..fitting import diagnostics as hindsight
from ..fitting.result import Record, at_rest
from ..models import Hyperplane
from ..solvers import Plan
from ..targets import Labels
from .fitted_estimator import IntoFiles


class Afterwards(IntoFiles):
    """Answers from the record of a fit; a part of the estimators, not for use by itself."""

    def _show(self, record: Record, plan: Plan) -> None:
        """Set the attributes that show what is recorded."""
        self._record, targets = record, record.targets
        self.kernel_ = record.sample.kernel
        self.plan_ = plan
        self.n_iter_, self.residual_ = record.iterations, record.residual
        self.alpha_ = record.alphas.copy() if record.per_target else float(record.alphas[0])
        model = record.model
        self.intercept_ = targets.coefficients(model.intercepts[None, :])[0]
        if isinstance(model, Hyperplane):
            self.coef_ = targets.coefficients(model.coefficients).T
        else:
            self.dual_coef_ = targets.coefficients(model.coefficients)
            self.center_indices_ = model.indices
            if model.centers is not None:
                self.centers_ = model.centers
        if record.sample.thin:
            self.dropped_centers_ = record.dropped_centers
        if isinstance(targets, Labels):
            self.classes_ = targets.classes
            if targets.code is not None:
                self.code_ = targets.code.matrix

    def _recorded(self) -> Record:
        return super()._recorded()

    def __dir__(self) -> list[str]:
        # scikit-learn lists what it can read, and a notebook shows all that is listed: neither may
        # begin to compute what nobody asked for
        with at_rest():
            return list(super().__dir__())

    @property
    def path_(self) -> dict[str, Array]:
        """Every λ looked at: ``alpha`` ascending, ``score``, ``effective_dof`` and ``bits``.

        Where the width was searched, the looks of that search come first, with their ``sigma`` and
        ``rows``.
        """
        return self._recorded().path("path_")

    @property
    def best_score_(self) -> float | Array:
        """Score of the chosen λ by the criterion; greater is better. One per target if λ is."""
        return self._recorded().best_score("best_score_")

    @property
    def loo_predictions_(self) -> Array:
        """Prediction (decision values for classifiers) at each row of the fit without that row."""
        record = self._recorded()
        return record.targets.shaped(record.leave_one_out_values)

    @property
    def effective_dof_(self) -> float | Array:
        """Trace of the hat matrix at the chosen λ. One per target if λ is."""
        return self._recorded().degrees_of_freedom("effective_dof_")

    @property
    def explained_trace_(self) -> float:
        """The share of the trace of the kernel matrix that the centers explain.

        Only with centers: tr(K̃)/tr(K) with K̃ = K_nm K_mm⁺ K_mn, over the rows of the fit.
        """
        return self._recorded().explained_trace("explained_trace_")

    @property
    def loo_residuals_(self) -> Array:
        """Targets less :attr:`loo_predictions_`; for classifiers those are columns of ±1."""
        record = self._recorded()
        return record.targets.residuals(hindsight.residuals(record))

    @property
    def leverages_(self) -> Array:
        """How much each row's fitted value follows its own target; one column per target if λ is.

        Their sum is :attr:`effective_dof_`; a row of weight zero has none.
        """
        record = self._recorded()
        found = hindsight.leverages(record)
        return found if record.per_target else found[:, 0]

    @property
    def gacv_(self) -> float | Array:
        """Generalised approximate cross-validation, a mean square; one per target for several.

        The leave-one-out error with every leverage replaced by their mean.
        """
        found = hindsight.gacv(self._recorded())
        return float(found[0]) if found.size == 1 else found

    def influence(self, X: Any) -> Array:
        """How predictions at the rows of ``X`` would change if a training row were left out.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, n) or (m, n, t)
            Entry (j, i): the prediction (decision value) at row j of the fit without training row
            i, less the present one. Without any fit, and exact where leave-one-out values are.

        Notes
        -----
        **Cost**: 2n²m flops with ``cholesky`` and twice that with ``spectral``, n·m·d with
        features; memory for the result and one block.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import RLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> RLSRegressor().fit(X[:300], y[:300]).influence(X[300:302]).shape
        (2, 300)
        """
        record = self._recorded()
        labels = record.targets
        coded = isinstance(labels, Labels) and labels.code is not None
        if coded and not labels.code.coding.linear:  # type: ignore[union-attr]
            msg = (
                f"coding={labels.code.coding!r} counts signs, so that "  # type: ignore[union-attr]
                'decision values do not change gradually: use BCH(decoding="correlation")'
            )
            raise ValueError(msg)
        change = hindsight.influence(record, self._rows(X))
        if coded:
            m, n, r = change.shape
            change = labels.coefficients(change.reshape(-1, r)).reshape(m, n, -1)
        return change[:, :, 0] if change.shape[2] == 1 else change

    def suspicious_rows(self, n: int | None = None) -> Array:
        """Training rows whose targets the other rows believe least: look for mistakes there first.

        Rows are ordered by their leave-one-out values: for classes by how much these prefer another
        class to that of the row, for labels by the worst of them, for numbers by the leave-one-out
        error relative to what the model expects of it.

        Parameters
        ----------
        n : int, optional
            How many; all rows of positive weight where it is not given.

        Returns
        -------
        array of shape (n,)
            Positions of rows (``X.iloc[...]`` of a frame), the most suspicious first.

        Notes
        -----
        **Cost**: sorting n numbers, beyond the leave-one-out values and leverages.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> y[30] = 2  # a mistake
        >>> int(RLSClassifier().fit(X, y).suspicious_rows(1)[0])
        30
        """
        record = self._recorded()
        order = record.kept[np.argsort(-hindsight.suspicion(record), kind="stable")]
        if n is None:
            return order
        if not isinstance(n, Integral) or isinstance(n, bool) or not 0 < n <= order.size:
            msg = f"n={n!r}: a number of rows from 1 to {order.size} is expected, or None for all"
            raise ValueError(msg)
        return order[:n]
