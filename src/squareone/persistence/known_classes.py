"""The classes a file may name, and how each is written and made again.

Kernels, codings and selectors of centers are here; estimators, and what else stands above this
room, register themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import kernels
from ..centers import Given, KMeans, LeverageScores, PivotedCholesky, TraceGreedy, Uniform
from ..targets import CODINGS
from .checked_fields import Fields, refuse
from .values import Known

#: Transformers whose state is numbers and texts, and what combines them.
_FROM_SKLEARN = {
    "sklearn.compose": ["ColumnTransformer"],
    "sklearn.decomposition": ["PCA", "TruncatedSVD"],
    "sklearn.feature_extraction.text": [
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ],
    "sklearn.feature_selection": ["VarianceThreshold"],
    "sklearn.impute": ["KNNImputer", "MissingIndicator", "SimpleImputer"],
    "sklearn.pipeline": ["FeatureUnion", "Pipeline"],
    "sklearn.preprocessing": [
        "Binarizer",
        "FunctionTransformer",  # without a function: the identity
        "KBinsDiscretizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
        "TargetEncoder",
    ],
}
_MODULES = {name: module for module, names in _FROM_SKLEARN.items() for name in names}
_KERNELS = {name: getattr(kernels, name) for name in kernels.__all__ if name != "Kernel"}
_CODINGS = {kind.__name__: kind for kind in CODINGS.values()}
_SELECTORS = {
    kind.__name__: kind
    for kind in (Given, KMeans, LeverageScores, PivotedCholesky, TraceGreedy, Uniform)
}
_VALUES: dict[str, type] = _KERNELS | _CODINGS | _SELECTORS
_ESTIMATORS: dict[str, type] = {}
_TRANSFORMERS: dict[str, type] = {}
# Parameters that a fitted model is done with.
_SPARE_THERE = ("cv", "memory", "random_state")
_SELECTS_BY = ("pattern", "dtype_include", "dtype_exclude")
_SPARE = ("cv", "scoring", "random_state", "threshold", "checkpoint", "taxonomy")


def register_estimators(*kinds: type) -> None:
    """Let files name these estimators, which write and restore what they have learned."""
    _ESTIMATORS.update({kind.__name__: kind for kind in kinds})


def register_transformers(*kinds: type) -> None:
    """Let files name these, as steps of a pipeline; they write and restore what they learned."""
    _TRANSFORMERS.update({kind.__name__: kind for kind in kinds})


def register_value(kind: type) -> None:
    """Let files name a class whose objects are their parameters."""
    _VALUES[kind.__name__] = kind


def is_estimator(value: Any) -> bool:
    """Whether it is an estimator of this library."""
    return isinstance(value, tuple(_ESTIMATORS.values()))


def known(name: str) -> Known | None:
    """What is known about the class called ``name``; None if it has no place in a file."""
    if name in _ESTIMATORS:
        kind: Any = _ESTIMATORS[name]
        spare = [parameter for parameter in _SPARE if parameter in kind._parameter_constraints]
        return Known(kind, _learned, _relearn, tuple(spare))
    if name in _TRANSFORMERS:
        transformer: Any = _TRANSFORMERS[name]
        return Known(transformer, _learned, _relearn, transformer._spare_parameters)
    if name in _VALUES:
        return Known(_VALUES[name], _nothing, _nothing_from)
    if name in _MODULES:
        # of the names in the table above, and imported late: most programs need none of them
        kind = getattr(import_module(_MODULES[name]), name)
        return Known(kind, _attributes, _set_attributes, _SPARE_THERE, _refuse_cache)
    if name == "make_column_selector":  # which columns a ColumnTransformer takes
        kind = import_module("sklearn.compose").make_column_selector
        return Known(kind, _nothing, _nothing_from, attributes=_SELECTS_BY)
    return None


def _learned(estimator: Any) -> dict[str, Any]:
    return estimator._fitted_state()


def _relearn(estimator: Any, found: Fields) -> None:
    estimator._restore(found)


def _nothing(parameters_only: Any) -> dict[str, Any]:
    return {}


def _nothing_from(parameters_only: Any, found: Fields) -> None:
    return


def _attributes(estimator: Any) -> dict[str, Any]:
    """What scikit-learn's fit has left in the object."""
    parameters = estimator.get_params(deep=False)
    return {name: value for name, value in vars(estimator).items() if name not in parameters}


def _set_attributes(estimator: Any, found: Fields) -> None:
    _refuse_cache(estimator)
    parameters = estimator.get_params(deep=False)
    for name in found.names():
        # nothing that the class has, no method for instance, is covered
        fitted = (name.endswith("_") or name.startswith("_")) and not name.startswith("__")
        if not fitted or name in parameters or hasattr(type(estimator), name):
            refuse(found.where, f"{name} is not an attribute of a fit")
        setattr(estimator, name, found.take(name, object))


def _refuse_cache(estimator: Any) -> None:
    memory = getattr(estimator, "memory", None)
    if memory is not None:
        msg = (
            f"memory={memory!r} names a cache, and what is read from that is "
            "unpickled: set_params(memory=None) first"
        )
        raise ValueError(msg)
