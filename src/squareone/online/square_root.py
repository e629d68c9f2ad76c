"""The square root of A = aI + Σxxᵀ, brought up to date by rows as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    append_row,
    append_rows,
    backward_vector,
    cholesky,
    forward_vector,
    solve_transposed,
    solve_triangular,
    square_length,
    triangle_condition,
)
from ..errors import ScaleError
from .learners import State
from .rollback import inserted, writable

# Rows that wait beside the triangle, at most and at least; in between so many for each feature.
_MOST_WAITING, _LEAST_WAITING, _WAITING_SHARE = 128, 16, 1 / 4
# The same as long as the triangle is a multiple of the identity, by which one divides at once.
_MOST_FIRST, _FIRST_SHARE = 256, 3 / 4
# r = xᵀA⁻¹x up to which a difference of squares keeps the digits of 1 + r; up to which rows may
# wait if their remainders are made orthogonal twice; up to which a block is learned at once.
_PLAIN, _TWICE, _AT_ONCE = 1e4, 1e14, 1e18
# What the last of some rows may count beside the first, with forgetting.
_FADED = 1e4
# With forgetting: rows after which the ridge is restored, at least and at most.
_LEAST_PERIOD, _MOST_PERIOD = 16, 1024
# Times that rows went into the triangle, from one estimate of the digits it has to the next.
_LOOK = 16
_EPSILON = float(np.finfo(np.float64).eps)
# Features for each row of a block from which on its rows are better taken one by one.
_FEATURES_PER_ROW = 32


_OUT_OF_RANGE = (
    "rows, or their weights, leave the range of float64: rescale X, for instance with "
    "sklearn.preprocessing.StandardScaler"
)


def ridge_period(forgetting: float) -> int:
    """Rows from one restoration of the ridge to the next: 1/(1 − μ), but 16 at least.

    The ridge fades by no more than e meanwhile, or by what sixteen rows take from it, if that is
    more. Zero where nothing is forgotten.
    """
    if forgetting == 1.0:
        return 0
    return max(_LEAST_PERIOD, min(_MOST_PERIOD, int(1.0 / (1.0 - forgetting))))


def waiting_rows(d: int, forgetting: float, *, first: bool = False) -> int:
    """Rows that wait before they go into the triangle, of so many features.

    ``first`` says that none went into it yet.
    """
    most, share = (_MOST_FIRST, _FIRST_SHARE) if first else (_MOST_WAITING, _WAITING_SHARE)
    room = min(most, max(_LEAST_WAITING, int(share * d)))
    if forgetting == 1.0:
        return room
    return int(min(room, max(1.0, -np.log(_FADED) / np.log(forgetting))))


class SquareRootFactor:
    """A = aI + Σωxxᵀ = LLᵀ and T = L⁻¹v of some columns, v = Σωyx, as rows come one by one.

    Squares of the features are never formed: L and T come from reflections of the rows themselves,
    so that features of 10¹², or of 10⁷ beside a ridge of one, lose half the digits that A would
    (:func:`~squareone.arrays.append_rows`), and errors do not grow with the rows.

    Up to 128 rows wait beside L, and up to 256 as long as L is √a times the identity, by which one
    divides at once. With u = L⁻¹x, A is L(I + UᵀU)Lᵀ for the rows U that wait, and
    (I + UᵀU)⁻¹ = I − ZᵀZ, where each row of Z follows from the one that comes,

        z = (u − Zᵀl)/ρ,  l = Zu,  ρ² = 1 + |u|² − |l|² = 1 + r.

    A factor is never changed: :meth:`learned` gives another one. Both share the memory in which
    rows wait, where neither looks behind its own; only the last of them may be asked to learn, or,
    if that is given up, the one before.

    **Cost** of a row: 2d² for two triangular solves, some 128d for the rows that wait, and 2d² in
    products of matrices when these go into L. **Memory**: d² + 256d numbers, d² + 512d before the
    first ones do.

    Parameters
    ----------
    d : int
        Features.
    c : int
        Columns.
    alpha : float
        The ridge a.
    forgetting : float
        μ: before a row is learned all earlier ones are weighted by μ, and the ridge with them; it
        is restored after :func:`ridge_period` rows.

    Attributes
    ----------
    L : array (d, d)
        Lower triangle, zero above: A but for the rows that wait.
    T : array (d, c)
    unit : float or None
        √a as long as L is that many times the identity, since no row went into it.
    waiting : int
        How many wait.
    rounding : float
        About how much rounding may change the weights, relatively, when L was last a full one.
    """

    def __init__(self, d: int, c: int, alpha: float, forgetting: float = 1.0) -> None:
        self.alpha, self.forgetting = alpha, forgetting
        self.period = ridge_period(forgetting)
        self.unit: float | None = math.sqrt(alpha)
        self.L, self.T = self.unit * np.eye(d), np.zeros((d, c))
        self.waiting, self.rounding = 0, 0.0
        self.merges, self.next_look = 0, 0  # rows went into L; when to look at its digits
        self.since = 0  # rows since the ridge was restored
        self.room = waiting_rows(d, forgetting, first=True)
        self._make_room()

    def _make_room(self) -> None:
        """Memory of its own in which rows may wait."""
        (d, c), room = self.T.shape, self.room
        # rows that wait and their targets, times the roots of their weights beside L
        self._rows, self._targets = np.empty((room, d)), np.empty((room, c))
        self._Z, self._M = np.empty((room, d)), np.zeros((room, room))  # M has the rows (l, ρ)

    def __getstate__(self) -> dict[str, Any]:
        """Without the memory in which no row waits."""
        return {**vars(self), **{name: value.copy() for name, value in self._in_use().items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_room()
        for name, value in self._in_use().items():
            value[...] = state[name]

    def _in_use(self) -> dict[str, Array]:
        """What counts of the rows that wait."""
        j = self.waiting
        return {
            "_rows": self._rows[:j],
            "_targets": self._targets[:j],
            "_Z": self._Z[:j],
            "_M": self._M[:j, :j],
        }

    def _copy(self) -> SquareRootFactor:
        found = object.__new__(SquareRootFactor)
        found.__dict__.update(self.__dict__)
        return found

    # --- what is asked ---

    def spread(self, x: Array) -> float:
        """r = xᵀA⁻¹x of a row (d,). **Cost**: d² flops, and those of the rows that wait."""
        u = forward_vector(self.L, x) if self.unit is None else x / self.unit
        r = self._remainder(u, square_length(u))[2]
        return r if self.forgetting == 1.0 else r * self.forgetting**-self.waiting

    def _remainder(self, u: Array, size: float) -> tuple[Array, Array, float]:
        """(I + UᵀU)⁻¹u, l and r, for u = L⁻¹x (d,) and |u|²."""
        if not self.waiting:
            return u, u[:0], size
        Z = self._Z[: self.waiting]
        part = Z.dot(u)
        rest = u - part.dot(Z)
        if size <= _PLAIN:
            return rest, part, size - float(part.dot(part))
        # (u, 0) less its part in the orthonormal rows (Z, M⁻¹): what rounding has left of it is
        # taken away by doing so twice
        M = self._M[: self.waiting, : self.waiting]
        beta = backward_vector(M, part)
        more = Z @ rest - forward_vector(M, beta)
        rest = rest - more @ Z
        beta += backward_vector(M, more)
        return rest, part + more, float(rest @ rest) + float(beta @ beta)

    def merged(self) -> SquareRootFactor:
        """The same with no row waiting."""
        j = self.waiting
        if not j:
            return self
        return self._with(*append_rows(self.L, self.T, self._rows[:j], self._targets[:j]), j)

    def _with(self, L: Array, T: Array, count: int) -> SquareRootFactor:
        """The same where so many rows, in their units beside L, went into it."""
        found = self._copy()
        faded = 1.0 if self.forgetting == 1.0 else self.forgetting ** (0.5 * count)
        found.L, found.T = (L, T) if faded == 1.0 else (faded * L, faded * T)
        room = waiting_rows(L.shape[0], self.forgetting)
        if found.waiting or room != found.room:  # which this one still has
            found.room = room
            found._make_room()
        found.unit, found.waiting = None, 0
        found.merges += 1
        if not (np.isfinite(np.diagonal(found.L)).all() and np.isfinite(found.T).all()):
            raise ScaleError(_OUT_OF_RANGE)
        return found

    def solution(self) -> Array:
        """A⁻¹v (c, d). **Cost**: d²c flops, where no row waits."""
        factor = self.merged()
        return np.ascontiguousarray(solve_transposed(factor.L, factor.T).T)

    def log_determinant(self) -> float:
        """ln det(A/a)."""
        L = self.merged().L
        return float(2.0 * np.log(np.abs(np.diagonal(L))).sum() - L.shape[0] * np.log(self.alpha))

    def energy(self, u: Array) -> float:
        """uᵀ(A − aI)u for a vector (d,)."""
        return float(np.square(u @ self.merged().L).sum() - self.alpha * (u @ u))

    # --- learning ---

    def learned(
        self, x: Array, y: Array, error: Array, W: Array, weight: float = 1.0
    ) -> tuple[SquareRootFactor, Array]:
        """With one row more.

        Parameters
        ----------
        x : array (d,)
        y : array (c,)
        error : array (c,)
            y − Wx.
        W : array (c, d)
            The solution so far.
        weight : float
            ω, above zero.

        Returns
        -------
        factor : SquareRootFactor
        W : array (c, d)
        """
        j = self.waiting
        unit = 1.0 if weight == 1.0 else math.sqrt(weight)
        if self.forgetting < 1.0:
            unit *= self.forgetting ** (-0.5 * (j + 1))
        row, target = x, y
        if unit != 1.0:
            with np.errstate(over="ignore"):
                row, target = unit * x, unit * y
        L, plain = self.L, self.unit
        u = forward_vector(L, row) if plain is None else row / plain
        size = square_length(u)
        if not size <= _TWICE:
            return self._learned_alone(row, target)
        found = self._copy()
        found._put(row, target)
        found.since += 1
        rest, part, r = self._remainder(u, size)
        if found.waiting >= found.room or found.since == found.period:
            return found.merged()._restored()
        root, M = math.sqrt(1.0 + r), found._M[j]
        np.multiply(rest, 1.0 / root, out=found._Z[j])
        M[:j], M[j] = part, root
        gain = backward_vector(L, rest) if plain is None else rest / plain
        if error.size == 1:  # as below, in half the calls
            gain *= unit / (1.0 + r) * error[0]
            gain += W[0]
            return found, gain[None]
        gain *= unit / (1.0 + r)
        step = gain * error[:, None]
        step += W
        return found, step

    def _learned_alone(self, row: Array, target: Array) -> tuple[SquareRootFactor, Array]:
        """With a row, in its unit beside L, that is far from all before it."""
        if not np.isfinite(row).all():
            raise ScaleError(_OUT_OF_RANGE)
        factor = self.merged()
        if self.forgetting < 1.0:  # its unit counted those that waited
            faded = self.forgetting ** (0.5 * self.waiting)
            row, target = faded * row, faded * target
        found = factor._with(*append_row(factor.L, factor.T, row, target), 1)
        found.since += 1
        return found._restored(looked_at=False)

    def _put(self, row: Array, target: Array) -> None:
        """Let a row wait, in memory that others may share: where none of them looks."""
        j = self.waiting
        if not self._rows.flags.writeable:
            self._rows, self._targets = writable(self._rows), writable(self._targets)
            self._Z, self._M = writable(self._Z), writable(self._M)
        self._rows[j], self._targets[j] = row, target
        self.waiting = j + 1

    def _restored(self, *, looked_at: bool = True) -> tuple[SquareRootFactor, Array]:
        """The same, and its solution (c, d), with what was forgotten of the ridge if it is time.

        Where the first row in some direction came, which is far from those before it, it is too
        soon to say that digits are lost.
        """
        found = self._copy()
        if self.period and self.since >= self.period:
            d, c = found.T.shape
            missing = np.sqrt(self.alpha * (1.0 - self.forgetting**self.since))
            found.L, found.T = append_rows(
                self.L, self.T, missing * np.eye(d), np.zeros((d, c)), triangular=True
            )
            found.since = 0
        if looked_at and found.merges >= self.next_look:
            found.next_look = found.merges + _LOOK
            condition = triangle_condition(found.L)
            found.rounding = _EPSILON / condition if condition > 0 else np.inf
        return found, found.solution()

    def learned_rows(
        self, X: Array, Y: Array, W: Array, weights: Array | None = None
    ) -> tuple[SquareRootFactor, Array, Array]:
        """With many rows more, from products of matrices.

        With U = XL⁻ᵀ and I + UUᵀ = MMᵀ, what each row leaves unexplained *before* it is learned is
        diag(M)·M⁻¹(Y − XWᵀ): exactly the errors of one row at a time.

        Parameters
        ----------
        X : array (b, d)
        Y : array (b, c)
        W : array (c, d)
        weights : array (b,) or None

        Returns
        -------
        factor : SquareRootFactor
        W : array (c, d)
        errors : array (b, c)
            y less its prediction, each before its row was learned.

        Notes
        -----
        **Cost**: 3bd² + b²d flops.
        """
        factor: SquareRootFactor = self
        errors = np.empty_like(Y)
        w = np.ones(X.shape[0]) if weights is None else weights
        few = max(1, X.shape[1] // _FEATURES_PER_ROW)
        start = 0
        while start < X.shape[0]:
            most = min(factor.room, factor.period - factor.since) if self.period else factor.room
            stop = min(X.shape[0], start + most)
            if stop - start > few:
                factor = factor.merged()
                units = factor._units(w[start:stop])
                U = solve_triangular(factor.L, (X[start:stop] * units).T).T
                small = np.einsum("ij,ij->i", U, U) <= _AT_ONCE
                count = stop - start if small.all() else int(np.argmin(small))
                if count > few:
                    part = slice(start, start + count)
                    factor, W, errors[part] = factor._learned_block(
                        X[part], Y[part], W, units[:count], U[:count]
                    )
                    start += count
                    continue
                stop = start + count + 1
            for i in range(start, stop):
                errors[i] = Y[i] - W @ X[i]
                factor, W = factor.learned(X[i], Y[i], errors[i], W, float(w[i]))
            start = stop
        return factor, W, errors

    def _units(self, weights: Array) -> Array:
        """What rows are multiplied by (b, 1): the roots of their weights (b,) beside L."""
        units = np.sqrt(weights)
        if self.forgetting < 1.0:
            units *= self.forgetting ** (-0.5 * np.arange(1, weights.size + 1))
        return units[:, None]

    def _learned_block(
        self, X: Array, Y: Array, W: Array, units: Array, U: Array
    ) -> tuple[SquareRootFactor, Array, Array]:
        b = X.shape[0]
        if np.square(U).sum(axis=1).max() <= _PLAIN:
            M = U @ U.T
            M.flat[:: b + 1] += 1.0
            cholesky(M)
        else:
            M, _ = append_rows(np.eye(b), np.empty((b, 0)), U.T, np.empty((U.shape[1], 0)))
            M *= np.sign(np.diagonal(M))
        E = solve_triangular(M, (Y - X @ W.T) * units)
        errors = np.diagonal(M)[:, None] * E / units
        found = self._with(*append_rows(self.L, self.T, X * units, Y * units), b)
        found.since += b
        return *found._restored(), errors

    # --- other columns, other features ---

    def with_column(self, like: int, sign: float) -> SquareRootFactor:
        """One more column: a copy of another times ``sign``."""
        found = self._copy()
        found.T = np.hstack([self.T, sign * self.T[:, like, None]])
        found._targets = np.hstack([self._targets, sign * self._targets[:, like, None]])
        return found

    def negated(self, column: int) -> SquareRootFactor:
        """That of the opposite targets in a column."""
        found = self._copy()
        found.T, found._targets = self.T.copy(), self._targets.copy()
        found.T[:, column] *= -1.0
        found._targets[:, column] *= -1.0
        return found

    def apart(self, sign: float) -> SquareRootFactor:
        """The same for all targets times ``sign``, in memory of its own."""
        found = self._copy()
        found.T, found._targets = sign * self.T, sign * self._targets
        found._rows, found._Z, found._M = self._rows.copy(), self._Z.copy(), self._M.copy()
        return found

    def with_features(self, at: int, count: int) -> SquareRootFactor:
        """So many features more at a place: they were zero in all rows."""
        factor = self.merged()
        found = factor._copy()
        found.L = inserted(inserted(factor.L, at, count, 0), at, count, 1)
        ridge = self.alpha * self.forgetting**self.since
        new = np.arange(at, at + count)
        found.L[new, new] = np.sqrt(ridge)
        found.T = inserted(factor.T, at, count, 0)
        first = found.unit is not None
        found.room = waiting_rows(found.T.shape[0], self.forgetting, first=first)
        found._make_room()
        return found

    # --- in a file ---

    def state(self) -> State:
        """All there is, but the parameters."""
        waiting = {name[1:]: value.copy() for name, value in self._in_use().items()}
        return {
            "L": self.L,
            "T": self.T,
            **waiting,
            "since": int(self.since),
            "rounding": float(self.rounding),
        }

    @classmethod
    def from_state(cls, state: State, alpha: float, forgetting: float) -> SquareRootFactor:
        """Go on from there."""
        d, c = state["T"].shape
        found = cls(d, c, alpha, forgetting)
        if not np.array_equal(state["L"], found.L):
            found.unit, found.room = None, waiting_rows(d, forgetting)
            found._make_room()
        found.L, found.T = state["L"].copy(), state["T"].copy()
        found.waiting = state["rows"].shape[0]
        for name, value in found._in_use().items():
            value[...] = state[name[1:]]
        found.since, found.rounding = int(state["since"]), float(state["rounding"])
        return found
