"""Models: what was learned, and how it predicts."""

from .expansion import KernelExpansion, SumOfExpansions
from .hyperplane import Hyperplane
from .probabilities import CALIBRATIONS, Calibration, fit_calibration, from_state

__all__ = [
    "CALIBRATIONS",
    "Calibration",
    "Hyperplane",
    "KernelExpansion",
    "SumOfExpansions",
    "fit_calibration",
    "from_state",
]
