"""Features of a table's record batches: its columns, or what a fitted transformer makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from .checks import chosen_type, float_type, not_numeric
from .extras import extra

__all__ = ["Features", "NumericColumns", "TransformedColumns"]


class NumericColumns:
    """Columns of numbers as they are, d of them.

    Their common type is that of NumPy: float32 where all are, or go into it.
    """

    sparse = False

    def __init__(self, schema: Any, source: str, dtype: Any) -> None:
        kinds = [_numpy_type(field.type) for field in schema]
        for field, kind in zip(schema, kinds, strict=True):
            if kind is None:
                raise not_numeric(repr(field.name), source, field.type)
        self.names: list[str] | None = list(schema.names)
        self.width = len(kinds)
        known = [kind for kind in kinds if kind is not None]
        common = np.result_type(*known) if known else np.dtype(np.float64)
        self.dtype = chosen_type(dtype) or float_type(common) or np.dtype(np.float64)

    def __call__(self, batch: Any) -> Array:
        """The numbers (b, d) of a record batch; what is missing is NaN."""
        pyarrow = extra("pyarrow", "reading tables")
        kind = pyarrow.from_numpy_dtype(self.dtype)
        block = np.empty((batch.num_rows, self.width), self.dtype)
        for position, column in enumerate(batch.columns):
            if pyarrow.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            # 16 bits become 32 below: older versions of pyarrow cannot
            if column.type not in (kind, pyarrow.float16()):
                column = column.cast(kind, safe=False)
            block[:, position] = column.to_numpy(zero_copy_only=False)
        return block


class TransformedColumns:
    """What a fitted transformer makes of columns, given to it as a pandas data frame.

    How wide its output is, of which type, and whether it is sparse, a first batch says.
    """

    def __init__(self, transformer: Any, first: Any, source: str, dtype: Any) -> None:
        self._transformer = transformer
        found = self(first)
        if not issparse(found):
            found = np.asarray(found)
        self.sparse = bool(issparse(found))
        self.width = int(found.shape[1])
        own = np.dtype(np.float64) if found.dtype.kind == "O" else float_type(found.dtype)
        if own is None:
            raise not_numeric("any", f"what the transformer made of {source}", found.dtype)
        self.dtype = chosen_type(dtype) or own
        self.names = _names_out(transformer, self.width)

    def __call__(self, batch: Any) -> Any:
        """Features (b, d) of a record batch, an array or a sparse matrix."""
        extra("pandas", "transformer=")
        made = self._transformer.transform(batch.to_pandas())
        return made if issparse(made) else np.asarray(made)


Features = NumericColumns | TransformedColumns


def check_transformer(transformer: Any, source: str) -> None:
    """Refuse what is not fitted: what it learns has to be the same for all blocks."""
    if not hasattr(transformer, "transform"):
        msg = f"transformer={transformer!r}: a fitted scikit-learn transformer is expected"
        raise TypeError(msg)
    try:
        check_is_fitted(transformer)
    except (NotFittedError, TypeError) as error:
        msg = (
            f"transformer={type(transformer).__name__}(...) is not fitted, and {source} is read "
            "block by block: fit it first, on a data frame of some rows that have every category"
        )
        raise NotFittedError(msg) from error


def _names_out(transformer: Any, width: int) -> list[str] | None:
    try:
        names = [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, NotFittedError, ValueError):
        return None  # it, or a step of it, has no names to give
    return names if len(names) == width else None


def _numpy_type(kind: Any) -> np.dtype | None:
    """The type of the numbers of a column; None where it has others."""
    types = extra("pyarrow", "reading tables").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind) or types.is_null(kind):
        return np.dtype(np.float64)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    return None
