"""Preconditioned conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ..contract import State

#: A linear map of columns (r, c).
Operator = Callable[[Array], Array]


@dataclass
class Progress:
    """Where a solution is: what is needed to go on."""

    solution: Array  # (r, c)
    left: Array  # (r, c): right-hand side less operator times solution
    direction: Array  # (r, c)
    energy: Array  # (c,): left·preconditioned left
    steps: int = 0

    def state(self) -> State:
        """As arrays."""
        return {name: np.array(value) for name, value in vars(self).items()}

    @classmethod
    def from_state(cls, state: State) -> Progress:
        """What :meth:`state` gave."""
        solution, left, direction, energy = (
            state[name].copy() for name in ("solution", "left", "direction", "energy")
        )
        return cls(solution, left, direction, energy, int(state["steps"]))


def conjugate_gradients(
    operator: Operator,
    precondition: Operator,
    right: Array,
    tolerance: float,
    most: int,
    start: Array | None = None,
    watch: Callable[[int, float], None] = lambda steps, residual: None,
    before: Progress | None = None,
    keep: Callable[[Progress], None] = lambda progress: None,
) -> tuple[Array, Array, int]:
    """Solutions (r, c), their relative residuals (c,) and the steps they took.

    Each column has its own step lengths and stops by itself; the operator sees those that go on.

    **Cost**: an application of the operator per step, and one for a ``start`` that is not zero.

    Parameters
    ----------
    operator, precondition : callable
        Of columns (r, c): symmetric, positive definite.
    right : array (r, c)
    tolerance : float
        Of the relative residual.
    most : int
        Steps at most.
    start : array (r, c), optional
    watch : callable
        Told after every step how many there were and the largest residual.
    before : Progress, optional
        Where an earlier attempt had come to.
    keep : callable
        Told after every step where this one is.
    """
    norms = np.linalg.norm(right, axis=0)
    norms[norms == 0.0] = 1.0
    state = before or _begin(operator, precondition, right, start)
    residuals = np.linalg.norm(state.left, axis=0) / norms
    while state.steps < most and (residuals > tolerance).any():
        active = np.flatnonzero(residuals > tolerance)
        _step(state, operator, precondition, active)
        residuals[active] = np.linalg.norm(state.left[:, active], axis=0) / norms[active]
        keep(state)
        watch(state.steps, float(residuals.max()))
        if not np.isfinite(residuals).all():
            break
    return state.solution, residuals, state.steps


def _begin(
    operator: Operator, precondition: Operator, right: Array, start: Array | None
) -> Progress:
    solution = np.zeros_like(right) if start is None else start.copy()
    left = right.copy() if start is None else right - operator(start)
    if start is not None:  # one that is worse than nothing is dropped
        worse = np.square(left).sum(axis=0) > np.square(right).sum(axis=0)
        solution[:, worse], left[:, worse] = 0.0, right[:, worse]
    direction = precondition(left)
    return Progress(solution, left, direction, np.einsum("ij,ij->j", left, direction))


def _step(state: Progress, operator: Operator, precondition: Operator, active: Array) -> None:
    p = state.direction[:, active]
    q = operator(p)
    curvature = np.einsum("ij,ij->j", p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.nan_to_num(state.energy[active] / curvature)
    state.solution[:, active] += length * p
    left = state.left[:, active] - length * q
    z = precondition(left)
    energy = np.einsum("ij,ij->j", left, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.nan_to_num(energy / state.energy[active])
    state.left[:, active], state.energy[active] = left, energy
    state.direction[:, active] = z + turn * p
    state.steps += 1
