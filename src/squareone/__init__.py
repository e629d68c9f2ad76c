"""Learning with the square loss.

Every λ and the exact leave-one-out error from one factorisation: :class:`RLSRegressor` and
:class:`RLSClassifier`; models with few centers, chosen greedily: :class:`OROLSRegressor` and
:class:`OROLSClassifier`. From a stream, row by row: :class:`IncrementalRLSRegressor`,
:class:`IncrementalRLSClassifier`, :class:`SecondOrderPerceptron`,
:class:`SelectiveSamplingClassifier`, :class:`FilteringClassifier` and
:class:`HierarchicalClassifier`. With the kernels of :mod:`squareone.kernels` and the tables and
figures of :mod:`squareone.report`; :mod:`squareone.tables` makes numbers of data frames.
:func:`save` and :func:`load` keep what was learned in a file (:func:`check_saveable` asks before
the fit), and :func:`to_onnx` writes it as an ONNX file.
"""

from typing import Any

from . import kernels
from .estimators import OROLSClassifier, OROLSRegressor, RLSClassifier, RLSRegressor
from .version import __version__

__all__ = [
    "FilteringClassifier",
    "HierarchicalClassifier",
    "IncrementalRLSClassifier",
    "IncrementalRLSRegressor",
    "OROLSClassifier",
    "OROLSRegressor",
    "RLSClassifier",
    "RLSRegressor",
    "SecondOrderPerceptron",
    "SelectiveSamplingClassifier",
    "TableClassifier",
    "TableRegressor",
    "__version__",
    "check_saveable",
    "kernels",
    "load",
    "report",
    "save",
    "tables",
    "to_onnx",
]


# Imported when they are first asked for: most programs never do.
_LATE = {
    "SelectiveSamplingClassifier": ".estimators.streaming",
    "SecondOrderPerceptron": ".estimators.streaming",
    "IncrementalRLSRegressor": ".estimators.streaming",
    "IncrementalRLSClassifier": ".estimators.streaming",
    "HierarchicalClassifier": ".estimators.streaming",
    "FilteringClassifier": ".estimators.streaming",
    "check_saveable": ".persistence.save_load",
    "load": ".persistence.save_load",
    "report": ".report",
    "save": ".persistence.save_load",
    "TableClassifier": ".tables",
    "TableRegressor": ".tables",
    "tables": ".tables",
    "to_onnx": ".export",
}


def __getattr__(name: str) -> Any:
    """What is not needed to fit and predict, imported now."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    if _LATE[name] == ".persistence.save_load":  # a file may name what nobody has imported yet
        for room in (".estimators.streaming", ".tables"):
            importlib.import_module(room, __name__)
    module = importlib.import_module(_LATE[name], __name__)
    return getattr(module, name, module)
