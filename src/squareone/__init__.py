"""Learning with the square loss.

Every λ and the exact leave-one-out error from one factorisation: :class:`RLSRegressor` and
:class:`RLSClassifier`, with the kernels of :mod:`squareone.kernels` and the tables and figures of
:mod:`squareone.report`.
"""

from .estimators import RLSClassifier, RLSRegressor

__version__ = "0.1.0"

__all__ = ["RLSClassifier", "RLSRegressor", "__version__"]
