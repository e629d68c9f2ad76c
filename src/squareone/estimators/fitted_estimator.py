"""The base of all estimators: the result of a fit, rows through it, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..devices import HOST, Place
from ..kernels import Gaussian, Kernel
from ..kernels.names import BY_NAME, is_precomputed
from ..kernels.precomputed import check_kernel_values
from ..parameters import NamedParameters
from ..persistence import Fields, refuse
from ..rows import rows_of
from . import validation

if TYPE_CHECKING:
    from ..export.table_inputs import TableInputs

# What the penalty is called elsewhere, or might be.
_PENALTIES = (
    "lam",
    "lambda_",
    "lambd",
    "reg",
    "reg_alpha",
    "reg_lambda",
    "regularization",
    "ridge",
)


def _meant_by_kernel(name: str, value: Any, others: Mapping[str, Any]) -> str:
    """What a parameter is that belongs to the kernel among ``others``, or to another one."""
    kernel = others.get("kernel", "gaussian")
    first = type(kernel) if isinstance(kernel, Kernel) else BY_NAME.get(str(kernel), Gaussian)
    for kind in (first, *BY_NAME.values()):
        meant = kind._meant(name, value, {})
        if name in kind._get_param_names():
            return (
                f"it belongs to the kernel: kernel={kind.__name__}({name}={value!r}), from "
                "squareone.kernels"
            )
        if meant:
            return f"it belongs to the kernel, kernel=..., from squareone.kernels; {meant}"
    return ""


def _has_callbacks(_: object = None) -> bool:
    return find_spec("sklearn.callback") is not None


@available_if(_has_callbacks)
def set_callbacks(self: Any, *callbacks: Any) -> Any:
    """Set the callbacks of the following fits, such as ``sklearn.callback.ProgressBar()``.

    Parameters
    ----------
    *callbacks : callback instances
        Without any, those that were set are removed.

    Returns
    -------
    self
    """
    # A method, for the body of a class. scikit-learn looks for the method, not for its own mixin:
    # deriving from that would import sklearn.callback, and with it rich, into every program.
    from sklearn.callback import CallbackSupportMixin

    return CallbackSupportMixin.set_callbacks(self, *callbacks)


class FittedEstimator(NamedParameters):
    """The result of a fit, its predictions, and what goes into files; not for use by itself."""

    #: Whether what comes are tables, of which an encoder makes rows.
    _takes_tables: ClassVar[bool] = False

    kernel: Any
    kernel_: Any
    n_features_in_: int
    _record: Any

    @classmethod
    def _meant(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        known = cls._get_param_names()
        if name in _PENALTIES and "alpha" in known:
            return "the penalty is called alpha"
        if name == "C" and "alpha" in known:
            number = float(value) if isinstance(value, Real) else 0.0
            example = f", {0.5 / number:.4g} for C={number:g}" if number > 0.0 else ""
            return f"the penalty is called alpha, which is 1/(2·C){example}"
        if name == "probability" and "calibration" in known:
            return "predict_proba is there unless calibration=None"
        return _meant_by_kernel(name, value, others) if "kernel" in known else ""

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
        given = is_precomputed(self.kernel_)
        if given:
            check_kernel_values(X, self.n_features_in_)
        X = validation.check_rows(self, X, reset=False, sparse=not given)
        return X if X.dtype == dtype else rows_of(X).astype(dtype).X

    def _values(self, X: Any) -> Array:
        """f at the rows of X → (n, t)."""
        rows = self._rows(X)
        with self._place().active():
            return self._recorded().model.values(rows)

    def _place(self) -> Place:
        """Where kernel values of new rows are computed."""
        return HOST

    # --- files ---

    def _graph_inputs(self) -> TableInputs | None:
        """How a graph takes the columns of a table; None for rows of numbers."""
        return None

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
        from ..persistence.save_load import save

        save(self, path)

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
        from ..export import to_onnx  # imported late: it needs more than a fit does

        to_onnx(self, path, dtype=dtype, opset=opset)

    def predict_file(
        self, X: Any, path: str | os.PathLike[str], *, method: str = "predict"
    ) -> None:
        """Predict rows block by block, into a file: neither rows nor predictions are held.

        Parameters
        ----------
        X : Stream, array-like or sparse matrix of shape (m, d), or the path of a file
            Rows; a path is opened by :func:`~squareone.rows.open_rows`. Where the fit has seen
            names, columns are found by them: they may be in any order, among others.
        path : str or PathLike
            A ``.npy``, ``.csv`` or ``.parquet`` file; one that is there is replaced once the new
            one is complete.
        method : str, default="predict"
            ``"predict"``, ``"decision_function"``, ``"predict_proba"`` or ``"predict_interval"``.

        Notes
        -----
        **Cost**: that of the method; memory for a few blocks of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import RLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = RLSRegressor("linear").fit(X, y)
        >>> with TemporaryDirectory() as folder:
        ...     model.predict_file(X, f"{folder}/predictions.npy")
        ...     round(float(np.load(f"{folder}/predictions.npy").mean()), 3)
        152.133
        """
        from ..export.prediction_file import write_predictions  # imported late, as to_onnx

        write_predictions(self, X, path, method)

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
        if not found.given("feature_names_in"):
            return
        names = found.take("feature_names_in", list)
        texts = all(isinstance(name, str) for name in names)
        if not texts or not len(set(names)) == len(names) == d:
            refuse(found.where, f"{len(names)} names of {d} features")
        self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        kernel = self.kernel
        # a width for every feature is searched on dense rows only
        searched = getattr(kernel, "ard", False) and isinstance(kernel.sigma, str)
        # and a metric is learned from them only
        chosen = isinstance(kernel, str) and kernel == "auto"
        searched = searched or chosen or getattr(kernel, "learns_metric", False)
        tags.input_tags.sparse = not (tags.input_tags.pairwise or searched)
        return tags
