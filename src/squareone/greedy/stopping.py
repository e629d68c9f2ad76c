"""When a greedy fit stops: how many centers, by a number that is least somewhere on the path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array
from .penalty import Fit

#: Degrees of freedom that a center is charged for having been chosen among many, beside its own.
CHARGE = 0.75
#: The path ends where the best model was found long ago: beyond this many times its centers, and
#: this many more.
TIMES, MORE = 2.0, 20


def charged_gcv(fit: Fit, penalty: float, candidates: int) -> float:
    """Generalised cross-validation in which a chosen center counts for more than a given one.

    As knots do in multivariate adaptive regression splines (Friedman 1991).
    """
    return fit.gcv(penalty, CHARGE)


def bayesian(fit: Fit, penalty: float, candidates: int) -> float:
    """n log(‖P̃y‖²/n) + γ log n, with γ degrees of freedom (Schwarz 1978), for every target."""
    return _code_length(fit, penalty)


def description(fit: Fit, penalty: float, candidates: int) -> float:
    """Twice the length of a description: that of BIC, and which of the candidates were chosen."""
    from scipy.special import gammaln  # imported late: it would slow `import squareone`

    m = fit.squares.size
    ways = gammaln(candidates + 1) - gammaln(m + 1) - gammaln(candidates - m + 1)
    return _code_length(fit, penalty) + 2.0 * float(ways)


def _code_length(fit: Fit, penalty: float) -> float:
    numbers = fit.n * fit.targets
    residual = max(fit.residual(penalty), np.finfo(np.float64).tiny)
    degrees = fit.targets * fit.degrees(penalty)
    return numbers * float(np.log(residual / numbers)) + degrees * float(np.log(fit.n))


#: Criteria by name.
CRITERIA: dict[str, Callable[[Fit, float, int], float]] = {
    "gcv": charged_gcv,
    "bic": bayesian,
    "mdl": description,
}


def best_of(values: Array) -> int:
    """The position of the least one, the first of equals."""
    return int(np.argmin(values))


def should_stop(best: int, now: int) -> bool:
    """Whether ``now`` centers are so many more than the best number that there is no hope."""
    return now >= TIMES * best + MORE
