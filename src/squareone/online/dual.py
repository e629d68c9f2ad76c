"""The exact form for kernels, and for many features: a Cholesky factor that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr_delete
from scipy.sparse import issparse

from ..arrays import Array, calm_blas, cholesky, solve_transposed, solve_triangular
from ..errors import SingularSystemError
from ..kernels import Kernel
from ..kernels.tiles import kernel_matrix, kernel_rectangle
from .learners import Learners, State
from .support import SupportPoints, grown
from .triangle import GrowingTriangle

# Updates after which coefficients are computed from the factor and the targets again.
_REFRESH = 256
#: How a point is chosen that has to go.
RULES = ("smallest", "oldest")


class _Factor:
    """aI + K = LLᵀ between the points of a group, and their targets."""

    def __init__(self, c: int) -> None:
        self.members = np.empty(0, int)  # places among the support points
        self.triangle = GrowingTriangle()
        self.targets = np.empty((0, c))
        self.since = 0

    @property
    def size(self) -> int:
        return self.members.size

    def extend(self, places: list[int], rows: Array, corner: Array, Y: Array) -> None:
        """Points with their rows of L (b, m), and the lower triangle (b, b) among themselves."""
        self.triangle.extend(rows, corner)
        self.members = np.append(self.members, places)
        self.targets = np.vstack([self.targets, Y])
        self.since += 1

    def remove(self, index: int) -> None:
        """Take a point out: O(m²)."""
        m = self.size
        _, R = qr_delete(np.eye(m), self.triangle.dense().T, index, which="col")
        R = R[: m - 1]
        R *= np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None]
        self.members = np.delete(self.members, index)
        self.targets = np.delete(self.targets, index, axis=0)
        self.triangle = GrowingTriangle.of(R.T)

    def coefficients(self) -> Array:
        """(aI + K)⁻¹y (m, c)."""
        return self.triangle.solve_transposed(self.triangle.solve(self.targets))


class DualLearners(Learners):
    """Coefficients of support points: the rows that were learned by any group.

    A margin costs as many kernel values as there are points, an update m² for the m points of its
    group. Memory: the points, and m²/2 to m² numbers for every group.

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

    def __init__(
        self,
        features: int,
        columns: int,
        a: float,
        *,
        shared: bool,
        kernel: Kernel,
        budget: int | None = None,
        rule: str = "smallest",
    ) -> None:
        super().__init__(features, columns, a, shared=shared)
        self.kernel, self.budget, self.rule = kernel, budget, rule
        self.points = SupportPoints(features)
        self.rounds = 0  # rows that were in blocks before this one
        self._C = np.zeros((0, columns))
        self._diagonal = np.zeros(0)
        self._users = np.zeros(0, int)  # groups that have a point
        self._factors = [self._factor() for _ in range(self.groups)]
        self._open(np.empty((0, features)))

    def _factor(self) -> _Factor:
        return _Factor(self.columns if self.shared else 1)

    # --- rows to come ---

    def block(self, X: Any) -> None:
        self.rounds += self._X.shape[0]
        self._open(X)

    def release(self) -> None:
        self.block(np.empty((0, self.features)))

    def _open(self, X: Any) -> None:
        """Kernel values of all rows of a block with the points, and with each other."""
        super().block(X)
        b, m = X.shape[0], self.points.count
        self._places: dict[int, int] = {}  # of rows of the block that became points
        self._K = np.zeros((b, m))
        if b == 0:
            return
        if m:
            self._K = kernel_rectangle(self.kernel, X, self.points.matrix())
        self._within = kernel_matrix(self.kernel, X, both_triangles=True) if b > 1 else None
        self._own = self.kernel.diagonal(X)

    def lengths(self) -> Array:
        return np.sqrt(self._own) if self._X.shape[0] else np.empty(0)

    def _values(self, i: int) -> Array:
        """k between row i and all points."""
        return self._K[i, : self.points.count]

    def margins(self, i: int) -> Array:
        return self._values(i) @ self._C[: self.points.count]

    def spreads(self, i: int) -> Array:
        k, own = self._values(i), float(self._own[i])
        found = np.full(self.groups, own)
        for group, factor in enumerate(self._factors):
            if factor.size:
                found[group] -= float(
                    np.square(factor.triangle.solve(k[factor.members, None])).sum()
                )
        return np.maximum(found, 0.0) / self.a

    def learn(self, i: int, group: int, y: Array) -> None:
        factor, columns = self._factors[group], self.columns_of(group)
        if self.budget is not None and factor.size >= self.budget:
            self._make_room(group)
        place = self._place(i)
        members = factor.members
        k = self._K[i, members]
        row = factor.triangle.solve(k[:, None])
        pivot = self.a + float(self._own[i]) - float(np.square(row).sum())
        pivot = max(pivot, self.a)  # which it is but for rounding
        C = self._C[:, columns]
        gamma = (y - k @ C[members]) / pivot
        C[members] -= factor.triangle.solve_transposed(row) * gamma
        C[place] = gamma
        factor.extend([place], row.T, np.full((1, 1), np.sqrt(pivot)), y[None])
        self._users[place] += 1
        if factor.since >= _REFRESH:
            self._solve(group)

    def learn_rows(self, Y: Array) -> Array:
        """The same from products of matrices, where no point has to go.

        With Z = L⁻¹k between the points and the block, and S = aI + k − ZᵀZ = TTᵀ within it, the
        rows (Zᵀ, T) are those that L grows by, and diag(T)·T⁻¹(Y − margins) are the errors of one
        row at a time.

        Notes
        -----
        **Cost**: m²b + mb² flops for b rows beside m points.
        """
        b = Y.shape[0]
        if self._within is None or self.budget is not None:
            return super().learn_rows(Y)
        factor = self._factors[0]
        members = factor.members
        K = np.ascontiguousarray(self._K[:, members])
        Z = factor.triangle.solve(K.T)
        S = self._within - Z.T @ Z
        S.flat[:: b + 1] += self.a
        with calm_blas(b):
            try:
                cholesky(S)
            except SingularSystemError:
                peak = float(self._own.max())
                self._open(np.empty((0, self.features)))  # rows that were refused do not count
                msg = f"a={self.a:g} is lost in rounding beside k(x, x) = {peak:.3g}: a larger one"
                raise SingularSystemError(f"{msg} is needed") from None
            E = solve_triangular(S, Y - K @ self._C[members])
            gamma = solve_transposed(S, E)
        beta = factor.triangle.solve_transposed(Z @ gamma)
        places = self._places_of_block()
        self._C[members] -= beta
        self._C[places] = gamma
        factor.extend(places, Z.T, S, Y)
        self._users[places] += 1
        if factor.since >= _REFRESH:
            self._solve(0)
        return np.diagonal(S)[:, None] * E

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
        self.points.put(place, row.reshape(1, -1) if not issparse(row) else row, self.rounds + i)
        n = self.points.count
        self._C = grown(self._C, (n, self.columns))
        self._diagonal, self._users = grown(self._diagonal, (n,)), grown(self._users, (n,))
        self._C[place], self._diagonal[place] = 0.0, self._own[i]
        self._K = grown(self._K, (self._X.shape[0], n))
        self._K[:, place] = self._own[i] if self._within is None else self._within[:, i]
        self._places[i] = place
        return place

    def _places_of_block(self) -> list[int]:
        """Where all rows of the block are, which came next to the points that are there."""
        b, m = self._X.shape[0], self.points.count
        self.points.extend(self._X, self.rounds)
        n = m + b
        self._C = grown(self._C, (n, self.columns))
        self._diagonal, self._users = grown(self._diagonal, (n,)), grown(self._users, (n,))
        self._C[m:n], self._diagonal[m:n] = 0.0, self._own
        self._K = grown(self._K, (b, n))
        self._K[:, m:n] = self._within
        places = list(range(m, n))
        self._places = dict(enumerate(places))
        return places

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
        return self._C[: self.points.count]

    def block_margins(self, weights: Array) -> Array:
        return self._K[:, : weights.shape[0]] @ weights

    def log_determinants(self) -> Array:
        return np.array(
            [
                2.0 * np.log(f.triangle.diagonal()).sum() - f.size * np.log(self.a)
                for f in self._factors
            ]
        )

    def energies(self, values: Array, u: Array) -> Array:
        return np.array([float(np.square(values[f.members]).sum()) for f in self._factors])

    def add_column(self, like: int | None, sign: float) -> None:
        self.columns += 1
        fresh = np.zeros((self._C.shape[0], 1)) if like is None else sign * self._C[:, like, None]
        self._C = np.hstack([self._C, fresh])
        if self.shared:
            factor = self._factors[0]
            factor.targets = np.hstack([factor.targets, sign * factor.targets[:, like, None]])
            return
        factor = self._factor()
        if like is not None:
            other = self._factors[like]
            factor.members, factor.targets = other.members.copy(), sign * other.targets
            factor.triangle = GrowingTriangle.of(other.triangle.dense())
            factor.since = other.since
            self._users[factor.members] += 1
        self._factors.append(factor)

    def negate(self, column: int) -> None:
        self._C[:, column] *= -1.0
        own = column if self.shared else 0
        self._factors[0 if self.shared else column].targets[:, own] *= -1.0

    def state(self) -> State:
        count = self.points.count
        return {
            "points": self.points.matrix(),
            "rounds": np.array(self.points.rounds, np.int64),
            "seen": int(self.rounds + self._X.shape[0]),
            "coefficients": self._C[:count].copy(),
            "groups": [
                {
                    "members": f.members.copy(),
                    "L": f.triangle.dense(),
                    "targets": f.targets,
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
        self._users = np.zeros(self.points.count, int)
        self._factors = []
        for each in state["groups"]:
            factor = self._factor()
            factor.members = each["members"].copy()
            factor.triangle = GrowingTriangle.of(each["L"])
            factor.targets, factor.since = each["targets"].copy(), int(each["since"])
            self._users[factor.members] += 1
            self._factors.append(factor)
        self._open(np.empty((0, self.features)))
