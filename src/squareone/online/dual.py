"""The exact form for kernels, and for many features: a Cholesky factor that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr_delete
from scipy.sparse import csr_matrix, hstack, issparse, vstack

from ..arrays import Array, calm_blas, cholesky, solve_transposed, solve_triangular
from ..errors import SingularSystemError
from ..kernels import Constant, Kernel, Linear, Sum
from ..kernels.tiles import kernel_matrix, kernel_rectangle
from .learners import Learners, State
from .primal import PrimalLearners, fits_primal
from .rollback import Restorable, Snapshot, grown, inserted
from .triangle import GrowingTriangle

# Updates after which coefficients are computed from the factor and the targets again.
_REFRESH = 256
# k(x, x)/a from which on products of features lose digits beside the ridge.
_FAR_ABOVE_RIDGE = 1e6
_EPSILON = float(np.finfo(np.float64).eps)
#: How a point is chosen that has to go.
RULES = ("smallest", "oldest")


class SupportPoints(Restorable):
    """Copies of rows at numbered places, dense or sparse as the first of them is.

    Parameters
    ----------
    features : int
    """

    containers = ("rounds", "_fresh")

    def __init__(self, features: int) -> None:
        self.features = features
        self.count = 0
        self.rounds: list[int] = []  # which rows of the stream they are
        self._rows: Any = None
        self._fresh: list[Any] = []  # sparse rows that are not in the matrix yet
        self._remembered = False  # whether a snapshot has the matrix

    def snapshot(self, numbers: float) -> Snapshot:
        """The matrix that is there: a row that is replaced is so in a copy."""
        self._remembered = True
        return super().snapshot(numbers)

    def put(self, place: int, row: Any, number: int) -> None:
        """A row (1, d) at a place that is free: an old one, or the next one."""
        if place == self.count:
            self.extend(row, number)
            return
        self.rounds[place] = number
        rows = self.matrix()
        if issparse(rows):
            above = [rows[:place]] if place else []
            self._rows = vstack([*above, csr_matrix(row), rows[place + 1 :]], format="csr")
            return
        if self._remembered or not rows.flags.writeable:
            self._rows, self._remembered = rows.copy(), False
        self._rows[place] = row.toarray()[0] if issparse(row) else row[0]

    def extend(self, rows: Any, number: int) -> None:
        """Rows (b, d) of the stream from ``number`` on, at the next places."""
        first, count = self.count, self.count + rows.shape[0]
        if self._sparse() or (self._rows is None and issparse(rows)):
            self._fresh.append(csr_matrix(rows, copy=True))
        else:
            held = np.empty((0, self.features)) if self._rows is None else self._rows
            self._rows = grown(held, (count, self.features))
            self._rows[first:count] = rows.toarray() if issparse(rows) else rows
        self.rounds.extend(range(number, number + rows.shape[0]))
        self.count = count

    def _sparse(self) -> bool:
        return issparse(self._rows) or bool(self._fresh)

    def matrix(self) -> Any:
        """All of them (count, d)."""
        if self._fresh:
            before = [] if self._rows is None else [self._rows]
            self._rows = vstack([*before, *self._fresh], format="csr")
            self._fresh = []
        if self._rows is None:
            return np.empty((0, self.features))
        return self._rows[: self.count]

    def add_features(self, at: int, count: int) -> None:
        """So many features more, zero in all points."""
        self.features += count
        rows = self.matrix()
        if self._rows is None:
            return
        if not issparse(rows):
            self._rows = inserted(rows, at, count, 1)
            return
        places = np.where(rows.indices >= at, rows.indices + count, rows.indices)
        shape = (rows.shape[0], self.features)
        self._rows = csr_matrix((rows.data, places, rows.indptr), shape=shape)

    def restore(self, rows: Any, rounds: list[int]) -> None:
        """Go on from these."""
        self._rows = rows.copy() if rows.shape[0] else None
        self._fresh, self.count, self.rounds = [], rows.shape[0], list(rounds)


class _Factor(Restorable):
    """diag(a/ω) + K = LLᵀ between the points of a group, and their targets."""

    def __init__(self, c: int) -> None:
        self.members = np.empty(0, int)  # places among the support points
        self.triangle = GrowingTriangle()
        self.targets = np.empty((0, c))
        self.ridges = np.empty(0)  # a/ω
        self.since = 0

    def parts(self) -> tuple[Restorable, ...]:
        return (self.triangle,)

    @property
    def size(self) -> int:
        return self.members.size

    def put(self, places: list[int], Y: Array, ridges: Array) -> None:
        """Points with their targets (b, c) and ridges (b,)."""
        self.members = np.append(self.members, places)
        self.targets = np.vstack([self.targets, Y])
        self.ridges = np.append(self.ridges, ridges)

    def remove(self, index: int) -> None:
        """Take a point out: O(m²)."""
        m = self.size
        _, R = qr_delete(np.eye(m), self.triangle.dense().T, index, which="col")
        R = R[: m - 1]
        R *= np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None]
        self.members = np.delete(self.members, index)
        self.targets = np.delete(self.targets, index, axis=0)
        self.ridges = np.delete(self.ridges, index)
        self.triangle = GrowingTriangle.of(R.T)

    def coefficients(self) -> Array:
        """(diag(a/ω) + K)⁻¹y (m, c)."""
        return self.triangle.solve_transposed(self.triangle.solve(self.targets))


class DualLearners(Learners):
    """Coefficients of support points: the rows that were learned by any group.

    A margin costs as many kernel values as there are points, an update m² for the m points of its
    group. Memory: the points, and m²/2 to m² numbers for every group.

    Kernel values are known to some 16 digits. Where the ridge is so small beside them that it is
    lost in their rounding, a row is refused. The linear kernel is spared that: if k(x, x) of the
    first row is more than 10⁶ times the ridge, and the features are few enough, weights of the
    features are learned as in the primal form, w, and the coefficients are c = ω(y − wᵀx)/a.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters.
    budget : int or None
        Points of a group at most.
    rule : {"smallest", "oldest"}
        Which point of a full group makes room for the next one: the one with the smallest part in
        the norm of the function, |c|·√k(x, x), or the one that was learned first. The others are
        then those of regularised least squares without it.
    """

    form = "dual"
    containers = ("_factors", "_places")

    def __init__(
        self,
        features: int,
        columns: int,
        alpha: float,
        *,
        shared: bool,
        kernel: Kernel,
        budget: int | None = None,
        rule: str = "smallest",
    ) -> None:
        super().__init__(features, columns, alpha, shared=shared)
        self.kernel, self.budget, self.rule = kernel, budget, rule
        self.points = SupportPoints(features)
        self.rounds = 0  # rows that were in blocks before this one
        self.primal: PrimalLearners | None = None
        self._peak = 0.0  # the largest k(x, x)·ω of a point
        self._C = np.zeros((0, columns))
        self._diagonal = np.zeros(0)
        self._users = np.zeros(0, int)  # groups that have a point
        self._remembered = False  # whether a snapshot has these arrays
        self._factors = [self._factor() for _ in range(self.groups)]
        self._open(np.empty((0, features)), None)

    @property
    def by_feature(self) -> bool:
        return self.primal is not None

    def _factor(self) -> _Factor:
        return _Factor(self.columns if self.shared else 1)

    def parts(self) -> tuple[Restorable, ...]:
        primal = () if self.primal is None else (self.primal,)
        return (self.points, *self._factors, *primal)

    def snapshot(self, numbers: float) -> Snapshot:
        """The arrays that are there: what is learned next is so in copies."""
        self._remembered = True
        return super().snapshot(numbers)

    def _own_arrays(self) -> None:
        """Arrays that may be changed where they are."""
        if self._remembered or not self._C.flags.writeable:
            self._C, self._users = self._C.copy(), self._users.copy()
            self._diagonal, self._remembered = self._diagonal.copy(), False

    # --- rows to come ---

    def block(self, X: Any, weights: Array | None = None) -> None:
        self.rounds += self._X.shape[0]
        self._open(X, weights)

    def release(self) -> None:
        self.block(np.empty((0, self.features)))
        if self.primal:
            self.primal.release()

    def drop(self) -> None:
        self._open(np.empty((0, self.features)), None)  # its rows are no rows of the stream
        if self.primal:
            self.primal.drop()

    def _open(self, X: Any, weights: Array | None) -> None:
        """Kernel values of all rows of a block with the points, and with each other."""
        super().block(X, weights)
        b, m = X.shape[0], self.points.count
        self._places: dict[int, int] = {}  # of rows of the block that became points
        self._K = np.zeros((b, m))
        self._within: Array | None = None
        self._own = np.empty(0)
        if b == 0:
            return
        self._own = self.kernel.diagonal(X)
        if self.primal:
            self.primal.block(self._augmented(X), weights)
            return
        if m:
            self._K = kernel_rectangle(self.kernel, X, self.points.matrix())
        if b > 1:
            self._within = kernel_matrix(self.kernel, X, both_triangles=True)

    def _augmented(self, X: Any) -> Any:
        """Rows with the constant feature that the kernel has."""
        if isinstance(self.kernel, Linear):
            return X
        ones = np.ones((X.shape[0], 1))
        return csr_matrix(hstack([X, ones])) if issparse(X) else np.hstack([X, ones])

    def _choose(self, i: int) -> None:
        """Learn weights of the features, if the first row that is learned is far above the ridge.

        That follows from the row alone, however rows are shared out over blocks.
        """
        if self.points.count or self.primal or self.budget is not None:
            return
        if self._own[i] * self.weight(i) > _FAR_ABOVE_RIDGE * self.alpha:
            self.primal = self.empty_primal()
            if self.primal:
                self.primal.block(self._augmented(self._X), self._weights)

    def _linear_features(self) -> int:
        """Features of the linear kernel, with the constant that is added to it; zero of others."""
        kernel = self.kernel
        if isinstance(kernel, Linear):
            return self.features
        if isinstance(kernel, Sum) and isinstance(kernel.first, Linear):
            constant = kernel.second
            one = isinstance(constant, Constant) and constant.value == 1.0
            return self.features + one if one else 0
        return 0

    def empty_primal(self) -> PrimalLearners | None:
        """What learns weights of the features; None where there are none, or too many."""
        d = self._linear_features()
        if not d or not fits_primal(d, self.groups):
            return None
        return PrimalLearners(d, self.columns, self.alpha, shared=self.shared)

    def lengths(self) -> Array:
        return np.sqrt(self._own)

    def _values(self, i: int) -> Array:
        """k between row i and all points."""
        return self._K[i, : self.points.count]

    def margins(self, i: int) -> Array:
        if self.primal:
            return self.primal.margins(i)
        return self._values(i) @ self._C[: self.points.count]

    def spreads(self, i: int) -> Array:
        if self.primal:
            return self.primal.spreads(i)
        k, own = self._values(i), float(self._own[i])
        found = np.full(self.groups, own)
        for group, factor in enumerate(self._factors):
            if factor.size:
                found[group] -= float(
                    np.square(factor.triangle.solve(k[factor.members, None])).sum()
                )
        return np.maximum(found, 0.0) / self.alpha

    # --- learning ---

    def learn(self, i: int, group: int, y: Array, p: Array | None = None) -> None:
        self._choose(i)
        self._own_arrays()
        ridge = self.alpha / self.weight(i)
        factor, columns = self._factors[group], self.columns_of(group)
        if self.primal:
            self.primal.learn(i, group, y, p)
            self._member(factor, [self._place(i)], y[None], np.array([ridge]))
            return
        if self.budget is not None and factor.size >= self.budget:
            self._make_room(group)
        members = factor.members
        k = self._K[i, members]
        row = factor.triangle.solve(k[:, None])
        pivot = ridge + float(self._own[i]) - float(np.square(row).sum())
        self._check_pivots(np.array([pivot]), np.array([ridge]))
        pivot = max(pivot, ridge)  # which it is but for rounding
        place = self._place(i)
        C = self._C
        gamma = (y - k @ C[members, columns]) / pivot
        C[members, columns] -= factor.triangle.solve_transposed(row) * gamma
        C[place, columns] = gamma
        factor.triangle.extend(row.T, np.full((1, 1), np.sqrt(pivot)))
        self._member(factor, [place], y[None], np.array([ridge]))
        self._refresh(group)

    def learn_rows(self, Y: Array) -> Array:
        """The same from products of matrices, where no point has to go.

        With Z = L⁻¹k between the points and the block, and S = diag(a/ω) + k − ZᵀZ = TTᵀ within
        it, the rows (Zᵀ, T) are those that L grows by, and diag(T)·T⁻¹(Y − margins) are the errors
        of one row at a time.

        Notes
        -----
        **Cost**: m²b + mb² flops for b rows beside m points.
        """
        b = Y.shape[0]
        self._choose(0)
        self._own_arrays()
        if self.primal:
            errors = self.primal.learn_rows(Y)
            self._member(self._factors[0], self._places_of_block(), Y, self._ridges())
            return errors
        if self._within is None or self.budget is not None:
            return super().learn_rows(Y)
        factor, ridges = self._factors[0], self._ridges()
        members = factor.members
        K = np.ascontiguousarray(self._K[:, members])
        Z = factor.triangle.solve(K.T)
        S = self._within - Z.T @ Z
        S.flat[:: b + 1] += ridges
        with calm_blas(b):
            try:
                cholesky(S)
            except SingularSystemError:
                S.flat[:: b + 1] = 0.0
            self._check_pivots(np.square(np.diagonal(S)), ridges)
            E = solve_triangular(S, Y - K @ self._C[members])
            gamma = solve_transposed(S, E)
        beta = factor.triangle.solve_transposed(Z @ gamma)
        places = self._places_of_block()
        self._C[members] -= beta
        self._C[places] = gamma
        factor.triangle.extend(Z.T, S)
        self._member(factor, places, Y, ridges)
        self._refresh(0)
        return np.diagonal(S)[:, None] * E

    def _ridges(self) -> Array:
        """a/ω of the rows of the block."""
        w = np.ones(self._X.shape[0]) if self._weights is None else self._weights
        return self.alpha / w

    def _check_pivots(self, pivots: Array, ridges: Array) -> None:
        """Refuse rows where rounding is about as large as the ridge, above which every pivot is."""
        if (pivots >= 0.5 * ridges).all():
            return
        peak = float(self._own.max())
        remedy = ', or form="primal"' if self._linear_features() else ""
        self._open(np.empty((0, self.features)), None)  # rows that were refused do not count
        msg = (
            f"alpha={self.alpha:g} is lost in rounding beside k(x, x) = {peak:.3g}: a larger one "
            f"is needed, or features in other units{remedy}"
        )
        raise SingularSystemError(msg)

    def _member(self, factor: _Factor, places: list[int], Y: Array, ridges: Array) -> None:
        """Points that are in a group from now on."""
        factor.put(places, Y, ridges)
        factor.since += 1
        self._users[places] += 1
        rows = self._own if len(places) == self._own.size else self._diagonal[places]
        self._peak = max(self._peak, float((rows * self.alpha / ridges).max()))

    def _refresh(self, group: int) -> None:
        if self._factors[group].since >= _REFRESH:
            self._solve(group)

    def _solve(self, group: int) -> None:
        factor = self._factors[group]
        if factor.size:
            self._C[factor.members, self.columns_of(group)] = factor.coefficients()
        factor.since = 0

    def _place(self, i: int) -> int:
        """Where row i of the block is among the points, from now on."""
        if i in self._places:
            return self._places[i]
        free = np.flatnonzero(self._users[: self.points.count] == 0)
        taken = set(self._places.values())
        place = next((int(p) for p in free if p not in taken), self.points.count)
        row = self._X[i] if issparse(self._X) else self._X[i : i + 1]
        self.points.put(place, row.reshape(1, -1), self.rounds + i)
        self._make_places(self.points.count, [place], self._own[[i]])
        if not self.primal:
            self._K = grown(self._K, (self._X.shape[0], self.points.count))
            self._K[:, place] = self._own[i] if self._within is None else self._within[:, i]
        self._places[i] = place
        return place

    def _places_of_block(self) -> list[int]:
        """Where all rows of the block are, which came next to the points that are there."""
        b, m = self._X.shape[0], self.points.count
        self.points.extend(self._X, self.rounds)
        n = m + b
        places = list(range(m, n))
        self._make_places(n, places, self._own)
        if not self.primal:
            self._K = grown(self._K, (b, n))
            self._K[:, m:n] = self._own[:, None] if self._within is None else self._within
        self._places = dict(enumerate(places))
        return places

    def _make_places(self, n: int, places: list[int], own: Array) -> None:
        """Room for so many points; those at some places are new. Coefficients there are zero."""
        self._C = grown(self._C, (n, self.columns))
        self._users = grown(self._users, (n,))
        self._diagonal = grown(self._diagonal, (n,))
        self._diagonal[places] = own

    def _make_room(self, group: int) -> None:
        """Drop the point of a group that the rule names."""
        factor, columns = self._factors[group], self.columns_of(group)
        index = 0
        if self.rule == "smallest":
            sizes = np.square(self._C[factor.members, columns]).sum(axis=1)
            index = int(np.argmin(sizes * self._diagonal[factor.members]))
        place = int(factor.members[index])
        factor.remove(index)
        self._C[place, columns] = 0.0
        self._users[place] -= 1
        self._places = {i: p for i, p in self._places.items() if p != place or self._users[p]}
        self._solve(group)

    # --- what was learned ---

    def weights(self) -> Array:
        return self.primal.weights() if self.primal else self._C[: self.points.count]

    def coefficients(self) -> Array:
        """Of the points, for every column: (points, t)."""
        if not self.primal:
            return self._C[: self.points.count]
        found = np.zeros((self.points.count, self.columns))
        if self.points.count:
            values = np.asarray(self._augmented(self.points.matrix()) @ self.primal.weights())
            for group, f in enumerate(self._factors):
                columns = self.columns_of(group)
                rest = f.targets - values[f.members, columns]
                found[f.members, columns] = rest / f.ridges[:, None]
        return found

    def block_margins(self, weights: Array) -> Array:
        if not self.primal:
            return self._K[:, : weights.shape[0]] @ weights
        if not weights.shape[0]:  # of before the first row, when there was no feature
            weights = np.zeros((self.primal.features, weights.shape[1]))
        return self.primal.block_margins(weights)

    def log_determinants(self) -> Array:
        if self.primal:
            return self.primal.log_determinants()
        return np.array(
            [
                2.0 * np.log(f.triangle.diagonal()).sum() - np.log(f.ridges).sum()
                for f in self._factors
            ]
        )

    def energies(self, values: Array, u: Array) -> Array:
        return np.array(
            [
                self.alpha * float((np.square(values[f.members]) / f.ridges).sum())
                for f in self._factors
            ]
        )

    def rounding(self) -> float:
        if self.primal:
            return self.primal.rounding()
        largest = max(factor.size for factor in self._factors)
        return _EPSILON * float(np.sqrt(largest)) * self._peak / self.alpha

    # --- other columns, other features ---

    def add_column(self, like: int | None, sign: float) -> None:
        self.columns += 1
        fresh = np.zeros((self._C.shape[0], 1)) if like is None else sign * self._C[:, like, None]
        self._C = np.hstack([self._C, fresh])
        if self.primal:
            self.primal.add_column(like, sign)
        if self.shared:
            factor = self._factors[0]
            factor.targets = np.hstack([factor.targets, sign * factor.targets[:, like, None]])
            return
        factor = self._factor()
        if like is not None:
            other = self._factors[like]
            factor.members, factor.targets = other.members.copy(), sign * other.targets
            factor.triangle = GrowingTriangle.of(other.triangle.dense())
            factor.ridges, factor.since = other.ridges.copy(), other.since
            self._own_arrays()
            self._users[factor.members] += 1
        self._factors.append(factor)

    def negate(self, column: int) -> None:
        self._own_arrays()
        self._C[:, column] *= -1.0
        if self.primal:
            self.primal.negate(column)
        factor = self._factors[0 if self.shared else column]
        targets = factor.targets.copy()
        targets[:, column if self.shared else 0] *= -1.0
        factor.targets = targets

    def add_features(self, at: int, count: int) -> None:
        self.features += count
        self.points.add_features(at, count)
        if self.primal:
            self.primal.add_features(at, count)
        self.release()

    # --- in a file ---

    def state(self) -> State:
        return {
            "points": self.points.matrix(),
            "rounds": np.array(self.points.rounds, np.int64),
            "seen": int(self.rounds + self._X.shape[0]),
            "primal": self.primal and self.primal.state(),
            "coefficients": self._C[: self.points.count].copy(),
            "groups": [
                {
                    "members": f.members.copy(),
                    "L": f.triangle.dense(),
                    "targets": f.targets,
                    "ridges": f.ridges,
                    "since": int(f.since),
                }
                for f in self._factors
            ],
        }

    def restore(self, state: State) -> None:
        self.points.restore(state["points"], state["rounds"].tolist())
        self.rounds = int(state["seen"])
        self._C = state["coefficients"].copy()
        self._diagonal = np.zeros(0)
        if self.points.count:
            self._diagonal = self.kernel.diagonal(self.points.matrix())
        self._users, self._peak = np.zeros(self.points.count, int), 0.0
        self._factors = []
        for each in state["groups"]:
            factor = self._factor()
            factor.members = each["members"].copy()
            factor.triangle = GrowingTriangle.of(each["L"])
            factor.targets, factor.since = each["targets"].copy(), int(each["since"])
            factor.ridges = each["ridges"].copy()
            self._users[factor.members] += 1
            self._factors.append(factor)
            if factor.size:
                peaks = self._diagonal[factor.members] * self.alpha / factor.ridges
                self._peak = max(self._peak, float(peaks.max()))
        self.primal = None if state["primal"] is None else self.empty_primal()
        if self.primal:
            self.primal.restore(state["primal"])
        self._open(np.empty((0, self.features)), None)
