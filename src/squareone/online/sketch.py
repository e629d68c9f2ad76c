"""The sketched form for many features: A from the few directions that matter most."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, solve_positive
from ..decompositions import eigh
from .learners import Learners, State


class _Sketch:
    """Rows S with A ≈ (a + α)I + SᵀS by robust frequent directions (Luo et al. 2019).

    There is room for twice as many rows as are kept. When it is full, the squares of the singular
    values are reduced by that of the first one too many, and half of what was cut goes into the
    ridge: without it A would be too small in all directions that were lost, and A⁻¹v too large.
    """

    def __init__(self, size: int, d: int, c: int, a: float) -> None:
        self.size, self.ridge = size, a
        self.S = np.zeros((2 * size, d))
        self.V = np.zeros((d, c))
        self.gram = np.zeros((2 * size, 2 * size))
        self.products = np.zeros((2 * size, c))  # SV
        self.filled = 0
        self.solution = np.zeros((0, c))  # (aI + SSᵀ)⁻¹SV

    def project(self, places: Array | slice, values: Array) -> Array:
        """Sx."""
        if isinstance(places, slice):
            return self.S[: self.filled] @ values
        return self.S[: self.filled, places] @ values

    def margin(self, places: Array | slice, values: Array) -> Array:
        """(vᵀx − (Sx)ᵀ(aI + SSᵀ)⁻¹Sv)/a for every column."""
        direct = values @ self.V[places]
        return (direct - self.project(places, values) @ self.solution) / self.ridge

    def spread(self, places: Array | slice, values: Array) -> float:
        m, z = self.filled, self.project(places, values)
        inside = z @ solve_positive(self.system(), z[:, None])[:, 0] if m else 0.0
        return float(values @ values - inside) / self.ridge

    def system(self) -> Array:
        """(a + α)I + SSᵀ."""
        m = self.filled
        return self.gram[:m, :m] + self.ridge * np.eye(m)

    def learn(self, places: Array | slice, values: Array, y: Array) -> None:
        if self.filled == self.S.shape[0]:
            self._shrink()
        m = self.filled
        z = self.project(places, values)
        self.products[:m] += np.outer(z, y)
        self.S[m] = 0.0
        self.S[m, places] = values
        self.V[places] += np.outer(values, y)
        self.products[m] = values @ self.V[places]
        self.gram[m, :m] = self.gram[:m, m] = z
        self.gram[m, m] = values @ values
        self.filled = m + 1
        self._solve()

    def _solve(self) -> None:
        self.solution = solve_positive(self.system(), self.products[: self.filled])

    def _shrink(self) -> None:
        squares, U = eigh(self.gram[: self.filled, : self.filled].copy())
        order = np.argsort(squares)[::-1]
        squares, U = np.maximum(squares[order], 0.0), U[:, order]
        kept = self.size
        left = np.maximum(squares[:kept] - squares[kept], 0.0)
        shares = np.divide(left, squares[:kept], out=np.zeros(kept), where=squares[:kept] > 0)
        factors = np.sqrt(shares)
        turn = U[:, :kept].T * factors[:, None]
        self.S[:kept] = turn @ self.S[: self.filled]
        self.S[kept:] = 0.0
        self.products[:kept] = turn @ self.products[: self.filled]
        self.gram[...] = 0.0
        self.gram[:kept, :kept] = np.diag(left)
        self.filled = kept
        self.ridge += 0.5 * float(squares[kept])

    def weights(self) -> Array:
        """A⁻¹v (d, c)."""
        return (self.V - self.S[: self.filled].T @ self.solution) / self.ridge

    def state(self) -> State:
        m = self.filled
        return {
            "S": self.S[:m].copy(),
            "V": self.V,
            "products": self.products[:m].copy(),
            "gram": self.gram[:m, :m].copy(),
            "ridge": float(self.ridge),
        }

    def restore(self, state: State) -> None:
        m = self.filled = state["S"].shape[0]
        self.ridge = float(state["ridge"])
        self.S[:m], self.V[...], self.products[:m] = state["S"], state["V"], state["products"]
        self.gram[:m, :m] = state["gram"]
        self._solve()

    def copy(self, sign: float) -> _Sketch:
        """The same for targets times ``sign``."""
        found = _Sketch(self.size, self.S.shape[1], self.V.shape[1], self.ridge)
        state = self.state()
        state["V"], state["products"] = sign * state["V"], sign * state["products"]
        found.restore(state)
        return found


class SketchedLearners(Learners):
    """A ≈ (a + α)I + SᵀS with at most 2m rows S: O(md) at worst for a margin or an update.

    Exact for the first 2m rows that are learned, then an approximation by frequent directions. For
    a sparse row a margin costs m times its stored numbers. Memory: 2md numbers for every group that
    has learned a row.

    Parameters
    ----------
    size : int
        m, directions that are kept.
    """

    form = "sketch"

    def __init__(self, features: int, columns: int, a: float, *, shared: bool, size: int) -> None:
        super().__init__(features, columns, a, shared=shared)
        self.size = size
        self._sketches: list[_Sketch | None] = [None] * self.groups

    def _sketch(self, group: int) -> _Sketch:
        found = self._sketches[group]
        if found is None:
            c = self.columns if self.shared else 1
            found = self._sketches[group] = _Sketch(self.size, self.features, c, self.a)
        return found

    def _row(self, i: int) -> tuple[Array | slice, Array]:
        return self.sparse_row(i) if issparse(self._X) else (slice(None), self._X[i])

    def margins(self, i: int) -> Array:
        places, values = self._row(i)
        found = np.zeros(self.columns)
        for group, sketch in enumerate(self._sketches):
            if sketch is not None:
                found[self.columns_of(group)] = sketch.margin(places, values)
        return found

    def spreads(self, i: int) -> Array:
        places, values = self._row(i)
        empty = float(values @ values) / self.a
        return np.array(
            [
                empty if sketch is None else sketch.spread(places, values)
                for sketch in self._sketches
            ]
        )

    def learn(self, i: int, group: int, y: Array) -> None:
        self._sketch(group).learn(*self._row(i), y)

    def weights(self) -> Array:
        found = np.zeros((self.features, self.columns))
        for group, sketch in enumerate(self._sketches):
            if sketch is not None:
                found[:, self.columns_of(group)] = sketch.weights()
        return found

    def block_margins(self, weights: Array) -> Array:
        return np.asarray(self._X @ weights)

    def log_determinants(self) -> Array:
        found = np.zeros(self.groups)
        for group, sketch in enumerate(self._sketches):
            if sketch is not None:
                rest = self.features - sketch.filled
                found[group] = np.linalg.slogdet(sketch.system() / self.a)[1]
                found[group] += rest * np.log(sketch.ridge / self.a)
        return found

    def energies(self, values: Array, u: Array) -> Array:
        found = np.zeros(self.groups)
        for group, sketch in enumerate(self._sketches):
            if sketch is not None:
                found[group] = float(np.square(sketch.S[: sketch.filled] @ u).sum())
                found[group] += (sketch.ridge - self.a) * float(u @ u)
        return found

    def add_column(self, like: int | None, sign: float) -> None:
        self.columns += 1
        if not self.shared:
            other = None if like is None else self._sketches[like]
            self._sketches.append(None if other is None else other.copy(sign))
            return
        sketch = self._sketch(0)
        if sketch.V.shape[1] < self.columns:
            sketch.V = np.hstack([sketch.V, sign * sketch.V[:, like, None]])
            sketch.products = np.hstack([sketch.products, sign * sketch.products[:, like, None]])
            sketch.solution = np.hstack([sketch.solution, sign * sketch.solution[:, like, None]])

    def negate(self, column: int) -> None:
        sketch = self._sketches[0 if self.shared else column]
        if sketch is not None:
            own = column if self.shared else 0
            for values in (sketch.V, sketch.products, sketch.solution):
                values[:, own] *= -1.0

    def state(self) -> State:
        return {"groups": [None if each is None else each.state() for each in self._sketches]}

    def restore(self, state: State) -> None:
        c = self.columns if self.shared else 1
        self._sketches = []
        for each in state["groups"]:
            sketch = None if each is None else _Sketch(self.size, self.features, c, self.a)
            if sketch is not None:
                sketch.restore(each)
            self._sketches.append(sketch)
