"""Rows that are centers: left out, they take their center with them.

With M = K̃ᵀK̃ + λK over the centers (K̃ centred kernel values, scaled by √w), row i and its own
center i: b_i its row of K̃, g_i = (M⁻¹b_i)_i, s_i = 1 − h_i, c_i' = c_i − g_i e_i its coefficient
in the fit without the row, e_i the error of that fit. Without the center as well the error is

    e_i + (g_i / s_i) c_i' / ((M⁻¹)_ii + g_i² / s_i).

The features L⁻¹k(z) of the centers that stay span what can still be fitted. Where a center was
dropped because it depends on others, it brings back what these take away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, blocks, symmetric_of
from ...decompositions import eigh
from .center_basis import CenterBasis
from .feature_sums import FeatureSums

if TYPE_CHECKING:
    from .rectangle import RectangleFactor

# Centers whose directions are computed at a time.
_CENTERS = 512


class CenterRows:
    """Which row each center is, and what goes with the rows that are left out.

    Parameters
    ----------
    basis : CenterBasis
    asked : array (m,)
        Which of the rows each center asked for is; −1 for one that is no row.

    Attributes
    ----------
    asked : array (m,)
    """

    def __init__(self, basis: CenterBasis, asked: Array) -> None:
        self.asked = asked
        self._basis = basis
        self._kept, self._dropped = asked[basis.kept], asked[basis.dropped]

    @cached_property
    def alone(self) -> tuple[Array, Array]:
        """Rows (p,), ascending, that take a function along when they alone are left out.

        And the center (p,) of each, whose function it is. A row whose center the others, together
        with those that were dropped, still span is not among them.
        """
        there = np.flatnonzero(self._kept >= 0)
        order = there[np.argsort(self._kept[there], kind="stable")]
        order = order[~self._spanned_by_dropped(order)]
        return self._kept[order], order

    def _spanned_by_dropped(self, places: Array) -> Array:
        """Whether dropped centers of other rows stand in for each of some centers (p,).

        **Cost**: r²p flops, and 2rp for each dropped center; nothing where there is none.
        """
        found = np.zeros(places.size, bool)
        if self._dropped.size == 0:
            return found
        for piece in blocks(places.size, _CENTERS):
            some = places[piece]
            directions = self.directions(some)
            parts = self._basis.dropped_features.astype(np.float64, copy=False) @ directions
            parts[self._dropped[:, None] == self._kept[some]] = 0.0  # the same row goes, too
            found[piece] = np.square(parts).sum(axis=0) > self._basis.resolution
        return found

    def among(self, rows: slice | Array) -> tuple[Array, Array]:
        """Places of rows that alone take a function along, and which centers they are."""
        own_rows, centers = self.alone
        if isinstance(rows, slice):
            low, high = np.searchsorted(own_rows, [rows.start, rows.stop])
            return own_rows[low:high] - rows.start, centers[low:high]
        _, places, which = np.intersect1d(rows, own_rows, assume_unique=True, return_indices=True)
        return places, centers[which]

    def lost_with(self, removed: Array) -> Array:
        """Directions of features (r, q), orthonormal, that are gone without rows ``removed``.

        **Cost**: 2rp² flops for p centers among these rows, beside r²p.
        """
        gone = np.flatnonzero(np.isin(self._kept, removed))
        directions, _ = np.linalg.qr(self.directions(gone))
        stay = ~np.isin(self._dropped, removed)
        if gone.size == 0 or not stay.any():
            return directions
        parts = self._basis.dropped_features[stay].astype(np.float64, copy=False) @ directions
        _, sizes, turn = np.linalg.svd(parts, full_matrices=True)
        spanned = int(np.count_nonzero(np.square(sizes) > self._basis.resolution))
        return directions @ turn[spanned:].T

    def directions(self, places: Array) -> Array:
        """L⁻¹e_j (r, p) for centers j, of length one.

        The coefficient of a center in aᵀL⁻¹k is (L⁻¹e_j)ᵀa. **Cost**: r²p flops.
        """
        units = np.zeros((self._basis.size, places.size))
        units[places, np.arange(places.size)] = 1.0
        found = self._basis.forward(units)
        return found / np.linalg.norm(found, axis=0)

    def staying(self, removed: Array) -> Array:
        """Positions, among the centers asked for, of those that are none of the rows removed."""
        return np.flatnonzero(~np.isin(self.asked, removed))


def moves_by_column(
    sensitivities: Array, errors: Array, places: Array, further: Array
) -> Callable[[int], Array]:
    """f(x) − f_{−i}(x) at new rows x, for a target column: j → (q, m).

    From sensitivities (q, m) times errors (q, t), but for rows at ``places`` (p,) that are centers:
    these have moves (p, m, t) of their own.
    """

    def of_column(j: int) -> Array:
        change = sensitivities * errors[:, j, None]
        change[places] = further[:, :, j]
        return change

    return of_column


class CenterRemoval:
    """What removing each of p centers adds to removing its row, for every λ.

    A direction q_i = L⁻¹e_i of the features may have any length: it cancels.

    Parameters
    ----------
    g : array (p, L)
        q_iᵀM⁻¹b_i.
    complements : array (p, L)
        1 − h of the rows.
    inverse : array (p, L)
        q_iᵀM⁻¹q_i.
    coefficients : array (p, t, L)
        q_iᵀa, which is c_i.
    """

    def __init__(self, g: Array, complements: Array, inverse: Array, coefficients: Array) -> None:
        self._g = g
        self._inverse = inverse + np.square(g) / complements
        self._c = coefficients
        self.ratio = g / complements  # (p, L)

    @classmethod
    def of(
        cls, factor: RectangleFactor, alphas: Array, A: Array, own: Array, complements: Array
    ) -> CenterRemoval:
        """For rows with basis rows ``A`` (p, k), whose centers are ``own`` (p,)."""
        F = -factor.filters(alphas).astype(np.float64)
        B = factor.axes[own].astype(np.float64)
        # a coefficient (p, t, L) is that row of the axes times what each is multiplied by
        filtered = factor.projections[:, :, None] * F[:, None, :]
        c = np.einsum("pk,ktl->ptl", B, filtered, optimize=True)
        return cls((B * A) @ F, complements, np.square(B) @ F, c)

    def shares(self, errors: Array) -> Array:
        """c_i' over the diagonal of the inverse without the row (p, t, L); errors without it."""
        return (self._c - self._g[:, None, :] * errors) / self._inverse[:, None, :]

    def further_errors(self, errors: Array) -> Array:
        """What is added to errors (p, t, L) without the row."""
        return self.ratio[:, None, :] * self.shares(errors)

    def moves(self, reach: Array, sensitivities: Array, errors: Array, root: Array | None) -> Array:
        """f(x) − f_{−i}(x) at new rows (p, m, t), for one λ.

        ``reach`` (p, m) is q_iᵀM⁻¹z̃(x), ``sensitivities`` (p, m) are df(x)/dy_i, ``errors``
        (p, t, 1) are scaled by √w, which is ``root`` (p,).
        """
        scaled = sensitivities if root is None else sensitivities / root[:, None]
        reach = reach + scaled * self.ratio
        shares = self.shares(errors)[:, :, 0]
        return scaled[:, :, None] * errors[:, None, :, 0] + reach[:, :, None] * shares[:, None, :]


def errors_without_rows(
    factor: RectangleFactor, rest: FeatureSums, alphas: Array, removed: Array
) -> Array:
    """Errors (m, t, L) at rows ``removed`` of the fit to the ``rest``, without their centers.

    The coefficients of the features keep to the directions that other centers span.

    **Cost**: 12r³, and 2r² per row.
    """
    intercept = factor.weighting.direction is not None
    first, total, targets = rest.first.copy(), rest.total, rest.targets.copy()
    if intercept:
        rest.centre()
    gram = symmetric_of(rest.gram)
    free = _complement(factor.center_rows.lost_with(removed))
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
