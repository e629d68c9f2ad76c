"""Learning with the square loss.

Every λ and the exact leave-one-out error from one factorisation: :class:`RLSRegressor` and
:class:`RLSClassifier`; models with few centers, chosen greedily: :class:`OROLSRegressor` and
:class:`OROLSClassifier`; support vector machines by the same systems: :class:`SVMClassifier`. From
a stream, row by row: :class:`IncrementalRLSRegressor`, :class:`IncrementalRLSClassifier`,
:class:`SecondOrderPerceptron`, :class:`SelectiveSamplingClassifier`, :class:`FilteringClassifier`
and :class:`HierarchicalClassifier`. With the kernels of :mod:`squareone.kernels` and the tables and
figures of :mod:`squareone.report`; :mod:`squareone.tables` makes numbers of data frames.
:func:`save` and :func:`load` keep what was learned in a file (:func:`check_saveable` asks before
the fit), and :func:`to_onnx` writes it as an ONNX file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from . import kernels, report, tables
    from .estimators import (
        OROLSClassifier,
        OROLSRegressor,
        RLSClassifier,
        RLSRegressor,
        SVMClassifier,
    )
    from .estimators.streaming import (
        FilteringClassifier,
        HierarchicalClassifier,
        IncrementalRLSClassifier,
        IncrementalRLSRegressor,
        SecondOrderPerceptron,
        SelectiveSamplingClassifier,
    )
    from .export import to_onnx
    from .persistence.save_load import check_saveable, load, save
    from .tables import TableClassifier, TableRegressor

__all__ = [
    "FilteringClassifier",
    "HierarchicalClassifier",
    "IncrementalRLSClassifier",
    "IncrementalRLSRegressor",
    "OROLSClassifier",
    "OROLSRegressor",
    "RLSClassifier",
    "RLSRegressor",
    "SVMClassifier",
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


# Everything is imported when it is first asked for: what prints help or completes a command needs
# no numerical library, and most programs need few of the rooms.
_LATE = {
    "RLSRegressor": ".estimators",
    "RLSClassifier": ".estimators",
    "OROLSRegressor": ".estimators",
    "OROLSClassifier": ".estimators",
    "SVMClassifier": ".estimators",
    "SelectiveSamplingClassifier": ".estimators.streaming",
    "SecondOrderPerceptron": ".estimators.streaming",
    "IncrementalRLSRegressor": ".estimators.streaming",
    "IncrementalRLSClassifier": ".estimators.streaming",
    "HierarchicalClassifier": ".estimators.streaming",
    "FilteringClassifier": ".estimators.streaming",
    "check_saveable": ".persistence.save_load",
    "load": ".persistence.save_load",
    "save": ".persistence.save_load",
    "TableClassifier": ".tables",
    "TableRegressor": ".tables",
    "to_onnx": ".export",
}
# Rooms that are attributes of the package without an import of their own.
_ROOMS = frozenset(
    {
        "centers",
        "errors",
        "estimators",
        "export",
        "fitting",
        "greedy",
        "hinge",
        "kernels",
        "labelling",
        "models",
        "online",
        "persistence",
        "planning",
        "report",
        "rows",
        "selection",
        "solvers",
        "tables",
        "targets",
    }
)


def __getattr__(name: str) -> Any:
    """A public name, or a room, imported now and kept."""
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if _LATE[name] == ".persistence.save_load":  # a file may name what nobody has imported yet
        for room in (".estimators", ".estimators.streaming", ".tables"):
            import_module(room, __name__)
    found = globals()[name] = getattr(import_module(_LATE[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
