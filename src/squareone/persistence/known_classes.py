"""The classes a file may name, and how each is written and made again."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import kernels
from ..centers import Given, KMeans, LeverageScores, PivotedCholesky, TraceGreedy, Uniform
from ..estimators.classifier import RLSClassifier
from ..estimators.orols_classifier import OROLSClassifier
from ..estimators.orols_regressor import OROLSRegressor
from ..estimators.regressor import RLSRegressor
from ..estimators.streaming import (
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from ..online import Taxonomy
from ..targets import CODINGS
from . import Fields, Known, refuse

#: Transformers whose state is numbers and texts, and what combines them.
_FROM_SKLEARN = {
    "sklearn.compose": ["ColumnTransformer"],
    "sklearn.decomposition": ["PCA"],
    "sklearn.feature_extraction.text": [
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ],
    "sklearn.impute": ["MissingIndicator", "SimpleImputer"],
    "sklearn.pipeline": ["Pipeline"],
    "sklearn.preprocessing": [
        "FunctionTransformer",  # without a function: the identity
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
    ],
}
_MODULES = {name: module for module, names in _FROM_SKLEARN.items() for name in names}
_KERNELS = {name: getattr(kernels, name) for name in kernels.__all__ if name != "Kernel"}
_CODINGS = {kind.__name__: kind for kind in CODINGS.values()}
_SELECTORS = {
    kind.__name__: kind
    for kind in (Given, KMeans, LeverageScores, PivotedCholesky, TraceGreedy, Uniform)
}
_VALUES = _KERNELS | _CODINGS | _SELECTORS | {"Taxonomy": Taxonomy}
_ESTIMATORS = {
    kind.__name__: kind
    for kind in (
        FilteringClassifier,
        HierarchicalClassifier,
        IncrementalRLSClassifier,
        IncrementalRLSRegressor,
        OROLSClassifier,
        OROLSRegressor,
        RLSClassifier,
        RLSRegressor,
        SecondOrderPerceptron,
        SelectiveSamplingClassifier,
    )
}
# Parameters that a fitted model is done with.
_SPARE = ("cv", "scoring", "random_state", "threshold", "checkpoint", "taxonomy")


def known(name: str) -> Known | None:
    """What is known about the class called ``name``; None if it has no place in a file."""
    if name in _ESTIMATORS:
        kind = _ESTIMATORS[name]
        spare = [parameter for parameter in _SPARE if parameter in kind._parameter_constraints]
        return Known(kind, _learned, _relearn, tuple(spare))
    if name in _VALUES:
        return Known(_VALUES[name], _nothing, _nothing_from)
    if name in _MODULES:
        # of the names in the table above, and imported late: most programs need none of them
        kind = getattr(import_module(_MODULES[name]), name)
        return Known(kind, _attributes, _set_attributes, ("memory", "random_state"))
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
    _refuse_cache(parameters)
    return {name: value for name, value in vars(estimator).items() if name not in parameters}


def _set_attributes(estimator: Any, found: Fields) -> None:
    parameters = estimator.get_params(deep=False)
    _refuse_cache(parameters)
    for name in found.names():
        # nothing that the class has, no method for instance, is covered
        fitted = (name.endswith("_") or name.startswith("_")) and not name.startswith("__")
        if not fitted or name in parameters or hasattr(type(estimator), name):
            refuse(found.where, f"{name} is not an attribute of a fit")
        setattr(estimator, name, found.take(name, object))


def _refuse_cache(parameters: dict[str, Any]) -> None:
    if parameters.get("memory") is not None:
        msg = (
            f"memory={parameters['memory']!r} names a cache, and what is read from that is "
            "unpickled: set_params(memory=None) first"
        )
        raise ValueError(msg)
