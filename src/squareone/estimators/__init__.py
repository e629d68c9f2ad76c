"""Estimators: scikit-learn's face of the library."""

from ..persistence.known_classes import register_estimators
from .classifier import RLSClassifier
from .orols_classifier import OROLSClassifier
from .orols_regressor import OROLSRegressor
from .regressor import RLSRegressor
from .svm_classifier import SVMClassifier

__all__ = ["OROLSClassifier", "OROLSRegressor", "RLSClassifier", "RLSRegressor", "SVMClassifier"]

register_estimators(OROLSClassifier, OROLSRegressor, RLSClassifier, RLSRegressor, SVMClassifier)
