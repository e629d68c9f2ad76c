"""Held-out errors of folds in closed form: e_I = (I − H_II)⁻¹ r_I."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, solve_positive, weighted_product
from ...errors import SingularSystemError


def solve_fold(S: Any, R: Array) -> Array:
    """``S⁻¹ R`` for the block of I − H that belongs to a fold; refused where that is singular."""
    try:
        return solve_positive(S, R)
    except SingularSystemError:
        msg = (
            "a fold cannot be left out: the remaining rows do not determine the fit at this alpha. "
            "Use a larger alpha or smaller folds"
        )
        raise SingularSystemError(msg) from None


def errors_of_square_basis(A: Any, F: Array, residuals: Array) -> Array:
    """I − H = A F Aᵀ: ``A`` (m, k) rows left out, filters ``F`` (k, L), residuals (m, t, L).

    Cost: m²k + m³/3 multiplications per λ.
    """
    errors = np.empty_like(residuals)
    for i in range(F.shape[1]):
        errors[:, :, i] = solve_fold(weighted_product(A, F[:, i], A), residuals[:, :, i])
    return errors


def errors_of_thin_basis(
    A: Array, rest: Array, scale: Array, penalty: Array, residuals: Array
) -> Array:
    """I − H = I − A D Aᵀ with a thin A, by Woodbury: only k x k systems, however many rows.

    (I − A_I D A_Iᵀ)⁻¹ r = r + A_I √D (I − √D A_IᵀA_I √D)⁻¹ √D A_Iᵀ r, and the matrix in the
    middle is P + √D A_restᵀA_rest √D, a sum of positive terms, because A is orthonormal up to the
    scale.

    Parameters
    ----------
    A : array (m, k)
        Basis rows left out.
    rest : array (k, k)
        Gram matrix of the basis rows that stay.
    scale : array (k, L)
        √D.
    penalty : array (k, L)
        P, the diagonal.
    residuals : array (m, t, L)

    Notes
    -----
    **Cost**: k³/3 + 2mkt multiplications per λ.
    """
    errors = np.empty_like(residuals)
    for i in range(scale.shape[1]):
        root = scale[:, i]
        middle = rest * root[:, None] * root
        middle[np.diag_indices_from(middle)] += penalty[:, i]
        r = residuals[:, :, i]
        inner = solve_fold(middle, root[:, None] * (A.T @ r))
        errors[:, :, i] = r + A @ (root[:, None] * inner)
    return errors
