"""to_onnx: the graph of a fitted estimator, checked and written."""

from __future__ import annotations

import importlib
import json
import math
import os
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..errors import ExportError
from ..kernels import Precomputed
from ..models import Hyperplane, KernelExpansion
from ..persistence import replacing
from ..planning.available_memory import readable
from ..rows import rows_of
from ..targets import Labels
from .agreement import check_agreement
from .decoding import beside_complement, labels, probabilities
from .graph import MACHINE_LEARNING, MACHINE_LEARNING_OPSET, Graph, Shape, Tensor
from .kernel_nodes import kernel_values
from .pipeline_scalers import scaled
from .source import Source

# Understood by every onnxruntime since 1.12.
OPSET = 17
# Before it Shape has no first and last axis.
OLDEST_OPSET = 15

# What protobuf allows, less some room for the nodes.
LARGEST = 2**31 - 2**20


def to_onnx(
    estimator: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    dtype: Any = None,
    opset: int | None = None,
) -> None:
    r"""Write a fitted estimator, or a pipeline of scalers and an estimator, as an ONNX file.

    The graph has one input, ``X`` of shape (rows, d), and for a regressor one output,
    ``prediction``, of the shape that ``predict`` returns. A classifier has ``label``,
    ``decision_function`` and, where it has calibrated probabilities, ``probabilities`` (rows, k).
    A ``TableRegressor`` or ``TableClassifier`` has an input of shape (rows,) for every column that
    predictions need, called as the column: texts, in which an empty one is a gap, or numbers, in
    which NaN is one and booleans are 1 and 0.

    Before the file is written, onnxruntime runs the graph on rows like those of the fit, and its
    answers are compared with the estimator's.

    Parameters
    ----------
    estimator : RLSRegressor, RLSClassifier, TableRegressor, TableClassifier or Pipeline
        Fitted. Columns of dates, and words that are hashed, cannot be exported. Before an estimator
        of numbers a pipeline may have StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler and
        Normalizer; of a search the best estimator is taken.
    path : str or path-like
        The file; one that is there is replaced, once the new one is complete.
    dtype : {numpy.float64, numpy.float32}, optional
        Of ``X`` and of the computation; by default that of the model, which is float64 unless it
        was fitted to float32 rows.
    opset : int, optional
        The version of ONNX's operators, at least 15; by default 17, which every onnxruntime of the
        last years understands.

    Raises
    ------
    ExportError
        Where graph and estimator differ by more than rounding, where float32 is too coarse for a
        float64 model, or where the file would exceed 2 GiB. Nothing is written then.
    TypeError
        For a kernel, a step of a pipeline, a column of a table or classes that cannot be expressed.
    ImportError
        Where onnx or onnxruntime is not installed.

    Notes
    -----
    Values have to agree to :math:`4 \epsilon \sqrt{m + d}\, (\sum_i |c_i| e_i + |b|)`, with
    :math:`\epsilon e_i` the rounding of :math:`k(x, x_i)` to first order: terms of either sign may
    cancel.

    ``X`` is dense. The centers of a model that was fitted to sparse rows are dense in the file.

    The graph does not look at its input first: missing values and infinities, which ``predict``
    refuses, come out as NaN or as anything.

    **Cost**: a copy of the coefficients and centers, and predictions of at most 192 rows. A run of
    the graph on n rows takes n·m numbers of memory for m centers, and n·d for a linear model: give
    it batches.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import onnxruntime
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor, to_onnx
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RLSRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, Path(folder) / "model.onnx")
    ...     session = onnxruntime.InferenceSession(Path(folder) / "model.onnx")
    >>> (prediction,) = session.run(None, {"X": X[:1]})
    >>> round(float(prediction[0] - model.predict(X[:1])[0]), 6)
    0.0
    """
    _require("onnx", "onnxruntime")
    opset = OPSET if opset is None else opset
    _check_opset(opset)
    path = Path(path)
    if not path.absolute().parent.is_dir():
        msg = f"the folder of {os.fspath(path)!r} does not exist: make it first"
        raise FileNotFoundError(msg)
    source = Source.of(estimator)
    kind = _dtype(dtype, source)
    _check_size(_numbers_of_sparse(source.model) * kind.itemsize, kind, ", which are dense there,")
    graph = _graph(source, kind)
    _check_size(graph.nbytes, kind)
    model = _serialised(source, graph, opset)
    check_agreement(source, model, kind)
    with replacing(path) as file:
        file.write(model)


def _require(*modules: str) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            msg = f'to_onnx needs {module}, which is not installed: pip install "squareone[onnx]"'
            raise ImportError(msg) from error


def _check_opset(opset: Any) -> None:
    from onnx.defs import onnx_opset_version

    newest = onnx_opset_version()
    whole = isinstance(opset, Integral) and not isinstance(opset, bool)
    if not whole or not OLDEST_OPSET <= opset <= newest:
        msg = (
            f"opset={opset!r}: an integer from {OLDEST_OPSET} to {newest}, the newest that the "
            "installed onnx knows, is expected"
        )
        raise ValueError(msg)


def _dtype(dtype: Any, source: Source) -> np.dtype:
    if dtype is None:
        return source.model.dtype
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        msg = f"dtype={dtype!r}: numpy.float64, numpy.float32 or None is expected"
        raise ValueError(msg)
    return kind


def _numbers_of_sparse(model: KernelExpansion | Hyperplane) -> int:
    """Numbers that sparse centers will be, once they are dense: to be known before they are."""
    centers = getattr(model, "centers", None)
    return 0 if centers is None or not rows_of(centers).sparse else math.prod(centers.shape)


def _check_size(nbytes: int, dtype: np.dtype, aside: str = ",") -> None:
    """Refuse more than a file can hold."""
    if nbytes <= LARGEST:
        return
    advice = "" if dtype.itemsize == 4 else ", or export with dtype=numpy.float32: it takes half"
    msg = (
        f"the model has {readable(nbytes)} of coefficients and centers{aside} and a file of ONNX "
        f"holds less than {readable(2**31)}: nothing was written. Fit to fewer rows{advice}"
    )
    raise ExportError(msg)


def _graph(source: Source, dtype: np.dtype) -> Graph:
    """Everything from rows to predictions."""
    graph = Graph("squareone")
    if source.inputs is not None:
        rows = source.inputs.rows(graph, dtype)
    else:
        rows = scaled(graph.input("X", dtype, ("rows", source.features)), source.scalers)
    values = _values(source.model, rows)
    targets = source.targets
    columns = source.model.coefficients.shape[1]
    if not isinstance(targets, Labels):
        _output(graph, "prediction", values, columns, vector=targets.vector)
        return graph
    label = labels(values, targets, source.threshold)
    shape: Shape = ("rows", columns) if targets.multilabel else ("rows",)
    graph.output("label", label, shape)
    _output(graph, "decision_function", values, columns, vector=source.pair)
    if source.calibration is not None:
        p = probabilities(values, source.calibration)
        p = beside_complement(p) if source.pair else p
        graph.output("probabilities", p, ("rows", 2 if source.pair else columns))
    return graph


def _output(graph: Graph, name: str, values: Tensor, columns: int, *, vector: bool) -> None:
    if vector:
        graph.output(name, values.column(0), ("rows",))
    else:
        graph.output(name, values, ("rows", columns))


def _values(model: KernelExpansion | Hyperplane, X: Tensor) -> Tensor:
    """f at the rows (n, d) → (n, t)."""
    if isinstance(model, Hyperplane):
        features = X
    elif isinstance(model.kernel, Precomputed):
        features = X.columns(model.indices)
    else:
        assert model.centers is not None
        features = kernel_values(model.kernel, X, model.centers)
    return features.times(model.coefficients, model.intercepts)


def _serialised(source: Source, graph: Graph, opset: int) -> bytes:
    """The file's contents, checked by onnx itself."""
    import onnx

    from ..version import __version__

    opsets = [onnx.helper.make_opsetid("", int(opset))]
    if MACHINE_LEARNING in graph.domains:
        opsets.append(onnx.helper.make_opsetid(MACHINE_LEARNING, MACHINE_LEARNING_OPSET))
    kernel = source.estimator.kernel_
    model = onnx.helper.make_model(
        graph.proto(),
        opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets),
        producer_name="squareone",
        producer_version=__version__,
        doc_string=f"{source.estimator!r}\nkernel: {kernel}",
    )
    about = {"estimator": type(source.estimator).__name__, "kernel": str(kernel)}
    if source.names and source.inputs is None:
        about["feature_names"] = json.dumps(source.names)
    onnx.helper.set_model_props(model, about)
    onnx.checker.check_model(model, full_check=True)
    contents: bytes = model.SerializeToString()
    return contents
