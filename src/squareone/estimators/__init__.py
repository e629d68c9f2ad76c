"""Estimators: scikit-learn's face of the library."""

from .classifier import RLSClassifier
from .regressor import RLSRegressor

__all__ = ["RLSClassifier", "RLSRegressor"]
