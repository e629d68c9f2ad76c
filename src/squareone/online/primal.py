"""The exact form for few features: A⁻¹ itself, by rank-one updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import (
    Array,
    add_gram,
    add_symmetric_rank_one,
    cholesky,
    cholesky_solve,
    copy_triangle,
    positive_inverse,
    solve_triangular,
    symmetric_product,
)
from .learners import Learners, State

# Rows that wait to be added to A.
_WAITING = 128
# Updates after which A⁻¹ is computed afresh, in units of d, and at least.
_REFRESH, _LEAST = 4, 1024
# With forgetting: at least so many.
_LEAST_FORGETTING = 16


def refresh_period(features: int, forgetting: float) -> int:
    """Updates from one computation of A⁻¹ to the next.

    Its d³ flops are then less than those of the updates between; with forgetting, the ridge fades
    by no more than e meanwhile, or by what sixteen rows take from it, if that is more.
    """
    if forgetting < 1.0:
        return max(_LEAST_FORGETTING, min(_LEAST, int(1.0 / (1.0 - forgetting))))
    return max(_LEAST, _REFRESH * features)


class _Inverse:
    """A, its inverse, and the v of its columns."""

    def __init__(self, d: int, c: int, a: float, forgetting: float) -> None:
        self.a, self.forgetting = a, forgetting
        self.period = refresh_period(d, forgetting)
        self.P = np.eye(d) / a  # lower triangle of A⁻¹, but for the scale
        self.scale = 1.0
        self.A = a * np.eye(d)  # less the rows that wait
        self.V = np.zeros((c, d))
        # zeros: targets that are not there yet are turned round with the others
        self.rows, self.targets = np.empty((_WAITING, d)), np.zeros((_WAITING, c))
        self.waiting = 0
        self.since = 0

    def gain(self, x: Array) -> tuple[Array, float]:
        """A⁻¹x and r."""
        g = symmetric_product(self.P, x)
        if self.scale != 1.0:
            g *= self.scale
        return g, float(g @ x)

    def update(self, x: Array, y: Array, g: Array, r: float) -> bool:
        """A row with its gain; whether the weights have to be made anew."""
        mu = self.forgetting
        # (μA + xxᵀ)⁻¹ = (A⁻¹ − ggᵀ/(μ + r))/μ
        add_symmetric_rank_one(self.P, g, -1.0 / (self.scale * (mu + r)))
        self.scale /= mu
        self.wait(x[None], y[None])
        self.since += 1
        return self.refreshed()

    def wait(self, X: Array, Y: Array) -> None:
        b = X.shape[0]
        if self.waiting + b > _WAITING:
            self._flush()
        if b > _WAITING:
            self._take(X, Y)
            return
        part = slice(self.waiting, self.waiting + b)
        self.rows[part], self.targets[part] = X, Y
        self.waiting += b

    def _flush(self) -> None:
        self._take(self.rows[: self.waiting], self.targets[: self.waiting])
        self.waiting = 0

    def _take(self, X: Array, Y: Array) -> None:
        b, mu = X.shape[0], self.forgetting
        if mu < 1.0:
            faded = mu ** (0.5 * np.arange(b - 1, -1, -1.0))[:, None]
            X, Y = X * faded, Y * faded
            self.A *= mu**b
            self.V *= mu**b
        add_gram(self.A, X)
        self.V += Y.T @ X

    def refreshed(self) -> bool:
        """Compute the inverse afresh, if it is time."""
        if self.since < self.period:
            return False
        self._flush()
        if self.forgetting < 1.0:  # what was forgotten of the ridge comes back
            self.A.flat[:: self.A.shape[0] + 1] += self.a * (1.0 - self.forgetting**self.since)
        self.since, self.scale = 0, 1.0
        self.P[...] = self.A
        cholesky(self.P)
        self._solution = cholesky_solve(self.P, np.ascontiguousarray(self.V.T)).T
        positive_inverse(self.P)
        return True

    def refreshed_weights(self) -> Array:
        """A⁻¹v (c, d), after a refresh."""
        return self._solution

    def matrix(self) -> Array:
        """A, both triangles."""
        self._flush()
        full = self.A.copy()
        copy_triangle(full, to_upper=True)
        return full


class PrimalLearners(Learners):
    """A⁻¹ for every group: O(d) for a margin, O(d²) for a row that is learned.

    A⁻¹ is computed afresh now and then, from sums in which errors do not grow, so that a million
    updates lose nothing. Memory: 2d² numbers for every group that has learned a row.

    Parameters
    ----------
    forgetting : float, default=1.0
        μ: before a row is learned all earlier ones are weighted by μ. The ridge fades with them,
        by no more than e or μ¹⁶, and is restored whenever A⁻¹ is computed afresh.
    """

    form = "primal"

    def __init__(
        self, features: int, columns: int, a: float, *, shared: bool, forgetting: float = 1.0
    ) -> None:
        super().__init__(features, columns, a, shared=shared)
        self.forgetting = forgetting
        self._W = np.zeros((columns, features))
        self._inverses: list[_Inverse | None] = [None] * self.groups

    def _inverse(self, group: int) -> _Inverse:
        found = self._inverses[group]
        if found is None:
            c = self.columns if self.shared else 1
            found = _Inverse(self.features, c, self.a, self.forgetting)
            self._inverses[group] = found
        return found

    def margins(self, i: int) -> Array:
        return self._W @ self.dense_row(i)

    def spreads(self, i: int) -> Array:
        x = self.dense_row(i)
        empty = None
        found = np.empty(self.groups)
        for group, inverse in enumerate(self._inverses):
            if inverse is None:
                empty = float(x @ x) / self.a if empty is None else empty
                found[group] = empty
            else:
                found[group] = inverse.gain(x)[1]
        return found

    def learn(self, i: int, group: int, y: Array) -> None:
        x = self.dense_row(i)
        inverse = self._inverse(group)
        W = self._W[self.columns_of(group)]
        g, r = inverse.gain(x)
        W += np.outer((y - W @ x) / (self.forgetting + r), g)
        if inverse.update(x, y, g, r):
            W[...] = inverse.refreshed_weights()

    def learn_rows(self, Y: Array) -> Array:
        """The same from products of matrices.

        With S = I + XA⁻¹Xᵀ = LLᵀ, what each row leaves unexplained *before* it is learned is
        diag(L)·L⁻¹(Y − XW): exactly the errors of one row at a time.

        Notes
        -----
        **Cost**: 2bd² + b²d flops for b rows.
        """
        assert self.shared
        if Y.shape[0] == 1:
            return super().learn_rows(Y)
        inverse = self._inverse(0)
        errors = np.empty_like(Y)
        start = 0
        while start < Y.shape[0]:
            stop = min(Y.shape[0], start + min(_WAITING, inverse.period - inverse.since))
            X = self._dense_rows(slice(start, stop))
            errors[start:stop] = self._learn_some(inverse, X, Y[start:stop])
            start = stop
        return errors

    def _learn_some(self, inverse: _Inverse, X: Array, Y: Array) -> Array:
        b, mu = X.shape[0], self.forgetting
        P = inverse.P
        copy_triangle(P, to_upper=True)
        # all in units of the last A: a row j of the block counts μ^(−j) beside what was before it
        units = mu ** (-0.5 * np.arange(1, b + 1))[:, None] if mu < 1.0 else np.ones((b, 1))
        Xs = X * units
        G = Xs @ P
        if inverse.scale != 1.0:
            G *= inverse.scale
        S = G @ Xs.T
        S.flat[:: b + 1] += 1.0
        cholesky(S)
        E = solve_triangular(S, (Y - X @ self._W.T) * units)
        Z = solve_triangular(S, G)
        self._W += E.T @ Z
        P -= (Z.T @ Z) / inverse.scale
        inverse.scale /= mu**b
        inverse.wait(X, Y)
        inverse.since += b
        if inverse.refreshed():
            self._W[...] = inverse.refreshed_weights()
        return np.diagonal(S)[:, None] * E / units

    def _dense_rows(self, part: slice) -> Array:
        X = self._X[part]
        return X.toarray() if hasattr(X, "toarray") else X

    def weights(self) -> Array:
        return self._W.T

    def block_margins(self, weights: Array) -> Array:
        return np.asarray(self._X @ weights)

    def log_determinants(self) -> Array:
        found = np.zeros(self.groups)
        for group, inverse in enumerate(self._inverses):
            if inverse is not None:
                found[group] = np.linalg.slogdet(inverse.matrix() / self.a)[1]
        return found

    def energies(self, values: Array, u: Array) -> Array:
        found = np.zeros(self.groups)
        for group, inverse in enumerate(self._inverses):
            if inverse is not None:
                found[group] = float(u @ (inverse.matrix() @ u) - self.a * (u @ u))
        return found

    def add_column(self, like: int | None, sign: float) -> None:
        row = np.zeros(self.features) if like is None else sign * self._W[like]
        self._W = np.vstack([self._W, row])
        self.columns += 1
        if not self.shared:
            self._inverses.append(None if like is None else _copied(self._inverses[like], sign))
            return
        inverse = self._inverses[0]
        if inverse is not None:
            inverse.V = np.vstack([inverse.V, sign * inverse.V[like]])
            inverse.targets = np.hstack([inverse.targets, sign * inverse.targets[:, like, None]])

    def negate(self, column: int) -> None:
        self._W[column] *= -1.0
        inverse = self._inverses[0 if self.shared else column]
        if inverse is not None:
            own = column if self.shared else 0
            inverse.V[own] *= -1.0
            inverse.targets[:, own] *= -1.0

    def state(self) -> State:
        return {
            "weights": self._W,
            "groups": [None if g is None else _of_inverse(g) for g in self._inverses],
        }

    def restore(self, state: State) -> None:
        self._W = state["weights"].copy()
        self._inverses = [
            None if each is None else self._restored(each) for each in state["groups"]
        ]

    def _restored(self, state: State) -> _Inverse:
        c = self.columns if self.shared else 1
        found = _Inverse(self.features, c, self.a, self.forgetting)
        found.P, found.A, found.V = (state[name].copy() for name in ("inverse", "A", "V"))
        found.waiting, found.since = state["rows"].shape[0], int(state["since"])
        found.rows[: found.waiting] = state["rows"]
        found.targets[: found.waiting] = state["targets"]
        found.scale = float(state["scale"])
        return found


def _of_inverse(inverse: _Inverse) -> State:
    return {
        "inverse": inverse.P,
        "A": inverse.A,
        "V": inverse.V,
        "rows": inverse.rows[: inverse.waiting].copy(),
        "targets": inverse.targets[: inverse.waiting].copy(),
        "scale": float(inverse.scale),
        "since": int(inverse.since),
    }


def _copied(inverse: _Inverse | None, sign: float) -> Any:
    """The same for targets times ``sign``."""
    if inverse is None:
        return None
    found = _Inverse(inverse.P.shape[0], inverse.V.shape[0], inverse.a, inverse.forgetting)
    found.P, found.A, found.V = inverse.P.copy(), inverse.A.copy(), sign * inverse.V
    found.rows, found.targets = inverse.rows.copy(), sign * inverse.targets
    found.scale, found.waiting, found.since = inverse.scale, inverse.waiting, inverse.since
    return found
