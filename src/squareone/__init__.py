"""Learning with the square loss.

Every λ and the exact leave-one-out error from one factorisation: :class:`RLSRegressor` and
:class:`RLSClassifier`, with the kernels of :mod:`squareone.kernels` and the tables and figures of
:mod:`squareone.report`.
"""

from typing import Any

from . import kernels
from .estimators import RLSClassifier, RLSRegressor

__version__ = "0.1.0"

__all__ = ["RLSClassifier", "RLSRegressor", "__version__", "kernels", "report"]


def __getattr__(name: str) -> Any:
    """Import :mod:`squareone.report` when it is first asked for: most programs never do."""
    if name != "report":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    return importlib.import_module(".report", __name__)
