"""Selection: the λ grid, the path, and the criteria that choose on it."""

from .criteria import Folds, GeneralisedCrossValidation, LeaveOneOut, folds_from_splits
from .grid import Path, choose_automatically, evaluate, lowest_alpha
from .likelihood import MarginalLikelihood
from .objective import Objective
from .relevance import feature_widths
from .search import bracketed_minimum
from .slope import has_slope, log_slope
from .surface import descend, fit_curvature

__all__ = [
    "Folds",
    "GeneralisedCrossValidation",
    "LeaveOneOut",
    "MarginalLikelihood",
    "Objective",
    "Path",
    "bracketed_minimum",
    "choose_automatically",
    "descend",
    "evaluate",
    "feature_widths",
    "fit_curvature",
    "folds_from_splits",
    "has_slope",
    "log_slope",
    "lowest_alpha",
]
