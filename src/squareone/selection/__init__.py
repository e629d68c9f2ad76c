"""Selection: the λ grid, the path, the criteria that choose on it, and decision thresholds."""

from .alpha_grid import Path, choose_automatically, evaluate, lowest_alpha
from .alpha_slope import has_slope, log_slope
from .bracketed_search import bracketed_minimum
from .comparable_values import comparable_values
from .criteria import Folds, GeneralisedCrossValidation, LeaveOneOut, folds_from_splits
from .learned_metric import learn_metric
from .likelihood import MarginalLikelihood
from .objective import Objective
from .quadratic_descent import descend, fit_curvature
from .relevance import feature_widths
from .threshold import best_thresholds

__all__ = [
    "Folds",
    "GeneralisedCrossValidation",
    "LeaveOneOut",
    "MarginalLikelihood",
    "Objective",
    "Path",
    "best_thresholds",
    "bracketed_minimum",
    "choose_automatically",
    "comparable_values",
    "descend",
    "evaluate",
    "feature_widths",
    "fit_curvature",
    "folds_from_splits",
    "has_slope",
    "learn_metric",
    "log_slope",
    "lowest_alpha",
]
