"""Learning from a stream, one row at a time."""

from .dual import RULES, DualLearners
from .forms import FORMS
from .hierarchical_losses import h_loss, symmetric_difference_loss, zero_one_loss
from .hierarchy import Hierarchy, descend, top_down
from .learners import Learners
from .mistake_bounds import (
    MistakeBound,
    chosen_risk_bound,
    expected_mistake_bound,
    mistake_bound,
    penalised_risks,
    typical_risk_bound,
)
from .perceptron import wrong_share
from .primal import PrimalLearners
from .query_rules import Accepting, Deterministic, Randomised, Rule
from .sampling import Sampler
from .taxonomy import Taxonomy

__all__ = [
    "FORMS",
    "RULES",
    "Accepting",
    "Deterministic",
    "DualLearners",
    "Hierarchy",
    "Learners",
    "MistakeBound",
    "PrimalLearners",
    "Randomised",
    "Rule",
    "Sampler",
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
