"""Learning from a stream, one row at a time."""

from .diagonal import DiagonalLearners
from .dual import RULES, DualLearners
from .engines import Always, Engine, SideBySide
from .hierarchical_losses import h_loss, symmetric_difference_loss, zero_one_loss
from .hierarchy import Family, Hierarchy, descend, top_down
from .hypotheses import Average, Hypotheses, Penalised
from .learners import Learners, State
from .mistake_bounds import (
    MistakeBound,
    chosen_risk_bound,
    expected_mistake_bound,
    mistake_bound,
    penalised_risks,
    typical_risk_bound,
)
from .perceptron import Run, wrong_share
from .primal import PrimalLearners
from .query_rules import Accepting, Deterministic, Randomised, Rule
from .sampling import Sampler
from .sketch import SketchedLearners
from .taxonomy import Taxonomy

#: The forms of learners by name.
FORMS: dict[str, type[Learners]] = {
    "primal": PrimalLearners,
    "dual": DualLearners,
    "diagonal": DiagonalLearners,
    "sketch": SketchedLearners,
}

__all__ = [
    "FORMS",
    "RULES",
    "Accepting",
    "Always",
    "Average",
    "Deterministic",
    "DiagonalLearners",
    "DualLearners",
    "Engine",
    "Family",
    "Hierarchy",
    "Hypotheses",
    "Learners",
    "MistakeBound",
    "Penalised",
    "PrimalLearners",
    "Randomised",
    "Rule",
    "Run",
    "Sampler",
    "SideBySide",
    "SketchedLearners",
    "State",
    "Taxonomy",
    "chosen_risk_bound",
    "descend",
    "expected_mistake_bound",
    "h_loss",
    "mistake_bound",
    "penalised_risks",
    "symmetric_difference_loss",
    "top_down",
    "typical_risk_bound",
    "wrong_share",
    "zero_one_loss",
]
