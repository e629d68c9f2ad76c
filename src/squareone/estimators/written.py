"""A fitted estimator as a file."""

from __future__ import annotations

import os
from typing import Any

from sklearn.base import is_classifier

from ..files import Fields, refuse
from ..targets import Labels
from . import state
from .afterwards import Afterwards
from .record import Record
from .validation import restore_names


class Written(Afterwards):
    """Saving, restoring and export; a part of the estimators, not for use by itself."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, for :func:`squareone.load`.

        Parameters
        ----------
        path : str or PathLike
            A safetensors file, such as ``"model.safetensors"``; an older one is replaced once the
            new one is complete.

        Notes
        -----
        **Cost**: that of writing the centers, the coefficients and a few numbers per row; never
        the n² of the factorisation.
        """
        from .saving import save

        save(self, path)

    def _fitted_state(self) -> dict[str, Any]:
        """What a file keeps of a fit; for a subclass to add to, and to :meth:`_restore`."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else names.tolist(),
            "plan": state.of_plan(self.plan_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        """Set what :meth:`_fitted_state` gave, from a file."""
        record = Record.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self._show(record, state.plan_from(found.inner("plan")))
        self.n_features_in_ = found.take("n_features_in", int)
        if self.n_features_in_ != record.n_features:
            refuse(found.where, f"{record.n_features} features are not {self.n_features_in_}")
        restore_names(self, found, record.n_features)

    def to_onnx(
        self, path: str | os.PathLike[str], *, dtype: Any = None, opset: int | None = None
    ) -> None:
        """Write an ONNX file that predicts as this estimator does: :func:`squareone.to_onnx`.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced.
        dtype : {numpy.float64, numpy.float32}, optional
            Of the rows and of the computation; by default that of the model.
        opset : int, optional
            The version of ONNX's operators; by default 17.

        Raises
        ------
        ExportError
            Where the graph, run by onnxruntime, differs from the estimator by more than rounding.
        """
        from .export import to_onnx  # imported late: it needs more than a fit does

        to_onnx(self, path, dtype=dtype, opset=opset)
