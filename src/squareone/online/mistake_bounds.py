"""Bounds on the risk and on the mistakes of a run, and a run compared with a fixed classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Linear
from ..kernels.tiles import kernel_product
from ..rows import rows_of
from .dual import DualLearners
from .learners import Learners


def typical_risk_bound(loss: float, n: int, delta: float) -> float:
    """M/n + √(2/n · ln 1/δ): the mean risk over the hypotheses of a run, with probability 1 − δ.

    Cesa-Bianchi, Conconi and Gentile (2004), for losses between 0 and 1 of independent rows.

    Examples
    --------
    >>> from squareone.online import typical_risk_bound
    >>> round(typical_risk_bound(20, 1000, 0.05), 4)
    0.0974
    """
    return loss / n + float(np.sqrt(2.0 / n * np.log(1.0 / delta)))


def chosen_risk_bound(loss: float, n: int, delta: float) -> float:
    """M/n + 5√(1/n · ln(2(n + 1)/δ)): the hypothesis of the least penalised risk estimate.

    Examples
    --------
    >>> from squareone.online import chosen_risk_bound
    >>> round(chosen_risk_bound(20, 1000, 0.05), 4)
    0.5346
    """
    return loss / n + 5.0 * float(np.sqrt(np.log(2.0 * (n + 1) / delta) / n))


def penalised_risks(losses: Array, made: Array, n: int, delta: float) -> Array:
    """The mean loss of each hypothesis after it was made, plus √(ln(n(n + 1)/δ)/(2(n − t))).

    ``losses`` (m,) are sums over the rounds after ``made`` (m,) = t of n; a hypothesis of the last
    round has none, and is never chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import penalised_risks
    >>> penalised_risks(np.array([50.0, 10.0, 0.0]), np.array([0, 20, 100]), 100, 0.05).round(3)
    array([0.747, 0.401,   inf])
    """
    left = (n - made).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        risks = losses / left + np.sqrt(np.log(n * (n + 1.0) / delta) / (2.0 * left))
    return np.where(left > 0, risks, np.inf)


@dataclass(frozen=True)
class MistakeBound:
    """A bound on the mistakes of a run, and the terms it is made of.

    Attributes
    ----------
    value : float
    gamma : float
        The margin γ.
    hinge : float
        Σ(γ − y uᵀx)₊ over all rounds.
    energy : float
        a|u|² + uᵀSSᵀu, with S the rows that were learned.
    log_determinant : float
        Σ ln(1 + λᵢ/a) over the eigenvalues of SSᵀ.
    """

    value: float
    gamma: float
    hinge: float
    energy: float
    log_determinant: float


def mistake_bound(
    margins: Array, energy: float, log_determinant: float, gamma: float | None
) -> MistakeBound:
    """(1/γ)(Σ(γ − y uᵀx)₊ + √(energy · ln det)), Cesa-Bianchi, Conconi and Gentile (2005).

    Parameters
    ----------
    margins : array (n,)
        y uᵀx in all rounds.
    energy, log_determinant : float
    gamma : float or None
        None: the best one. Between two margins the bound is monotone in γ, so that it is one of
        them, unless all of these are worse than n, which says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import mistake_bound
    >>> bound = mistake_bound(np.array([1.0, 0.5, -0.2]), 4.0, 1.0, None)
    >>> bound.gamma, round(bound.value, 2)
    (1.0, 3.7)
    """
    root = float(np.sqrt(energy * log_determinant))
    if gamma is None:
        gamma = _best_gamma(margins, root)
    hinge = float(np.maximum(gamma - margins, 0.0).sum())
    return MistakeBound((hinge + root) / gamma, gamma, hinge, energy, log_determinant)


def expected_mistake_bound(
    margins: Array, energy: float, log_determinant: float, gamma: float, b: float
) -> MistakeBound:
    """hinge/γ + b·energy/(2γ²) + ln det/(2b): of the expected mistakes of randomised sampling.

    Cesa-Bianchi, Gentile and Zaniboni (2006), Theorem 3; energy and ln det are expectations there,
    of which a run has one draw. With b = γ√(ln det/energy) it is the bound of full supervision.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import expected_mistake_bound, mistake_bound
    >>> margins = np.array([1.0, 0.5, -0.2])
    >>> expected_mistake_bound(margins, 4.0, 1.0, 1.0, 0.5).value
    3.7
    >>> mistake_bound(margins, 4.0, 1.0, 1.0).value
    3.7
    """
    hinge = float(np.maximum(gamma - margins, 0.0).sum())
    value = hinge / gamma + b * energy / (2.0 * gamma**2) + log_determinant / (2.0 * b)
    return MistakeBound(value, gamma, hinge, energy, log_determinant)


def _best_gamma(margins: Array, root: float) -> float:
    above = np.sort(margins[margins > 0])
    if above.size == 0:
        return max(1.0, float(np.abs(margins).max(initial=0.0)))
    below = float(-margins[margins <= 0].sum())
    count = np.arange(above.size) + (margins.size - above.size)
    sums = np.concatenate([[0.0], np.cumsum(above)[:-1]])
    # at γ = the k-th margin, all below it are missing γ − margin
    hinges = count * above - sums + below
    return float(above[int(np.argmin((hinges + root) / above))])


@dataclass(frozen=True)
class Comparison:
    """Terms of the bounds.

    Attributes
    ----------
    margins : array (n,)
        y uᵀx in all rounds.
    energy : float
        a|u|² + uᵀSSᵀu, S the rows that the column has learned.
    log_determinant : float
        Σ ln(1 + λᵢ/a).
    """

    margins: Array
    energy: float
    log_determinant: float


def check_comparable(stream: Any) -> None:
    """Refuse a stream for which there is no bound."""
    if stream.form == "diagonal" or stream.settings.budget is not None:
        msg = "the bound is for the exact forms, primal and dual, without a budget"
        raise ValueError(msg)
    if stream.weighted:
        msg = "the bound is for rows that all count the same, and some had another weight than one"
        raise ValueError(msg)


def compare(stream: Any, learners: Learners, X: Any, Y: Array, u: Array, column: int) -> Comparison:
    """A column of a stream with ``u`` (d,), or Σ uᵢk(xᵢ, ·) over its rows ``X`` (n, d)."""
    if not 0 <= column < Y.shape[1]:
        msg = f"column={column}: one of 0 to {Y.shape[1] - 1} is expected"
        raise ValueError(msg)
    if X.shape[0] != stream.engine.rounds:
        msg = (
            f"X has {X.shape[0]} rows, and {stream.engine.rounds} were seen: all of them are "
            "expected, in any order"
        )
        raise ValueError(msg)
    rows = stream.as_learned(X)
    values = _values(stream, learners, rows, rows, u)
    norm = float(u @ u if isinstance(stream.kernel, Linear) else u @ values)
    at_points = np.empty(0)
    if isinstance(learners, DualLearners) and learners.points.count:
        # not among those of X: they were learned in another order if they were shuffled
        at_points = _values(stream, learners, learners.points.matrix(), rows, u)
    energy = learners.alpha * norm + float(learners.energies(at_points, u)[column])
    found = float(learners.log_determinants()[column])
    return Comparison(Y[:, column] * values, energy, found)


def _values(stream: Any, learners: Learners, X: Any, rows: Any, u: Array) -> Array:
    """uᵀx of rows as they were learned (m, d), or Σ uᵢk(xᵢ, ·) over ``rows`` (n, d): (m,)."""
    d = stream.n_features + stream.settings.intercept
    if isinstance(stream.kernel, Linear):
        if u.shape != (d,):
            msg = f"u has shape {u.shape}: ({d},) is expected for the linear kernel"
            raise ValueError(msg)
        constant = u[-1] if X.shape[1] < d else 0.0  # the dual form has it in its kernel
        return np.asarray(X @ u[: X.shape[1]]).ravel() + constant
    if u.shape != (rows.shape[0],):
        msg = f"u has shape {u.shape}: ({rows.shape[0]},) is expected, one weight per row of X"
        raise ValueError(msg)
    assert isinstance(learners, DualLearners)
    X, rows = (rows_of(each).astype(np.dtype(float)).X for each in (X, rows))
    return kernel_product(learners.kernel, X, rows, u[:, None])[:, 0]
