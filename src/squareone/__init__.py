"""Learning with the square loss: every λ and the exact leave-one-out error from one factorisation."""

from .estimators import RLSClassifier, RLSRegressor

__version__ = "0.1.0"

__all__ = ["RLSClassifier", "RLSRegressor", "__version__"]
