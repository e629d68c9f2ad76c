"""K(X, C)V in one Triton kernel: kernel values are made, used and forgotten on the chip.

A program has a tile of the rows of the result. It walks over a part of the other rows, adds up what
kernel values times columns give, and writes its part of the sum; parts are added in order. Sums are
compensated (Kahan), products in three of tf32, which is float32's accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

#: How distances are computed: by products of rows, or by differences of their features.
BY_PRODUCTS, CITY_BLOCK, SQUARES = 0, 1, 2
#: What is taken off kernel values: nothing, a number for every row of the result, or of the others.
NO_SHIFT, SHIFT_OF_ROWS, SHIFT_OF_OTHERS = 0, 1, 2
#: Columns that are worked on at once.
MOST_COLUMNS = 64
# Programs of which a multiple keeps a GPU busy, and the fewest of the other rows that one takes.
_PROGRAMS, _FEWEST = 2048, 2048


@dataclass(frozen=True)
class Tile:
    """The shape of the work of a program.

    Attributes
    ----------
    rows, others : int
        Rows of the result, and of the others at a time.
    warps, stages : int
    """

    rows: int
    others: int
    warps: int
    stages: int


@dataclass
class ScaledRows:
    """Rows in units of the width, as the kernel reads them.

    Attributes
    ----------
    Z : tensor (n, d), or (d, n) for differences
    halves : tensor (n,)
        |z|²/2; for differences nothing is read of it.
    """

    Z: torch.Tensor
    halves: torch.Tensor


@triton.jit
def _walk(  # noqa: PLR0913, PLR0917
    Z,
    half_z,
    W,
    half_w,
    V,
    shift,
    out,
    n,
    m,
    d,
    t,
    part,
    factor,
    DISTANCE: tl.constexpr,
    TWICE_NU: tl.constexpr,
    SHIFT: tl.constexpr,
    ROWS: tl.constexpr,
    OTHERS: tl.constexpr,
    FEATURES: tl.constexpr,
    ONCE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    own = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    own_there = own < n
    start = tl.program_id(1) * part
    stop = tl.minimum(start + part, m)
    features = tl.arange(0, FEATURES)
    columns = tl.arange(0, COLUMNS)
    if DISTANCE == 0:
        half_own = tl.load(half_z + own, mask=own_there, other=0.0)
        if ONCE:
            z = tl.load(
                Z + own[:, None] * d + features[None, :],
                mask=own_there[:, None] & (features < d)[None, :],
                other=0.0,
            )
    if SHIFT == 1:
        shift_own = tl.load(shift + own, mask=own_there, other=0.0)
    if COLUMNS == 1:
        total = tl.zeros((ROWS,), tl.float32)
    else:
        total = tl.zeros((ROWS, COLUMNS), tl.float32)
    lost = total
    for first in range(start, stop, OTHERS):
        other = first + tl.arange(0, OTHERS)
        there = other < stop
        E = tl.zeros((ROWS, OTHERS), tl.float32)
        if DISTANCE == 0:
            if ONCE:
                w = tl.load(
                    W + other[None, :] * d + features[:, None],
                    mask=there[None, :] & (features < d)[:, None],
                    other=0.0,
                )
                E = tl.dot(z, w, E, input_precision="tf32x3")
            else:
                for f in range(0, d, FEATURES):
                    here = f + features
                    z = tl.load(
                        Z + own[:, None] * d + here[None, :],
                        mask=own_there[:, None] & (here < d)[None, :],
                        other=0.0,
                    )
                    w = tl.load(
                        W + other[None, :] * d + here[:, None],
                        mask=there[None, :] & (here < d)[:, None],
                        other=0.0,
                    )
                    E = tl.dot(z, w, E, input_precision="tf32x3")
            half_other = tl.load(half_w + other, mask=there, other=0.0)
            E = tl.minimum(E - half_own[:, None] - half_other[None, :], 0.0)
        else:
            for f in range(0, d):
                a = tl.load(Z + f * n + own, mask=own_there, other=0.0)
                b = tl.load(W + f * m + other, mask=there, other=0.0)
                difference = a[:, None] - b[None, :]
                if DISTANCE == 1:
                    E -= tl.abs(difference)
                else:
                    E -= 0.5 * difference * difference
        if TWICE_NU == 0:
            K = tl.exp(E)
        else:
            s = tl.sqrt(-2.0 * TWICE_NU * E)
            K = tl.exp(-s)
            if TWICE_NU == 3:
                K = K * (1.0 + s)
            if TWICE_NU == 5:
                K = K * (1.0 + s + s * s / 3.0)
        if SHIFT == 1:
            K = K * factor - shift_own[:, None]
        if SHIFT == 2:
            K = K * factor - tl.load(shift + other, mask=there, other=0.0)[None, :]
        if SHIFT == 0:
            K = K * factor
        if COLUMNS == 1:
            v = tl.load(V + other, mask=there, other=0.0)
            added = tl.sum(K * v[None, :], axis=1)
        else:
            v = tl.load(
                V + other[:, None] * t + columns[None, :],
                mask=there[:, None] & (columns < t)[None, :],
                other=0.0,
            )
            added = tl.dot(K, v, input_precision="tf32x3")
        added = added - lost
        grown = total + added
        lost = (grown - total) - added
        total = grown
    # the result has t columns for every part, one part after the other
    if COLUMNS == 1:
        tl.store(out + tl.program_id(1) * n + own, total, mask=own_there)
    else:
        place = (tl.program_id(1) * n + own)[:, None].to(tl.int64) * t + columns[None, :]
        tl.store(out + place, total, mask=own_there[:, None] & (columns < t)[None, :])


def usual_tile(d: int, t: int, distance: int) -> Tile:
    """The tile for so many features and columns."""
    if distance != BY_PRODUCTS:
        return Tile(64, 64, 4, 2)
    if t > 16:  # noqa: PLR2004
        return Tile(64, 64, 4, 2)
    return Tile(128, 64, 4, 2) if d <= _ONCE else Tile(128, 64, 8, 2)


# Features up to which a tile of rows is read once, and how many are read at a time beyond.
_ONCE, _FEATURES = 64, 32
# The smallest side of a product of tiles.
_LEAST = 16


def constants(d: int, t: int, distance: int, twice_nu: int, shift: int, tile: Tile) -> dict[str, Any]:
    """What the kernel is compiled for."""
    once = d <= _ONCE
    columns = 1 if t == 1 else max(_LEAST, triton.next_power_of_2(t))
    return {
        "DISTANCE": distance,
        "TWICE_NU": twice_nu,
        "SHIFT": shift,
        "ROWS": tile.rows,
        "OTHERS": tile.others,
        "FEATURES": max(_LEAST, triton.next_power_of_2(d)) if once else _FEATURES,
        "ONCE": once,
        "COLUMNS": columns,
        "num_warps": tile.warps,
        "num_stages": tile.stages,
    }


def fused_product(
    left: ScaledRows,
    right: ScaledRows,
    V: torch.Tensor,
    *,
    distance: int,
    twice_nu: int,
    factor: float = 1.0,
    shift: torch.Tensor | None = None,
    shift_of: int = NO_SHIFT,
    tile: Tile | None = None,
) -> torch.Tensor:
    """Σ_j (factor · k(z_i, w_j) − shift) v_j for rows z (n, d) and w (m, d) → (n, t), in float64.

    Parameters
    ----------
    left, right : ScaledRows
        float32, and one number after the other.
    V : tensor (m, t)
    distance : {BY_PRODUCTS, CITY_BLOCK, SQUARES}
    twice_nu : {0, 1, 3, 5}
        The kernel: zero for exp of the exponent, or Matérn's 2ν.
    factor : float
    shift : tensor (n,) or (m,), optional
    shift_of : {NO_SHIFT, SHIFT_OF_ROWS, SHIFT_OF_OTHERS}
    tile : Tile, optional

    Notes
    -----
    **Cost**: nm(d + t) multiplications; memory for the parts of the result, nt numbers each. The
    same numbers every time.
    """
    n, m = left.halves.shape[0], right.halves.shape[0]
    d = left.Z.shape[1 if distance == BY_PRODUCTS else 0]
    pieces = [
        _few_columns(left, right, V[:, k : k + MOST_COLUMNS].contiguous(), d, distance, twice_nu,
                     factor, shift, shift_of, tile)
        for k in range(0, V.shape[1], MOST_COLUMNS)
    ] if n and m else [torch.zeros((n, V.shape[1]), dtype=torch.float64, device=V.device)]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)


def _few_columns(left, right, V, d, distance, twice_nu, factor, shift, shift_of, tile):
    n, (m, t) = left.halves.shape[0], V.shape
    tile = tile or usual_tile(d, t, distance)
    tiles = triton.cdiv(n, tile.rows)
    parts = max(1, min(triton.cdiv(_PROGRAMS, tiles), triton.cdiv(m, _FEWEST)))
    part = triton.cdiv(triton.cdiv(m, parts), tile.others) * tile.others
    parts = triton.cdiv(m, part)
    out = torch.empty((parts, n, t), dtype=torch.float32, device=V.device)
    _walk[(tiles, parts)](
        left.Z, left.halves, right.Z, right.halves, V, shift if shift is not None else V, out,
        n, m, d, t, part, float(factor),
        **constants(d, t, distance, twice_nu, shift_of, tile),
    )
    return out.sum(dim=0, dtype=torch.float64)
