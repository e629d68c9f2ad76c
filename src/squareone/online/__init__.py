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
from .hypotheses import Average, Hypotheses, Penalised
from .learners import Learners, State
from .primal import PrimalLearners
from .run import Run, wrong_share
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
    "Average",
    "DiagonalLearners",
    "DualLearners",
    "Hypotheses",
    "Learners",
    "MistakeBound",
    "Penalised",
    "PrimalLearners",
    "Run",
    "SketchedLearners",
    "State",
    "chosen_risk_bound",
    "expected_mistake_bound",
    "mistake_bound",
    "penalised_risks",
    "typical_risk_bound",
    "wrong_share",
]
