"""What a fitted estimator writes into files: itself, a graph that predicts, and predictions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..arrays import Array
from ..rows import BlockWriter, GeneratedRows, Rows, open_rows, rows_of
from .fitted import Fitted

#: What can be written row by row, and rows in a block of it.
_WRITABLE = ("predict", "decision_function", "predict_proba", "predict_interval")
_FILE_ROWS = 16_384


class IntoFiles(Fitted):
    """Saving, export and predictions into files; a part of the estimators."""

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
            Rows; a path is opened by :func:`~squareone.rows.open_rows`.
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
        self._recorded()
        ask = getattr(self, method, None)
        if method not in _WRITABLE or ask is None:
            known = ", ".join(f'"{name}"' for name in _WRITABLE if hasattr(self, name))
            msg = f"method={method!r}: one of {known} is expected"
            raise ValueError(msg)
        if isinstance(X, str | os.PathLike):
            X = open_rows(X)
        rows = self._rows(X)
        names = getattr(self, "feature_names_in_", None)
        writer: BlockWriter | None = None
        with ExitStack() as stack:
            for _, block in rows_of(rows).row_blocks(_FILE_ROWS):
                values = np.asarray(ask(_named(block, names)))
                values = values.reshape(values.shape[0], -1) if values.ndim == 3 else values
                if writer is None:
                    columns = self._columns_of(method, values)
                    writer = stack.enter_context(BlockWriter(path, columns, rows.shape[0]))
                writer.write(values)

    def _columns_of(self, method: str, values: Array) -> list[str]:
        """Names of what a method gives for every row."""
        if method == "predict_interval":
            t = values.shape[1] // 2
            ends = ("lower", "upper")
            return list(ends) if t == 1 else [f"{end}_{j}" for j in range(t) for end in ends]
        if values.ndim == 1:
            return ["prediction" if method == "predict" else method]
        classes = getattr(self, "classes_", np.arange(values.shape[1]))
        return [f"{method}_{name}" for name in classes]


def _named(block: Rows, names: Array | None) -> Any:
    """A block of rows that were checked, as rows whose features have names."""
    if names is None:
        return block.X

    def make() -> Iterator[Any]:
        yield block.X

    return GeneratedRows(
        make, block.shape, block.dtype, sparse=block.sparse, feature_names=list(names)
    )
