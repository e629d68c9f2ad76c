"""Learning from a stream, one row at a time."""

from .bounds import (
    MistakeBound,
    chosen_risk_bound,
    expected_mistake_bound,
    mistake_bound,
    penalised_risks,
    typical_risk_bound,
)
from .diagonal import DiagonalLearners
from .dual import RULES, DualLearners
from .engines import Always, Engine, SideBySide
from .hypotheses import Average, Hypotheses, Penalised
from .learners import Learners, State
from .primal import PrimalLearners
from .rules import Accepting, Deterministic, Randomised, Rule
from .run import Run, wrong_share
from .sampling import Sampler
from .sketch import SketchedLearners

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
    "chosen_risk_bound",
    "expected_mistake_bound",
    "mistake_bound",
    "penalised_risks",
    "typical_risk_bound",
    "wrong_share",
]
