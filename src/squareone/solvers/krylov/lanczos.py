"""Shifted systems (A + λ)x = b for many b and every λ, from products with A alone.

One Krylov sequence belongs to each b, and all of them share the products. It does not depend on λ
(Lanczos): AV = VT with a tridiagonal T, and x(λ) = V (T + λ)⁻¹ e₁ ‖b‖ is what conjugate gradients
would have reached, for every λ at once. The smaller λ, the longer the sequence has to be: it is as
long as the smallest λ needed it to be, and is continued when a smaller one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import Array, blocks
from ...threads import for_each

#: Products with a symmetric matrix: (m, c) → (m, c).
Operator = Callable[[Array], Array]
#: Told after every product: how many there were, and the largest relative residual.
Watcher = Callable[[int, float], None]

# A residual so many times the least one seen is no conjugate gradient's.
_ASTRAY = 1e4
# Products that are added up in the precision of the vectors.
_FEW = 64
# Numbers in a block of rows of all kept vectors.
_BLOCK = 1_048_576


class LanczosSequence:
    """The Krylov vectors V of c starting vectors, kept in memory as far as that is allowed.

    Vectors beyond ``keep`` are made again from the last kept ones when solutions are put together,
    each by one more product: memory can be traded for time.

    Parameters
    ----------
    operator : callable
        A symmetric positive semidefinite matrix (m, m), as products with (m, c).
    start : array (m, c)
        The right-hand sides b.
    keep : int
        Vectors per right-hand side to keep; at least two.

    Notes
    -----
    **Cost**: a product with c columns and six passes over (m, c) per step; c vectors per step are
    kept. A solution at one λ is one pass over the kept vectors.
    """

    def __init__(self, operator: Operator, start: Array, keep: int) -> None:
        self._operator = operator
        self._keep = max(2, keep)
        self.norms = np.sqrt(_inner(start, start))
        self._diagonal: list[Array] = []  # α_j (c,), float64
        self._below: list[Array] = []  # β_{j+1} (c,): couples vector j to the next one
        self._kept: list[Array] = []  # v_j as (c, m): rows of a column stand together
        #: Whether rounding has made the recurrences useless.
        self.astray = False
        self._before = np.zeros_like(start)
        self._current = start * _inverse(self.norms).astype(start.dtype)
        self._keep_current()

    @property
    def steps(self) -> int:
        """Products so far, of c columns each."""
        return len(self._diagonal)

    @property
    def all_kept(self) -> bool:
        """Whether no vector has to be made again."""
        return len(self._kept) >= self.steps

    @property
    def shape(self) -> tuple[int, int]:
        """Length of a vector, and right-hand sides."""
        return self._current.shape

    @property
    def largest(self) -> float:
        """The largest eigenvalue of A, from below: that of the tridiagonal matrices T."""
        return max(float(values.max(initial=0.0)) for values in self._ritz_values())

    def above(self, limit: float) -> float:
        """The sum of eigenvalues of A above a limit, as far as a T knows them."""
        return max(float(values[values > limit].sum()) for values in self._ritz_values())

    def _ritz_values(self) -> Iterator[Array]:
        """The eigenvalues of each T."""
        from scipy.linalg import eigvalsh_tridiagonal  # imported late, and seldom needed

        alpha, beta = np.array(self._diagonal), np.array(self._below[:-1])
        alpha = alpha.reshape(-1, self.norms.size)  # without a step, too
        for j in range(self.norms.size):
            yield eigvalsh_tridiagonal(alpha[:, j], beta[:, j]) if self.steps > 1 else alpha[:, j]

    # --- the sequence ---

    def extend(self, shift: float, tolerance: float, most: int, watch: Watcher) -> float:
        """Go on until all residuals at ``shift`` are small, or there are ``most`` steps.

        At least one step is made. It ends if rounding has led it astray: residuals may grow for a
        while, but not to many times the least. Larger shifts are then at least as good. Returns
        the largest relative residual.
        """
        shifts = np.array([shift])
        left, pivot = self._left(shifts)
        worst = least = float(left.max())
        while not self.steps or (worst > tolerance and self.steps < most and not self.astray):
            self.advance()
            pivot = self._next_pivot(self.steps - 1, pivot, shifts)
            left = left * (self._below[-1][:, None] / pivot)
            worst = float(left.max())
            least = min(least, worst)
            self.astray = not worst <= _ASTRAY * least
            watch(self.steps, worst)
        return worst

    def advance(self) -> None:
        """One more product."""
        v = self._current
        w = self._operator(v)
        if self._below:
            w -= self._before * self._below[-1].astype(w.dtype)
        alpha = _inner(v, w)
        w -= v * alpha.astype(w.dtype)
        beta = np.sqrt(_inner(w, w))
        self._diagonal.append(alpha)
        scale = np.max([*self._below[-1:], np.abs(alpha)], axis=0)
        # what is left of an exhausted space is rounding, and no direction
        beta[beta <= 4.0 * np.finfo(w.dtype).eps * scale] = 0.0
        self._below.append(beta)
        self._before = v
        w *= _inverse(beta).astype(w.dtype)
        self._current = w
        self._keep_current()

    def _keep_current(self) -> None:
        if len(self._kept) < self._keep:
            self._kept.append(np.ascontiguousarray(self._current.T))

    def _made_again(self) -> Iterator[Array]:
        """The vectors (m, c) beyond the kept ones."""
        count = len(self._kept)
        if count >= self.steps:
            return
        before, v = (np.ascontiguousarray(self._kept[i].T) for i in (-2, -1))
        for j in range(count, self.steps):
            w = self._operator(v)
            w -= before * self._below[j - 2].astype(w.dtype)
            w -= v * self._diagonal[j - 1].astype(w.dtype)
            w *= _inverse(self._below[j - 1]).astype(w.dtype)
            before, v = v, w
            yield v

    # --- what it knows ---

    def residuals(self, shifts: Array) -> Array:
        """‖b − (A + λ)x‖ / ‖b‖ (c, L), as the recurrences know it."""
        return self._left(shifts)[0]

    def _left(self, shifts: Array) -> tuple[Array, Array]:
        """Π β_{j+1} / d_j (c, L), with the pivots d_j of T + λ, and the last of these."""
        left = np.repeat((self.norms > 0).astype(np.float64)[:, None], shifts.size, axis=1)
        pivot = np.ones_like(left)
        for j, beta in enumerate(self._below):
            pivot = self._next_pivot(j, pivot, shifts)
            left *= beta[:, None] / pivot
        return left, pivot

    def _next_pivot(self, j: int, pivot: Array, shifts: Array) -> Array:
        """d_j (c, L) of T + λ = LDLᵀ: positive, since T is semidefinite and λ above zero."""
        coupling = np.square(self._below[j - 1])[:, None] / pivot if j else 0.0
        # a Ritz value below zero is rounding
        return np.maximum(self._diagonal[j][:, None] + shifts - coupling, 0.5 * shifts)

    def weights(self, shifts: Array) -> Array:
        """(T + λ)⁻¹ e₁ ‖b‖ for ``shifts`` (L,) → (steps, c, L), by one sweep down and one up."""
        y = np.empty((self.steps, self.norms.size, shifts.size))
        pivots = np.empty_like(y)
        for j in range(self.steps):
            pivots[j] = self._next_pivot(j, pivots[j - 1], shifts)
            y[j] = self.norms[:, None] if j == 0 else -self._ratio(j, pivots) * y[j - 1]
        for j in range(self.steps - 1, -1, -1):
            y[j] /= pivots[j]
            if j < self.steps - 1:
                y[j] -= self._ratio(j + 1, pivots) * y[j + 1]
        return y

    def _ratio(self, j: int, pivots: Array) -> Array:
        return self._below[j - 1][:, None] / pivots[j - 1]

    def energies(self, shifts: Array) -> Array:
        """bᵀ(A + λ)⁻¹b (c, L), to twice as many digits as x has."""
        return self.norms[:, None] * self.weights(shifts)[0]

    def visit(self, weights: Array, visitor: Callable[[slice, Array], None]) -> None:
        """Show Σ_j v_j weights_j, for ``weights`` (steps, c, L), by rows: (c, L, b) each.

        The visitor is called from several threads, each time with other rows.
        """
        m, c = self.shape
        L = weights.shape[2]
        dtype = self._current.dtype
        rest: Array | None = None
        count = min(len(self._kept), self.steps)
        for j, v in enumerate(self._made_again(), start=count):
            if rest is None:
                rest = np.zeros((c, L, m), dtype)
            rest += weights[j][:, :, None].astype(dtype) * v.T[:, None, :]
        factors = np.ascontiguousarray(weights[:count].transpose(1, 2, 0).astype(dtype))

        def show(rows: slice) -> None:
            V = np.stack([v[:, rows] for v in self._kept[:count]]).transpose(1, 0, 2)  # (c, k, b)
            total = factors @ V
            if rest is not None:
                total += rest[:, :, rows]
            visitor(rows, total)

        for_each(show, blocks(m, max(64, _BLOCK // max(1, c * (count + L)))))

    def combined(self, weights: Array) -> Array:
        """Σ_j v_j weights_j for ``weights`` (steps, c, L) → (m, c, L)."""
        result = np.empty((self.shape[0], *weights.shape[1:]), self._current.dtype)

        def store(rows: slice, values: Array) -> None:
            result[rows] = values.transpose(2, 0, 1)

        self.visit(weights, store)
        return result

    def at_own(self, shifts: Array) -> Array:
        """Solutions (m, c) with a λ for every right-hand side: ``shifts`` (c,)."""
        distinct, which = np.unique(shifts, return_inverse=True)
        own = self.weights(distinct)[:, np.arange(shifts.size), which.reshape(-1)]
        return self.combined(own[:, :, None])[:, :, 0]


def _inverse(norms: Array) -> Array:
    """1/x, zero for zero."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _inner(a: Array, b: Array) -> Array:
    """aᵀb of every column of two arrays (m, c), in float64 but for sums of a few products."""
    whole = a.shape[0] // _FEW * _FEW
    parts = (x[:whole].reshape(-1, _FEW, x.shape[1]) for x in (a, b))
    total = np.einsum("kij,kij->kj", *parts).sum(axis=0, dtype=np.float64)
    return total + np.einsum("ij,ij->j", a[whole:], b[whole:], dtype=np.float64)
