"""Greedy fits: centers chosen one after the other, each where it helps most.

Order-recursive orthogonal least squares (Andelic, Schafföner, Katz, Krüger & Wendemuth, IJCAI
2007): the columns of the chosen centers are made orthogonal as they come, so that every model on
the way is known, with its λ.
"""

from .choosing import CHOOSERS, Chooser
from .columns import Columns
from .follower import Follower
from .path import GreedyPath
from .penalty import UPDATES, Fit, Update, fixed
from .run import Rule, Watched, greedy_path
from .stopping import CRITERIA

__all__ = [
    "CHOOSERS",
    "CRITERIA",
    "UPDATES",
    "Chooser",
    "Columns",
    "Fit",
    "Follower",
    "GreedyPath",
    "Rule",
    "Update",
    "Watched",
    "fixed",
    "greedy_path",
]
