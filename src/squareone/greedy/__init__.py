"""Greedy fits: centers chosen one after the other, each where it helps most.

Order-recursive orthogonal least squares (Andelic, Schafföner, Katz, Krüger & Wendemuth, IJCAI
2007): the columns of the chosen centers are made orthogonal as they come, so that every model on
the way is known, with its λ.
"""

from .basis import ValidationRows
from .greedy_fit import Rule, Watched, greedy_path
from .kernel_columns import Columns
from .model_path import GreedyPath
from .next_center import CHOOSERS
from .penalty import UPDATES, Fit, fixed
from .stopping import CRITERIA

__all__ = [
    "CHOOSERS",
    "CRITERIA",
    "UPDATES",
    "Columns",
    "Fit",
    "GreedyPath",
    "Rule",
    "ValidationRows",
    "Watched",
    "fixed",
    "greedy_path",
]
