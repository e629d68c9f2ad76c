"""Learning with the square loss.

Every λ and the exact leave-one-out error from one factorisation: :class:`RLSRegressor` and
:class:`RLSClassifier`, with the kernels of :mod:`squareone.kernels` and the tables and figures of
:mod:`squareone.report`; :func:`to_onnx` writes what was learned as an ONNX file.
"""

from typing import Any

from . import kernels
from .estimators import RLSClassifier, RLSRegressor

__version__ = "0.1.0"

__all__ = ["RLSClassifier", "RLSRegressor", "__version__", "kernels", "report", "to_onnx"]


# Imported when they are first asked for: most programs never do.
_LATE = {"report": ".report", "to_onnx": ".estimators.export"}


def __getattr__(name: str) -> Any:
    """:mod:`squareone.report` and :func:`squareone.to_onnx`, imported now."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    module = importlib.import_module(_LATE[name], __name__)
    return getattr(module, name, module)
