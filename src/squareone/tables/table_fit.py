"""What TableRegressor and TableClassifier share: a table in, and rows as numbers for the fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..estimators.array_libraries import as_numpy
from ..estimators.base import RegularisedLeastSquares
from ..fitting.kernel_choice import POOL_ROWS, FoldModel
from ..fitting.learned_kernel_state import models_for_file
from ..fitting.request import FitRequest, KernelSearch
from ..fitting.result import FitResult
from ..kernels.gradients import mean_squares
from ..kernels.names import is_precomputed, kernel_from
from ..models import Hyperplane
from ..persistence import Fields, refuse
from ..planning.available_memory import memory_limit
from ..rows import Stream
from ..rows.checks import is_dask
from ..rows.mapped_table import is_mapped
from .columns import refuse_dask
from .encoded_rows import EncodedRows, EncodedTable, is_partitioned, rows_of_table, transformed
from .settled_table import settled
from .table_encoder import TableEncoder

if TYPE_CHECKING:
    from ..export.table_inputs import TableInputs

#: Scalings that are tried where no encoder is given, by the number of their preparation.
TRIED_SCALINGS = ("standard", "quantile")
# Rows at which slopes are taken for importances.
_SLOPE_ROWS = 2000
# Copies of the encoded rows that a fit in memory has at once, and rows from which they are read in
# passes where these do not fit: those among which the kernel is chosen then teach the encoder.
_COPIES, _STREAMED_ROWS = 3, 2 * POOL_ROWS


def encoders_of(estimator: Any, task: str) -> list[TableEncoder]:
    """The encoders to choose among: the user's, or one for each scaling."""
    if estimator.encoder is not None:
        encoder = clone(estimator.encoder).set_params(task=task)
        # the same fit every time, as random_state=None of the estimator says
        return [encoder.set_params(random_state=0) if encoder.random_state is None else encoder]
    return [TableEncoder(scaling=scaling, task=task, random_state=0) for scaling in TRIED_SCALINGS]


def search_of(estimator: Any) -> KernelSearch:
    """What to choose among: where the kernel is given the encoder alone."""
    search = KernelSearch.asked(estimator.kernel)
    if search is not None:
        return search
    kernel = kernel_from(estimator.kernel)
    if is_precomputed(kernel):
        msg = (
            f"{type(estimator).__name__} makes numbers of the columns of a table, and "
            'kernel="precomputed" takes a matrix: use RLSRegressor or RLSClassifier'
        )
        raise ValueError(msg)
    return KernelSearch((kernel,), learned=False)


def request_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, task: str
) -> FitRequest:
    """The request of a fit to a table; its rows stand in for those of the encoder to be chosen."""
    if not get_config()["skip_parameter_validation"]:
        estimator._validate_params()
    if is_dask(X):
        X, y, sample_weight = partitions_of(estimator, X, y, sample_weight)
    else:
        X = settled(table_in_memory(X, type(estimator).__name__), type(estimator).__name__)
    encoders = encoders_of(estimator, task)
    stand_in = clone(encoders[0]).set_params(many_levels="hash")
    rows: Any = None
    if is_partitioned(X):
        some = np.sort(np.random.default_rng(0).choice(X.n, POOL_ROWS, replace=False))
        stand_in.fit(X.rows(some))
        rows = X.partitioned_rows(stand_in)
    elif is_mapped(X) and X.num_rows >= _STREAMED_ROWS:
        some = np.sort(np.random.default_rng(0).choice(X.num_rows, POOL_ROWS, replace=False))
        stand_in.fit(rows_of_table(X, some))
        rows = EncodedTable(stand_in, X)
        needed = _COPIES * rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
        rows = rows if needed > memory_limit(estimator.memory_limit) else None
    streamed = rows is not None
    if rows is None:
        rows = np.ascontiguousarray(stand_in.fit_transform(X, None, sample_weight))
    request = RegularisedLeastSquares._request(estimator, rows, y, sample_weight, groups)
    estimator.n_features_in_ = stand_in.n_features_in_
    if hasattr(stand_in, "feature_names_in_"):
        estimator.feature_names_in_ = stand_in.feature_names_in_
    weights = request.user_weights
    whole = EncodedRows(X, np.asarray(y), weights, encoders, streamed=streamed)
    assert request.search is not None
    search = replace(
        request.search,
        preparations=whole.preparations,
        ways=len(encoders),
        prepared=whole.prepared,
    )
    return replace(request, search=search)


def partitions_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """A collection of Dask with its targets and weights here.

    Few rows come to the client as they are: the fit is that of the table in memory.
    """
    from .partitioned_tables import PartitionedTable  # imported late: Dask is an extra

    y, sample_weight = as_numpy(y, "y"), as_numpy(sample_weight, "sample_weight")
    table = PartitionedTable(X, type(estimator).__name__)
    few = table.n < _STREAMED_ROWS
    return table.rows(np.arange(table.n)) if few else table, y, sample_weight


def table_in_memory(X: Any, owner: str) -> Any:
    """What came, of which rows can be taken: a frame, an Arrow table, an array or a list."""
    if issparse(X):
        msg = (
            f"X is a sparse matrix, and {owner} takes tables with columns of different kinds: use "
            "RLSRegressor or RLSClassifier, or pass X.toarray()"
        )
        raise TypeError(msg)
    if isinstance(X, Stream):
        msg = (
            f"X is read block by block ({type(X).__name__}), and {owner} takes a table in memory: "
            "use RLSRegressor or RLSClassifier on numbers, or read the file into a data frame"
        )
        raise TypeError(msg)
    refuse_dask(X, owner)
    framed = hasattr(type(X), "columns") or hasattr(type(X), "schema")
    return np.asarray(X) if hasattr(X, "__array__") and not framed else X


def remember_encoder(estimator: Any, request: FitRequest, record: FitResult) -> None:
    """Keep the encoder that was chosen, and the importances of the columns."""
    assert request.search is not None
    whole = request.search.prepared.__self__  # type: ignore[union-attr]
    estimator.encoder_ = whole.encoder
    some = np.arange(record.kept.size)
    if some.size > _SLOPE_ROWS:
        some = np.linspace(0, some.size - 1, _SLOPE_ROWS).astype(int)
    weights = record.sample.weights
    estimator.feature_importances_ = importances(
        record,
        transformed(whole.encoder, rows_of_table(whole.X, record.kept[some])),
        whole.encoder,
        None if weights is None else weights[some],
    )


def importances(
    record: FitResult, rows: Array, encoder: TableEncoder, weights: Array | None
) -> Array:
    """How much predictions move with each column of a table, in shares of all (d,).

    The root of the mean square of the slope along a feature, times the feature's standard
    deviation; of a column the root of the sum of squares over its features.

    Parameters
    ----------
    record : FitResult
    rows : array (m, k)
        Encoded rows at which slopes are taken.
    encoder : TableEncoder
    weights : array (m,) or None
        How many rows each row counts as.
    """
    model = record.model
    if isinstance(model, Hyperplane):
        squares = np.square(model.coefficients, dtype=np.float64).sum(axis=1)
    else:
        squares = mean_squares(model.kernel, rows, model.centers, model.coefficients, weights)
    means = np.average(rows, axis=0, weights=weights)
    squares = squares * np.average((rows - means) ** 2, axis=0, weights=weights)
    ends = np.cumsum([0, *(len(column.outputs) for column in encoder.columns_)])
    sums = np.array([squares[i:j].sum() for i, j in pairwise(ends)])
    roots = np.sqrt(sums)
    return roots / (roots.sum() or 1.0)


def encoded_rows(estimator: Any, X: Any) -> Array:
    """New rows (m, k) as numbers, in the precision of the model."""
    check_is_fitted(estimator)
    X = table_in_memory(X, type(estimator).__name__)
    rows = np.ascontiguousarray(estimator.encoder_.transform(X))
    return rows.astype(estimator._recorded().model.dtype, copy=False)


def tags_of_tables(tags: Any) -> Any:
    """scikit-learn's tags of an estimator, for one that takes tables."""
    tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
    tags.input_tags.sparse = tags.input_tags.pairwise = False
    return tags


def rows_of_fold(X: Any, fold: FoldModel, dtype: np.dtype) -> Array:
    """New rows (m, k) of a table as the model of a fold takes them."""
    assert fold.rows is not None
    if not hasattr(fold.prepared_by, "columns_"):  # what varies does so in the fold alone
        return np.zeros((len(X), fold.rows.shape[1]), dtype)
    return transformed(fold.prepared_by, X).astype(dtype, copy=False)


def graph_inputs_of(estimator: Any) -> TableInputs:
    """The columns of a table as inputs of an exported graph."""
    from .graph_inputs import GraphInputs  # imported late: it needs more than a fit does

    return GraphInputs(estimator.encoder_, type(estimator).__name__)


def table_state(estimator: Any) -> dict[str, Any]:
    """What a file has beside the fit."""
    names = getattr(estimator, "feature_names_in_", None)
    learned = estimator._recorded().learned
    return {
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "encoder": estimator.encoder_,
        "importances": estimator.feature_importances_,
        "fold_encoders": [model.prepared_by for model in models_for_file(learned)],
    }


def restore_table(estimator: Any, found: Fields, d: int) -> None:
    """Set what :func:`table_state` gave, for a model of ``d`` encoded features."""
    estimator.encoder_ = encoder = found.take("encoder", TableEncoder)
    if not hasattr(encoder, "columns_"):
        refuse(found.where, "the encoder is not fitted")
    if encoder.output_columns_.size != d:
        refuse(found.where, f"the encoder has {encoder.output_columns_.size} outputs, not {d}")
    estimator.n_features_in_ = found.take("n_features_in", int)
    if estimator.n_features_in_ != encoder.n_features_in_:
        refuse(found.where, f"{estimator.n_features_in_} columns are not those of the encoder")
    if found.given("feature_names_in"):
        names = found.take("feature_names_in", list)
        if names != getattr(encoder, "feature_names_in_", np.empty(0)).tolist():
            refuse(found.where, "the names of columns are not those of the encoder")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    _restore_folds(estimator._recorded().learned.models, found)
    shape = (estimator.n_features_in_,)
    estimator.feature_importances_ = found.array("importances", shape, (np.float64,), least=0.0)


def _restore_folds(models: list[FoldModel], found: Fields) -> None:
    """Give every model of a fold the encoder of its rows."""
    encoders = found.take("fold_encoders", list)
    if len(encoders) != len(models):
        refuse(found.where, f"{len(encoders)} encoders of folds for {len(models)} models")
    for number, (model, encoder) in enumerate(zip(models, encoders, strict=True)):
        where = f"{found.where}.fold_encoders.{number}"
        if not isinstance(encoder, TableEncoder) or model.rows is None:
            refuse(where, "an encoder, and a model with rows by it, are expected")
        k = encoder.output_columns_.size if hasattr(encoder, "columns_") else 1
        if model.rows.shape[1] != k:
            refuse(where, f"it has {k} outputs, and rows of its model {model.rows.shape[1]}")
        models[number] = replace(model, prepared_by=encoder)
