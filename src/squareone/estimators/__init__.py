"""Estimators: scikit-learn's face of the library."""

from .classifier import RLSClassifier
from .orols_classifier import OROLSClassifier
from .orols_regressor import OROLSRegressor
from .regressor import RLSRegressor

__all__ = ["OROLSClassifier", "OROLSRegressor", "RLSClassifier", "RLSRegressor"]
