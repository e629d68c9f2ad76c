"""Leave-one-out values of support vector machines: by pivots on the solution with all rows.

At the solution some rows are free: their coefficients solve a system, and all others are at a
bound. Leaving out a row at the bound zero changes nothing. Leaving out another one moves all that
is at hand along one column of the tableau; where a condition is broken by that, its row changes its
set, and so on until none is. The first of these moves alone is exact where no set changes; for the
hinge loss it is the span estimate (Vapnik & Chapelle 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import (
    Array,
    blocks,
    cholesky,
    cholesky_solve,
    column_square_sums,
    copy_triangle,
    positive_inverse,
    solve_transposed,
    solve_triangular,
    triangular_inverse,
)
from .box_newton import BoxPoint
from .certificates import ColumnProblem, best_intercept
from .column_solution import ColumnSolution, solve_column
from .kernel_systems import FeatureSystem, FreeRows, KernelSystem

# The shift of the free rows for the hinge loss, as a share of the largest k(x, x): refinement takes
# back what it changes, and digits that a smaller one loses where K is singular do not come back.
_SHIFT = 1e-9
# The least one for the squared hinge loss, as a share of n times that.
_LEAST_SHIFT = 1e-14
# Violations of a condition that are rounding.
_ROUNDING = 1e-9
# Changes of sets of all rows at once, and of one row at a time, after which it is given up.
_BLOCK_STEPS, _MOST_STEPS = 12, 1000
# Changes in a row without a step, which is this part of the way, after which it is, too.
_MOST_WAITS, _NO_STEP = 20, 1e-14
# Numbers of the screened moves that are held at a time.
_BLOCK_NUMBERS = 1_000_000
# The gap to which a row is solved anew where pivots have failed, and the width of the corner then.
_REFIT_TOLERANCE, _NEAR = 1e-10, 1e-3
# Steps of refinement of a solution without a row.
_REFINEMENTS = 2
# Numbers and operations that exact values may take where there are features in place of a matrix,
# and those of a change of sets for a row and a support vector.
_MOST_NUMBERS, _MOST_FLOPS, _OF_CHANGES = 4e8, 1e11, 1000


@dataclass(frozen=True)
class LeftOutValues:
    """Values of models that have not seen the row.

    Attributes
    ----------
    values : array (n,)
        f₋ᵢ(xᵢ) with the intercept.
    radius : array (n,)
        The exact value is within this of it: √(gap·k(x, x)), from the gap of the problem without
        the row. NaN where nothing is known, which is with an intercept that is not penalised.
    changed, solved_anew : int
        Rows without which another one changed its set, and those that pivots did not solve.
    """

    values: Array
    radius: Array
    changed: int
    solved_anew: int


class Tableau:
    """What follows, row by row, where a row leaves its set.

    With the free rows B and all others N, μ on the diagonal of A = K + μ, and
    g = (Kβ + b − y) + μ(β − β̄): every change v, of g in B and of β in N, moves (β_B, g_N) by Tv ::

        T = ( P     −P K_BN                 )        P = A_BB⁻¹
            ( K_NB P   A_NN − K_NB P K_BN )

    and with an unpenalised intercept P = A_BB⁻¹ − A_BB⁻¹11ᵀA_BB⁻¹/(1ᵀA_BB⁻¹1), and so on.

    **Cost**: |B|³ + 2(n − |B|)|B|² flops and n|B| numbers; a column of N 2n|B| once.
    """

    def __init__(self, system: KernelSystem, solution: ColumnSolution) -> None:
        problem, point = solution.problem, solution.point
        self.system, self.problem, self.point = system, problem, point
        self.n, self.signs, self.upper = system.n, problem.signs, problem.upper
        self.free, self.full = solution.sets()
        bound = problem.signs * np.where(self.full, self.upper, 0.0)
        self.base = np.where(self.free, point.coefficients, bound)
        self.shift = _shifts(system, problem)
        # what the shift has more than the loss asks for pulls to the solution with all rows
        own = problem.ridge / self.shift if problem.squared else 0.0
        anchor = (1.0 - own) * self.base
        self.B, self.N = np.flatnonzero(self.free), np.flatnonzero(~self.free)
        self.bordered = problem.intercept and self.B.size > 0
        gradient = point.values + point.intercept - self.signs
        gradient += self.shift * (self.base - anchor)
        self.state = np.where(self.free, self.base, gradient)
        self.place = np.empty(self.n, int)
        self.place[self.B] = np.arange(self.B.size)
        self.place[self.N] = np.arange(self.N.size)
        self._factor()
        self._columns: dict[int, Array] = {}

    def _factor(self) -> None:
        B = self.B
        P = self.system.block(B, B)
        P[np.diag_indices(B.size)] += self.shift[B]
        self._cross = self.system.block(B, self.N)  # K_BN
        # T_NB (|N|, |B|): K_NB P. By the factor: where K_BB is singular, P is large, and a product
        # with it would leave the rounding of that
        self.E = np.empty((self.N.size, 0))
        if B.size:
            cholesky(P)
            self.E = np.ascontiguousarray(cholesky_solve(P, self._cross).T)
            positive_inverse(P)
            copy_triangle(P, to_upper=True)
        self._u, self._s = np.zeros(B.size), 1.0
        if self.bordered:
            ones = P.sum(axis=1)
            self._s = float(ones.sum())
            self._u = ones / self._s
            P -= np.outer(ones, self._u)
        self.P = P
        if self.bordered:  # and the row of the intercept
            self.E += np.outer(1.0 - self.E.sum(axis=1), self._u)

    def columns(self, rows: Array) -> Array:
        """T of some rows, each as a row of (k, n)."""
        out = np.empty((rows.size, self.n))
        inside = self.free[rows]
        own = self.place[rows[inside]]
        out[np.ix_(inside, self.B)] = self.P[own]
        out[np.ix_(inside, self.N)] = self.E[:, own].T
        others = rows[~inside]
        if others.size:
            at = self.place[others]
            out[np.ix_(~inside, self.B)] = -self.E[at]
            block = self.system.block(others, self.N)
            block -= self._cross[:, at].T @ self.E.T
            if self.bordered:
                block += (1.0 / self._s) - (self._cross.T @ self._u)[None, :]
            block[np.arange(others.size), at] += self.shift[others]
            out[np.ix_(~inside, self.N)] = block
        return out

    def column(self, row: int) -> Array:
        """The same for one row, kept."""
        if row not in self._columns:
            self._columns[row] = self.columns(np.array([row]))[0]
        return self._columns[row]

    def first_moves(self, rows: Array, columns: Array) -> Array:
        """The changes (k,) that bring the coefficients of ``rows`` to zero, one row at a time."""
        own = columns[np.arange(rows.size), rows]
        moves = -self.base[rows]
        free = self.free[rows]
        moves[free] = moves[free] / own[free]
        return moves


def _shifts(system: KernelSystem, problem: ColumnProblem) -> Array:
    """What is added to the diagonal (n,) of K: what the loss adds, and enough to factor it."""
    largest = float(system.diagonal.max(initial=1.0))
    if problem.squared:
        return np.maximum(problem.ridge, _LEAST_SHIFT * system.n * largest)
    return np.full(system.n, _SHIFT * largest)


def estimated_values(
    system: KernelSystem, solution: ColumnSolution, last: FreeRows | None = None
) -> Array:
    """Leave-one-out values (n,) as they are if no set changes; exact for rows with no coefficient.

    For the hinge loss that is the span estimate f(xᵢ) − βᵢSᵢ². Where an intercept is not penalised
    and no row is free it is held.

    ``last`` is a system that need not be made again if it is that of the free rows: it is used up.

    **Cost**: 2|B|²·|SV| flops for |B| free rows and |SV| with a coefficient.
    """
    problem, point = solution.problem, solution.point
    values = point.values + point.intercept
    block = _block_of(system, solution, last)
    U = np.flatnonzero(solution.sets()[1])
    spans = np.zeros(system.n)
    if block is None:
        spans[U] = system.diagonal[U]
    elif block.triangle is None:
        assert isinstance(system, FeatureSystem)
        B, shift = block.rows, block.shifts
        spans[B], spans[U] = _spans_by_features(system, B, U, shift, intercept=problem.intercept)
    else:
        B = block.rows
        spans[B], spans[U] = _spans_by_rows(system, block, U, intercept=problem.intercept)
    return values - point.coefficients * np.maximum(spans, 0.0)


def _block_of(
    system: KernelSystem, solution: ColumnSolution, last: FreeRows | None
) -> FreeRows | None:
    """The system of the free rows: the last one, where that is the same.

    Of a solution with a gap it may have a few rows more or less; those that it has not have no
    coefficients.
    """
    shifts = _shifts(system, solution.problem)
    if last is not None and np.array_equal(last.shifts, shifts[last.rows]):
        others = np.ones(system.n, bool)
        others[last.rows] = False
        if not solution.point.coefficients[others].any():
            return last
    B = np.flatnonzero(solution.sets()[0])
    return system.free_rows(B, shifts[B]) if B.size else None


def _spans_by_rows(
    system: KernelSystem, block: FreeRows, U: Array, *, intercept: bool
) -> tuple[Array, Array]:
    """S² of the free rows B and of the rows U at their bound, by the factor of K_BB: it is lost."""
    P, B = block.triangle, block.rows
    assert P is not None
    cross = solve_triangular(P, system.block(B, U))
    at_bound = system.diagonal[U] - np.einsum("ij,ij->j", cross, cross)
    ones = solve_triangular(P, np.ones((B.size, 1)))
    own = solve_transposed(P, ones)[:, 0]  # A⁻¹1
    triangular_inverse(P)
    inverse = column_square_sums(P)
    plain = inverse.copy()
    if intercept:
        s = float(np.square(ones).sum())
        at_bound += np.square(1.0 - cross.T @ ones[:, 0]) / s
        inverse -= np.square(own) / s
    # a free row that is alone with the intercept: this one is held, too
    alone = inverse <= 1e-14 * plain
    rest = 1.0 / np.where(alone, 1.0, inverse) - block.shifts
    return np.where(alone, system.diagonal[B], rest), at_bound


def _spans_by_features(
    system: FeatureSystem, B: Array, U: Array, shift: Array, *, intercept: bool
) -> tuple[Array, Array]:
    """The same where the free rows are more than the features: G = I + Z_BᵀD⁻¹Z_B is factored.

    With h = z G⁻¹ zᵀ/μ, which is the leverage of a free row, (A⁻¹)ᵢᵢ = (1 − h)/μ.
    """
    own = system.Z[B]
    scaled = own / np.sqrt(shift)[:, None]
    G = scaled.T @ scaled
    G[np.diag_indices(G.shape[0])] += 1.0
    cholesky(G)
    leverages = np.square(solve_triangular(G, np.ascontiguousarray(scaled.T))).sum(axis=0)
    rest = np.maximum(1.0 - leverages, 1e-14)  # μ times the diagonal of the inverse
    others = np.ascontiguousarray(system.Z[U].T)
    at_bound = np.square(solve_triangular(G, others)).sum(axis=0)
    if intercept:
        root = 1.0 / np.sqrt(shift)
        inner = cholesky_solve(G, scaled.T @ root)
        ones = (root - scaled @ inner) * root  # A⁻¹1
        s = float(ones.sum())
        at_bound += np.square(1.0 - others.T @ inner) / s
        rest = np.maximum(rest - shift * np.square(ones) / s, 1e-14)
    return shift * (1.0 - rest) / rest, at_bound


def too_costly(system: KernelSystem, solutions: Sequence[ColumnSolution]) -> bool:
    """Whether exact values take more numbers or flops than are worth it, beside an estimate."""
    free = [int(np.count_nonzero(each.sets()[0])) for each in solutions]
    supports = [int(np.count_nonzero(each.point.coefficients)) for each in solutions]
    pairs = zip(free, supports, strict=True)
    flops = sum(2.0 * system.n * (b + _OF_CHANGES) * s for b, s in pairs)
    return 4.0 * system.n * max(free) > _MOST_NUMBERS or flops > _MOST_FLOPS


def left_out_values(
    system: KernelSystem, solution: ColumnSolution, tick: Callable[[], None] = lambda: None
) -> LeftOutValues:
    """Exact leave-one-out values (n,) of a solution that is exact to rounding.

    Rows without a coefficient keep their value. The others are moved out along the tableau, all at
    once; where a row changes its set by that, pivots follow. The gap of what these leave is taken
    from products with K; where it is not small, the problem without the row is solved.

    **Cost**: the tableau, 4|N||B|·|SV| flops, and some passes over the rows for each one whose set
    changes.
    """
    problem, point = solution.problem, solution.point
    values = point.values + point.intercept
    gap = (solution.certificate.primal - solution.certificate.dual) / (2.0 * problem.alpha)
    radius = _radius(max(gap, 0.0), solution.certificate.primal / (2.0 * problem.alpha), system)
    free, full = solution.sets()
    supports = np.flatnonzero(free | full | (point.coefficients != 0))
    unsettled: list[int] = []
    anew = supports.tolist()
    if not problem.intercept or np.count_nonzero(free) > 1:
        tableau = Tableau(system, solution)
        found = _Settled(tableau, values, radius)
        for part in blocks(supports.size, found.most):
            unsettled += _screen(tableau, supports[part], found).tolist()
        for row in unsettled:
            sizes = _pivots(tableau, row)
            if sizes is None:
                found.anew.append(row)
            else:
                found.add(row, sizes)
            tick()
        found.flush()
        anew = found.anew
    for row in anew:
        values[row], radius[row] = _solved_without(system, solution, row)
        tick()
    if problem.intercept:
        radius[:] = np.nan
    return LeftOutValues(values, radius, len(unsettled), len(anew))


class _Settled:
    """Solutions without a row, collected until a product with K of all of them is worth it.

    Their values and gaps come from that product, and not from the tableau: where K of the free rows
    is singular, that has lost digits. Rows with a gap that is not small are in ``anew``.
    """

    def __init__(self, tableau: Tableau, values: Array, radius: Array) -> None:
        self.tableau, self.values, self.radius = tableau, values, radius
        self.most = max(1, _BLOCK_NUMBERS // tableau.n)
        self.anew: list[int] = []
        self._rows: list[int] = []
        self._sizes: list[Array] = []
        self._best = np.full(tableau.n, np.inf)

    def add(self, row: int, sizes: Array) -> None:
        """yβ (n,) without ``row``."""
        self._rows.append(row)
        self._sizes.append(sizes)
        if len(self._rows) >= self.most:
            self.flush()

    def flush(self) -> None:
        """Look at what was added."""
        if self._rows:
            self.look(np.array(self._rows), np.stack(self._sizes))
        self._rows, self._sizes = [], []

    def look(self, rows: Array, A: Array) -> None:
        """Values and radii of ``rows`` (k,), for yβ (k, n) without each of them: overwritten."""
        for _ in range(_REFINEMENTS):
            V, rough = self._certified(rows, A)
            if not rough.any():
                return
            rows, A = rows[rough], A[rough]
            for row, a, values in zip(rows, A, V[rough], strict=True):
                _refine(self.tableau, int(row), a, values)
        _, rough = self._certified(rows, A)
        self.anew += rows[rough].tolist()

    def _certified(self, rows: Array, A: Array) -> tuple[Array, Array]:
        """Values (k, n) of yβ (k, n), and whether the gap without each of ``rows`` (k,) is large.

        What is best so far of the value of the row and its radius is kept.
        """
        tableau = self.tableau
        problem, point, signs = tableau.problem, tableau.point, tableau.signs
        upper = tableau.upper
        np.maximum(A, 0.0, out=A)
        np.minimum(A, upper, out=A)
        at = np.arange(rows.size)
        A[at, rows] = 0.0
        V = tableau.system.products(A * signs - point.coefficients)
        V += point.values
        square = np.einsum("ij,ij->i", A, V * signs)
        if problem.intercept:
            V += self._intercepts(rows, V)[:, None]
        slack = np.maximum(1.0 - V * signs, 0.0)
        slack[at, rows] = 0.0
        dual = A.sum(axis=1)
        if problem.squared:
            primal = np.square(slack) @ (problem.weights / (2.0 * problem.alpha)) + square
            primal += 0.5 * (np.square(A) @ problem.ridge)
        else:
            primal = slack @ upper + square
        gap = np.maximum(primal - dual, 0.0)
        if problem.intercept:  # Σβ = 0 but for what the bounds have cut off
            gap += np.abs(A @ signs) * np.abs(point.intercept)
        scale = primal + dual
        radius = np.sqrt((gap + 1e-14 * tableau.n * scale) * tableau.system.diagonal[rows])
        better = ~(radius >= self._best[rows])
        self.values[rows[better]] = V[at, rows][better]
        self.radius[rows[better]] = self._best[rows[better]] = radius[better]
        return V, ~(gap <= _REFIT_TOLERANCE * scale)

    def _intercepts(self, rows: Array, V: Array) -> Array:
        problem = self.tableau.problem
        pairs = zip(rows, V, strict=True)
        return np.array([best_intercept(problem.without(int(row)), v) for row, v in pairs])


def _radius(gap: Array | float, primal: Array | float, system: KernelSystem) -> Array:
    """√(gap·k(x, x)), with what rounding may have hidden of the gap."""
    return np.sqrt((gap + 1e-14 * system.n * np.abs(primal)) * system.diagonal)


def _coefficient_scale(tableau: Tableau) -> float:
    """What a coefficient is compared with."""
    return float(np.abs(tableau.base).max(initial=0.0))


def _screen(tableau: Tableau, rows: Array, found: _Settled) -> Array:
    """Leave out ``rows`` (k,) one at a time; those by which others change sets are returned."""
    T = tableau.columns(rows)
    moves = tableau.first_moves(rows, T)
    T *= moves[:, None]
    T += tableau.state
    T *= tableau.signs
    T[np.arange(rows.size), rows] = 0.0
    small = _ROUNDING * _coefficient_scale(tableau)
    inside, full = tableau.free, tableau.full
    upper = tableau.upper[inside]
    kept = ((T[:, inside] >= -small) & (T[:, inside] <= upper + small)).all(axis=1)
    lower = ~inside & ~full & (tableau.upper > 0)
    kept &= (T[:, lower] >= -_ROUNDING).all(axis=1) & (T[:, full] <= _ROUNDING).all(axis=1)
    found.look(rows[kept], _sizes(tableau, T[kept], inside, full))
    return rows[~kept]


def _sizes(tableau: Tableau, seen: Array, free: Array, full: Array) -> Array:
    """yβ: ``seen`` (…, n) where rows are free, and their bound elsewhere."""
    return np.where(free, seen, np.where(full, tableau.upper, 0.0))


def _pivots(tableau: Tableau, row: int) -> Array | None:
    """yβ (n,) without a row by changes of sets; None where they do not end.

    First all rows that break a condition change their set at once, which mostly ends after a few
    steps. Where it does not, the coefficient of the row is followed down to zero.
    """
    free, full = tableau.free.copy(), tableau.full.copy()
    free[row] = full[row] = False
    small = _ROUNDING * _coefficient_scale(tableau)
    signs, upper = tableau.signs, tableau.upper
    has_condition = upper > 0
    has_condition[row] = False
    fewest, waited = signs.size, 0
    for _ in range(_BLOCK_STEPS):
        states = _moved_states(tableau, row, free, full)
        if states is None:
            break
        z = states[0] + states[1]
        seen = signs * z
        falls = free & (seen < -small)
        rises = free & (seen > upper + small)
        enters = ~free & has_condition & np.where(full, seen > _ROUNDING, seen < -_ROUNDING)
        broken = np.flatnonzero(falls | rises | enters)
        if broken.size == 0:
            return _sizes(tableau, seen, free, full)
        waited = 0 if broken.size < fewest else waited + 1
        if waited > 1:
            break
        fewest = min(fewest, broken.size)
        full[broken] = rises[broken]
        free[broken] = enters[broken]
    return _followed(tableau, row)


def _followed(tableau: Tableau, row: int) -> Array | None:
    """The same by letting the coefficient go down to zero: one row at a time changes its set.

    Between two changes everything moves along a line.
    """
    free, full = tableau.free.copy(), tableau.full.copy()
    free[row] = full[row] = False
    signs, upper = tableau.signs, tableau.upper
    has_condition = upper > 0
    has_condition[row] = False
    t, waited = 0.0, 0
    for _ in range(_MOST_STEPS):
        states = _moved_states(tableau, row, free, full)
        if states is None:
            return None
        seen, rates = signs * (states[0] + t * states[1]), signs * states[1]
        to_zero = np.where(free, rates < 0, np.where(full, rates > 0, rates < 0)) & has_condition
        to_bound = free & (rates > 0) & np.isfinite(upper)
        # what is beyond its condition already is so by rounding
        beyond = np.where(free | ~full, seen < 0, seen > 0)
        room = np.where(beyond, 0.0, np.abs(seen))
        room[to_bound] = np.maximum(upper[to_bound] - seen[to_bound], 0.0)
        steps = np.where(
            to_zero | to_bound, room / np.where(rates == 0, 1.0, np.abs(rates)), np.inf
        )
        first = int(np.argmin(steps))
        if t + steps[first] >= 1.0:
            return _sizes(tableau, signs * (states[0] + states[1]), free, full)
        t += float(steps[first])
        waited = 0 if steps[first] > _NO_STEP else waited + 1
        if waited > _MOST_WAITS:  # rows that are equal may go round in circles
            return None
        was_free = free[first]
        full[first] = bool(was_free and to_bound[first])
        free[first] = not was_free
    return None


def _moved_states(
    tableau: Tableau, row: int, free: Array, full: Array
) -> tuple[Array, Array] | None:
    """Coefficients of free rows and g of the others, for other sets than those of the tableau.

    Both parts are (n,): the first with the coefficient of ``row`` as it is, and the second what is
    added while that goes down to zero.
    """
    was_free, base = tableau.free, tableau.base
    bound = tableau.signs * np.where(full, tableau.upper, 0.0)
    bound[row] = base[row]
    solved = np.flatnonzero(was_free != free)
    shifted = np.flatnonzero(~was_free & ~free & (bound != base))
    states = np.zeros((2, base.size))
    states[0] = tableau.state
    if shifted.size:
        states[0] += (bound - base)[shifted] @ _columns(tableau, shifted)
    if not was_free[row]:
        states[1] = -base[row] * tableau.column(row)
    wanted = np.zeros((2, solved.size))
    came = ~was_free[solved]
    wanted[0] = np.where(came, 0.0, bound[solved])
    wanted[1, solved == row] = -base[row]
    if not _exchange(tableau, states, solved, wanted):
        return None
    states[0, solved[came]] += base[solved[came]]
    return states[0], states[1]


def _exchange(tableau: Tableau, states: Array, solved: Array, wanted: Array) -> bool:
    """Let rows ``solved`` (c,) change their set: their part of ``states`` (k, n) is ``wanted``.

    ``states`` are overwritten, there by what brings this about; False where nothing does.
    """
    if not solved.size:
        return True
    T = _columns(tableau, solved)
    try:
        moves = np.linalg.solve(T[:, solved].T, (wanted - states[:, solved]).T).T
    except np.linalg.LinAlgError:
        return False
    if not np.isfinite(moves).all():
        return False
    states += moves @ T
    states[:, solved] = moves
    return True


def _refine(tableau: Tableau, row: int, a: Array, values: Array) -> None:
    """Bring the conditions of free rows nearer, for yβ ``a`` (n,) without ``row``: overwritten.

    ``values`` (n,) are f + b there.
    """
    gradient = values - tableau.signs
    if tableau.problem.squared:
        gradient += tableau.problem.ridge * (tableau.signs * a)
    free = (a > 0) & (a < tableau.upper)
    B, N = tableau.B, tableau.N
    wrong = np.where(free[B], gradient[B], 0.0)
    states = np.empty((1, tableau.n))
    states[0, B] = -(tableau.P @ wrong)
    states[0, N] = gradient[N] - tableau.E @ wrong
    solved = np.flatnonzero(tableau.free != free)
    came = solved[free[solved]]
    if not _exchange(tableau, states, solved, np.zeros((1, solved.size))):
        return
    moved = free & tableau.free
    moved[came] = True
    a[moved] += (tableau.signs * states[0])[moved]


def _columns(tableau: Tableau, rows: Array) -> Array:
    return np.stack([tableau.column(int(j)) for j in rows])


def _solved_without(
    system: KernelSystem, solution: ColumnSolution, row: int
) -> tuple[float, float]:
    """The same by solving the problem without the row, from the solution with it."""
    point = solution.point
    removed = np.zeros(system.n)
    removed[row] = -point.coefficients[row]
    start = BoxPoint(
        point.coefficients + removed, point.values + system.product(removed), point.intercept
    )
    problem = solution.problem.without(row)
    found = solve_column(system, problem, start, _REFIT_TOLERANCE, _NEAR)
    value = float(found.point.values[row] + found.point.intercept)
    gap = (found.certificate.primal - found.certificate.dual) / (2.0 * problem.alpha)
    primal = found.certificate.primal / (2.0 * problem.alpha)
    return value, float(_radius(max(gap, 0.0), primal, system)[row])
