"""Arrays of other libraries than NumPy, such as tensors: in at the door, and out again.

Inside everything beside large matrices is NumPy's. With scikit-learn's ``array_api_dispatch`` what
is learned and predicted is of the library, and on the device, of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.utils import _array_api

from ..devices.place import check_tensor, refuse_on_gpu
from ..rows.checks import is_dask

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class ArrayKind:
    """The library of an array, and the device it is on."""

    library: Any
    device: Any

    def __str__(self) -> str:
        return f"{self.library.__name__} on {self.device}"

    def made(self, found: Any) -> Any:
        """An array of NumPy as one of this kind; texts, and what is no array, stay as they are."""
        if isinstance(found, tuple):
            return tuple(self.made(each) for each in found)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
            return found
        # memory of its own, which may be written
        return self.library.asarray(np.array(found), device=self.device)


def kind_of(A: Any) -> ArrayKind | None:
    """The kind of an array that is not NumPy's; None for all else, and without dispatch."""
    if not get_config().get("array_api_dispatch") or isinstance(A, np.ndarray) or is_dask(A):
        return None
    library, is_array = _array_api.get_namespace(A)
    if not is_array or _array_api._is_numpy_namespace(library):
        return None
    return ArrayKind(library, _array_api.device(A))


def as_numpy(A: Any, name: str) -> Any:
    """An array of another library as NumPy's; anything else as it is.

    Beside X, which is read where it is, collections of Dask are computed: a number or two per row.
    """
    if is_dask(A):
        return A if name == "X" else A.compute()
    check_tensor(A, name)
    kind = kind_of(A)
    if kind is None:
        refuse_on_gpu(A, name)
        return A
    return _array_api._convert_to_numpy(A, kind.library)


def as_numpy_array(value: Any, kind: ArrayKind) -> Any:
    """An array of a kind as NumPy's; anything else as it is."""
    if not isinstance(value, type(kind.library.asarray(0.0, device=kind.device))):
        return value
    return _array_api._convert_to_numpy(value, kind.library)


def lazy_on_dask(method: Method) -> Method:
    """A method of rows X, whose result is a lazy array where X is a collection of Dask."""

    @wraps(method)
    def of_rows(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **named)
        from .lazy_predictions import lazily  # imported late: Dask is an extra

        return lazily(self, method, X, args, named)

    return of_rows  # type: ignore[return-value]


def follows_rows(method: Method) -> Method:
    """A method of rows X, whose result is of the kind that X is."""

    @lazy_on_dask
    @wraps(method)
    def of_rows(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        kind = kind_of(X)
        if kind is None:
            _check_kind(self, method.__name__, None)
            return method(self, as_numpy(X, "X"), *args, **named)
        _check_kind(self, method.__name__, kind)
        return kind.made(method(self, as_numpy(X, "X"), *args, **named))

    return of_rows  # type: ignore[return-value]


def follow_rows_of_fit(estimator: Any, found: Any) -> Any:
    """What was learned as an array of the kind that the rows of the fit were."""
    kind: ArrayKind | None = getattr(estimator, "_array_kind", None)
    return found if kind is None else kind.made(found)


def _check_kind(estimator: Any, name: str, kind: ArrayKind | None) -> None:
    """Refuse rows of another kind than those of the fit; a loaded model takes any."""
    fitted = getattr(estimator, "_array_kind", kind)
    if fitted == kind or not get_config().get("array_api_dispatch"):
        return
    texts = [str(each or "numpy in the machine's memory") for each in (fitted, kind)]
    msg = (
        f"inputs passed to {type(estimator).__name__}.{name}() must use the same namespace and the "
        f"same device as those passed to fit(): these are {texts[1]}, and those were {texts[0]}"
    )
    raise ValueError(msg)
