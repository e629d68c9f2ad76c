"""What every estimator has: a record of its fit, and rows that go through it."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..persistence import Fields, refuse
from ..rows import rows_of
from . import validation


class Fitted(BaseEstimator):
    """The record of a fit, its predictions, and what a file keeps of its rows; a part of all."""

    kernel: Any
    kernel_: Any
    n_features_in_: int
    _record: Any

    def _recorded(self) -> Any:
        check_is_fitted(self)
        return self._record

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_record")

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name == "_record"]:
            delattr(self, name)

    def _rows(self, X: Any) -> Any:
        """New rows, checked, in the precision of the model."""
        dtype = self._recorded().model.dtype
        given = validation.is_precomputed(self.kernel_)
        if given:
            validation.check_kernel_values(X, self.n_features_in_)
        X = validation.check_rows(self, X, reset=False, sparse=not given)
        return X if X.dtype == dtype else rows_of(X).astype(dtype).X

    def _values(self, X: Any) -> Array:
        """f at the rows of X → (n, t)."""
        return self._recorded().model.values(self._rows(X))

    def _features_state(self) -> dict[str, Any]:
        """Number and names of the features, for a file."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else names.tolist(),
        }

    def _restore_features(self, found: Fields, d: int) -> None:
        """Set what :meth:`_features_state` gave, for a model of ``d`` features."""
        self.n_features_in_ = found.take("n_features_in", int)
        if self.n_features_in_ != d:
            refuse(found.where, f"{d} features are not {self.n_features_in_}")
        validation.restore_names(self, found, d)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = validation.is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
