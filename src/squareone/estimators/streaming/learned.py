"""What a stream has learned so far, as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...kernels import Linear
from ..fitted_estimator import IntoFiles


class Learned(IntoFiles):
    """Attributes of a fitted stream; not for use by itself."""

    @property
    def form_(self) -> str:
        """The form that was taken."""
        return self._recorded().form

    @property
    def n_rounds_(self) -> int:
        """Rows that were seen."""
        return self._recorded().engine.rounds

    @property
    def coef_(self) -> Array:
        """Weights of the features, for the linear kernel: (d,) or (t, d)."""
        record = self._recorded()
        if record.form != "dual":
            return self._by_column(record.model.coefficients)
        if not isinstance(record.kernel, Linear):
            msg = f"coef_ is for the linear kernel, and this is {record.kernel}: see dual_coef_"
            raise AttributeError(msg)
        points = record.model.centers
        return self._by_column(np.asarray(points.T @ record.model.coefficients))

    @property
    def dual_coef_(self) -> Array:
        """Weights of the support points, for form="dual": (m,) or (t, m)."""
        return self._by_column(self._expansion("dual_coef_").coefficients)

    @property
    def support_(self) -> Array:
        """Which rows of the stream the support points are, for form="dual": (m,)."""
        return self._expansion("support_").indices

    @property
    def support_vectors_(self) -> Any:
        """The support points, for form="dual": (m, d)."""
        return self._expansion("support_vectors_").centers

    @property
    def intercept_(self) -> Any:
        """The weight of the constant feature: a number, or (t,)."""
        values = self._recorded().model.intercepts
        return float(values[0]) if values.size == 1 else values

    def _expansion(self, name: str) -> Any:
        record = self._recorded()
        if record.form != "dual":
            msg = f'{name} is for form="dual", and this is form={record.form!r}: see coef_'
            raise AttributeError(msg)
        return record.model

    def _by_column(self, W: Array) -> Array:
        return W[:, 0].copy() if W.shape[1] == 1 else W.T.copy()
