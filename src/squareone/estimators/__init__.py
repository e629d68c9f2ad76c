"""Estimators: scikit-learn's face of the library."""

from ..persistence.known_classes import register_estimators
from .classifier import RLSClassifier
from .orols_classifier import OROLSClassifier
from .orols_regressor import OROLSRegressor
from .regressor import RLSRegressor

__all__ = ["OROLSClassifier", "OROLSRegressor", "RLSClassifier", "RLSRegressor"]

register_estimators(OROLSClassifier, OROLSRegressor, RLSClassifier, RLSRegressor)
