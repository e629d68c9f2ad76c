"""Estimators of a stream: what they have learned grows row by row."""

from ...online import Taxonomy
from ...persistence.known_classes import register_estimators, register_value
from .filtering import FilteringClassifier
from .hierarchical import HierarchicalClassifier
from .incremental import IncrementalRLSClassifier, IncrementalRLSRegressor
from .second_order import SecondOrderPerceptron
from .selective import SelectiveSamplingClassifier

__all__ = [
    "FilteringClassifier",
    "HierarchicalClassifier",
    "IncrementalRLSClassifier",
    "IncrementalRLSRegressor",
    "SecondOrderPerceptron",
    "SelectiveSamplingClassifier",
]

register_estimators(
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
register_value(Taxonomy)
