"""Certificates: a feasible dual point, the duality gap, and the violation of the KKT conditions.

In the total-loss form, P = Σ wᵢℓ(yᵢf(xᵢ)) + λ‖f‖² is at least the optimum, and every feasible a,
0 ≤ aᵢ ≤ wᵢ/(2λ) (hinge) or 0 ≤ aᵢ (squared hinge), gives a lower bound ::

    D = 2λΣa − λβᵀKβ                   (hinge)
    D = 2λΣa − λβᵀKβ − λ²Σa²/w         (squared hinge),    β = y∘a

with Σβ = 0 where there is an intercept that is not penalised (Rosasco's notes, equations 19 to 22,
with C = 1/(2λ)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from .box_newton import BoxPoint, BoxProblem
from .kernel_systems import KernelSystem

# A share of the largest coefficient, or of their sum, that is rounding.
_NOTHING = 1e-14


@dataclass(frozen=True)
class ColumnProblem:
    """One column of a support vector machine at one λ.

    Attributes
    ----------
    signs : array (n,)
        ±1.
    weights : array (n,)
        At or above zero; a row of weight zero takes no part.
    alpha : float
        λ > 0.
    squared : bool
        Which loss.
    intercept : bool
        Whether there is one that is not penalised.
    """

    signs: Array
    weights: Array
    alpha: float
    squared: bool
    intercept: bool

    @property
    def upper(self) -> Array:
        """Bounds (n,) of the dual variables."""
        if self.squared:
            return np.where(self.weights > 0, np.inf, 0.0)
        return self.weights / (2.0 * self.alpha)

    @property
    def ridge(self) -> Array:
        """λ/w (n,), one where a row has no weight: what the squared hinge loss adds to K."""
        return self.alpha / np.where(self.weights > 0, self.weights, self.alpha)

    def box(self, ridge: Array, anchor: Array) -> BoxProblem:
        """With ``ridge`` (n,) and ``anchor`` (n,) in place of its own."""
        return BoxProblem(self.signs, self.upper, ridge, anchor, self.intercept)

    def plain_box(self) -> BoxProblem:
        """The squared hinge loss itself."""
        return self.box(self.ridge, np.zeros_like(self.weights))

    def part(self, rows: Array) -> ColumnProblem:
        """Of some rows, which weigh as much as all of them do."""
        alpha = self.alpha * rows.size / self.signs.size
        return replace(self, signs=self.signs[rows], weights=self.weights[rows], alpha=alpha)

    def without(self, row: int) -> ColumnProblem:
        """Without a row."""
        weights = self.weights.copy()
        weights[row] = 0.0
        return ColumnProblem(self.signs, weights, self.alpha, self.squared, self.intercept)


@dataclass(frozen=True)
class Certificate:
    """How far a point is from the optimum, in the total-loss form.

    ``gap`` is (primal − dual)/primal; ``violation`` is the largest of the KKT conditions, in units
    of the margin.
    """

    primal: float
    dual: float
    gap: float
    violation: float


def feasible(system: KernelSystem, problem: ColumnProblem, point: BoxPoint) -> BoxPoint:
    """The point with its coefficients within their bounds, Σβ = 0, and the best intercept."""
    upper = problem.upper
    a = np.minimum(np.maximum(problem.signs * point.coefficients, 0.0), upper)
    a[a <= _NOTHING * a.max(initial=0.0)] = 0.0
    if problem.intercept:
        a = _balanced(a, problem.signs, upper)
    change = problem.signs * a - point.coefficients
    values = point.values
    if change.any():
        values = values + system.product(change)
    b = best_intercept(problem, values) if problem.intercept else 0.0
    return BoxPoint(problem.signs * a, values, b)


def _balanced(a: Array, signs: Array, upper: Array) -> Array:
    """The nearest a with Σ ya = 0 within the bounds, at which rows stay if that is possible."""
    for movable in ((a > 0) & (a < upper), upper > 0):
        rest = float(signs @ a)
        if abs(rest) <= _NOTHING * a.sum() or not movable.any():
            continue
        a = a.copy()
        a[movable] = _shifted_to(a[movable], signs[movable], upper[movable], rest)
    return a


def _shifted_to(a: Array, signs: Array, upper: Array, rest: float) -> Array:
    """clip(a − τy) so that Σ ya is less by ``rest``, where the bounds allow it; by bisection."""
    wanted = float(signs @ a) - rest

    def shifted(tau: float) -> Array:
        return np.minimum(np.maximum(a - tau * signs, 0.0), upper)

    reach = abs(rest) + float(a.max())
    low, high = (0.0, reach) if rest > 0 else (-reach, 0.0)
    for _ in range(200):
        tau = 0.5 * (low + high)
        if tau in (low, high):
            break
        if signs @ shifted(tau) > wanted:
            low = tau
        else:
            high = tau
    found = shifted(high if rest < 0 else low)
    row = int(np.argmax(np.minimum(found, upper - found)))  # what rounding has left, on one row
    left = float(signs @ found) - wanted
    found[row] = min(max(found[row] - signs[row] * left, 0.0), upper[row])
    return found


def best_intercept(problem: ColumnProblem, values: Array) -> float:
    """The b that minimises the loss for f (n,); the middle where it does on a stretch."""
    if problem.squared:
        return problem.plain_box().best_intercept(values)
    used = problem.weights > 0
    signs, w = problem.signs[used], problem.weights[used]
    edges = signs - values[used]
    order = np.argsort(edges, kind="stable")
    edges, signs, w = edges[order], signs[order], w[order]
    if not edges.size:
        return 0.0
    # the slope to the right of each edge: rows of −1 that it has passed, less those of +1 to come
    slope = np.cumsum(w) - w[signs > 0].sum()
    spare = 1e-12 * w.sum()
    first = int(np.argmax(slope >= -spare))
    last = first
    if abs(slope[first]) <= spare and first + 1 < edges.size:
        last = first + 1
    return float(0.5 * (edges[first] + edges[last]))


def certify(problem: ColumnProblem, point: BoxPoint) -> Certificate:
    """The certificate of a feasible point. Cost: a few passes over the rows."""
    w, alpha = problem.weights, problem.alpha
    a = problem.signs * point.coefficients
    slack = np.maximum(1.0 - problem.signs * (point.values + point.intercept), 0.0)
    square = float(point.coefficients @ point.values)
    loss = float(w @ (slack * slack if problem.squared else slack))
    primal = loss + alpha * square
    dual = 2.0 * alpha * float(a.sum()) - alpha * square
    if problem.squared:
        dual -= alpha * float(problem.ridge @ (a * a))
    gap = max(primal - dual, 0.0) / primal if primal > 0 else 0.0
    return Certificate(primal, dual, gap, _violation(problem, a, point))


def _violation(problem: ColumnProblem, a: Array, point: BoxPoint) -> float:
    """The largest |a/C − clip(a/C + 1 − yf, 0, 1)|, or |λa/w − (1 − yf)₊|: zero at the solution."""
    used = problem.weights > 0
    short = 1.0 - problem.signs * (point.values + point.intercept)
    if problem.squared:
        off = np.abs(problem.ridge * a - np.maximum(short, 0.0))[used]
    else:
        share = a[used] / problem.upper[used]
        off = np.abs(share - np.clip(share + short[used], 0.0, 1.0))
    return float(off.max(initial=0.0))
