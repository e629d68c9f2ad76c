"""Rows that are centers: left out, they take their center with them.

With M = K̃ᵀK̃ + λK over the centers (K̃ centred kernel values, scaled by √w), row i and its own
center i: b_i its row of K̃, g_i = (M⁻¹b_i)_i, s_i = 1 − h_i, c_i' = c_i − g_i e_i its coefficient
in the fit without the row, e_i the error of that fit. Without the center as well the error is

    e_i + (g_i / s_i) c_i' / ((M⁻¹)_ii + g_i² / s_i).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, blocks, symmetric_of
from ...decompositions import eigh
from .feature_sums import FeatureSums

if TYPE_CHECKING:
    from .rectangle import RectangleFactor


class CenterRemoval:
    """What removing each of p centers adds to removing its row, for every λ.

    Parameters
    ----------
    factor : RectangleFactor
    alphas : array (L,)
    A : array (p, k)
        Basis rows of the rows.
    own : array (p,)
        Their centers.
    complements : array (p, L)
        1 − h of the rows.
    """

    def __init__(
        self, factor: RectangleFactor, alphas: Array, A: Array, own: Array, complements: Array
    ) -> None:
        F = -factor.filters(alphas).astype(np.float64)
        self.rows_of_axes = self._B = factor.axes[own].astype(np.float64)
        self._F = F
        self._g = (self._B * A) @ F
        self._s = complements
        self._inverse = np.square(self._B) @ F + np.square(self._g) / complements
        # a coefficient (p, t, L) is that row of the axes times what each is multiplied by
        filtered = factor.projections[:, :, None] * F[:, None, :]
        self._c = np.einsum("pk,ktl->ptl", self._B, filtered, optimize=True)

    @property
    def ratio(self) -> Array:
        """g_i / s_i (p, L)."""
        return self._g / self._s

    def shares(self, errors: Array) -> Array:
        """c_i' over the diagonal of the inverse without the row (p, t, L); errors without it."""
        return (self._c - self._g[:, None, :] * errors) / self._inverse[:, None, :]

    def further_errors(self, errors: Array) -> Array:
        """What is added to errors (p, t, L) without the row."""
        return self.ratio[:, None, :] * self.shares(errors)

    def moves(self, view: Array, sensitivities: Array, errors: Array, root: Array | None) -> Array:
        """f(x) − f_{−i}(x) at new rows (p, m, t), for one λ.

        ``view`` (k, m) is the basis vectors' view of them, ``sensitivities`` (p, m) are df(x)/dy_i,
        ``errors`` (p, t, 1) scaled by √w, which is ``root`` (p,).
        """
        scaled = sensitivities if root is None else sensitivities / root[:, None]
        reach = (self._B * self._F[:, 0]) @ view + scaled * self.ratio
        shares = self.shares(errors)[:, :, 0]
        return scaled[:, :, None] * errors[:, None, :, 0] + reach[:, :, None] * shares[:, None, :]


def errors_without_rows(
    factor: RectangleFactor, rest: FeatureSums, alphas: Array, removed: Array, gone: Array
) -> Array:
    """Errors (m, t, L) at rows ``removed`` of the fit to the ``rest``, without centers ``gone``.

    Without a center its coefficient is zero, which is a linear condition on the coefficients of
    the features: they keep to the other directions.

    **Cost**: 12r³, and 2r² per row.
    """
    intercept = factor.weighting.direction is not None
    first, total, targets = rest.first.copy(), rest.total, rest.targets.copy()
    if intercept:
        rest.centre()
    gram = symmetric_of(rest.gram)
    units = np.zeros((factor.centers.size, gone.size))
    units[gone, np.arange(gone.size)] = 1.0
    # c = L⁻ᵀa, so that c_j = 0 says that a is orthogonal to L⁻¹e_j
    free = _complement(factor.centers.forward(units))
    values, V = eigh(np.ascontiguousarray(free.T @ gram @ free))
    squares = np.maximum(values, 0.0)
    scaled = factor.scaled(alphas)
    inner = V.T @ (free.T @ rest.cross)
    filtered = inner[:, :, None] / (squares[:, None, None] + scaled)
    a = np.einsum("rk,ktl->rtl", free @ V, filtered, optimize=True)
    t, count = inner.shape[1], scaled.size
    means = np.zeros((t, count))
    if intercept and total > 0:
        means = (targets[:, None] - np.einsum("r,rtl->tl", first, a)) / total
    flat = a.reshape(a.shape[0], -1)
    errors = np.empty((removed.size, t, count), factor.targets.dtype)
    root = factor.weighting.root
    for piece in blocks(removed.size, factor.centers.block_rows()):
        rows = removed[piece]
        some = None if root is None else root[rows]
        fitted = (factor.features(rows, some) @ flat).reshape(rows.size, t, count)
        fitted += means if some is None else some[:, None, None] * means
        errors[piece] = factor.targets[rows, :, None] - fitted
    return errors


def _complement(A: Array) -> Array:
    """An orthonormal basis (r, r − p) of what is orthogonal to the columns of ``A`` (r, p)."""
    if A.shape[1] == 0:
        return np.eye(A.shape[0])
    return np.linalg.qr(A, mode="complete")[0][:, A.shape[1] :]
