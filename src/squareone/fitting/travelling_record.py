"""Of a fit what predictions at new rows need: small, and without the rows of the fit."""

from __future__ import annotations

from dataclasses import dataclass

from ..devices import Place, place_or_host
from ..models import Hyperplane, KernelExpansion
from ..models.probabilities import Calibration
from ..targets import Labels, Responses
from .intervals import IntervalRule
from .result import FitResult


@dataclass(frozen=True)
class TravellingRecord:
    """In place of a :class:`FitResult`, for a copy of an estimator that goes where rows are.

    A result has targets, weights and left-out values of every row of the fit. What needs them, or
    the factorisation, is an attribute that is not there.

    Attributes
    ----------
    targets : Responses or Labels
    model : KernelExpansion or Hyperplane
    device : str
    calibration : Calibration or None
    calibrated_by : str or None
    interval_rule : IntervalRule or None
        Where intervals are what is asked.
    """

    targets: Responses | Labels
    model: KernelExpansion | Hyperplane
    device: str
    calibration: Calibration | None
    calibrated_by: str | None
    interval_rule: IntervalRule | None

    @classmethod
    def of(cls, record: FitResult, rule: IntervalRule | None = None) -> TravellingRecord:
        """Of what a fit has found."""
        return cls(
            record.targets,
            record.model,
            record.device,
            record.calibration,
            record.calibrated_by,
            rule,
        )

    def place(self) -> Place:
        """Where matrices are; the machine's memory where there is no such place."""
        return place_or_host(self.device)
