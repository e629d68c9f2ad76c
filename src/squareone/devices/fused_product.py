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


# sizes of rows and columns change from call to call, and are no reason to compile again
@triton.jit(do_not_specialize=["n", "m", "t", "part"])
def _walk(
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


@dataclass(frozen=True)
class FusedKernel:
    """A kernel as this program knows it.

    Attributes
    ----------
    distance : {BY_PRODUCTS, CITY_BLOCK, SQUARES}
    twice_nu : {0, 1, 3, 5}
        Zero for exp of the exponent, or Matérn's 2ν.
    tile : Tile or None
        None for what is usual.
    """

    distance: int
    twice_nu: int
    tile: Tile | None = None

    def scaled(self, Z: torch.Tensor) -> ScaledRows:
        """Rows (n, d) in units of the width, as the program reads them."""
        halves = 0.5 * torch.square(Z.double()).sum(dim=1).float()
        return ScaledRows(Z.contiguous() if self.by_products else Z.T.contiguous(), halves)

    @property
    def by_products(self) -> bool:
        """Whether distances are computed by products of rows."""
        return self.distance == BY_PRODUCTS

    def product(
        self,
        left: ScaledRows,
        right: ScaledRows,
        V: torch.Tensor,
        factor: float = 1.0,
        shift: torch.Tensor | None = None,
        shift_of: int = NO_SHIFT,
    ) -> torch.Tensor:
        """Σ_j (factor · k(z_i, w_j) − shift) v_j for rows z (n, d) and w (m, d) → (n, t), float64.

        Parameters
        ----------
        left, right : ScaledRows
            float32.
        V : tensor (m, t)
            float32.
        factor : float
        shift : tensor (n,) or (m,), optional
        shift_of : {NO_SHIFT, SHIFT_OF_ROWS, SHIFT_OF_OTHERS}

        Notes
        -----
        **Cost**: nm(d + t) multiplications; memory for the parts of the result, nt numbers each.
        The same numbers every time.
        """
        n, (m, t) = left.halves.shape[0], V.shape
        result = torch.zeros((n, t), dtype=torch.float64, device=V.device)
        for first in range(0, t if n and m else 0, MOST_COLUMNS):
            columns = slice(first, first + MOST_COLUMNS)
            some = V[:, columns].contiguous()
            out = self._parts(left, right, some, factor, shift, shift_of)
            torch.sum(out, dim=0, dtype=torch.float64, out=result[:, columns])
        return result

    def _parts(
        self,
        left: ScaledRows,
        right: ScaledRows,
        V: torch.Tensor,
        factor: float,
        shift: torch.Tensor | None,
        shift_of: int,
    ) -> torch.Tensor:
        """The sums over parts of the other rows (p, n, t), for a few columns."""
        n, (m, t) = left.halves.shape[0], V.shape
        d = left.Z.shape[1 if self.by_products else 0]
        tile = self.tile or usual_tile(d, t, self.distance)
        tiles = triton.cdiv(n, tile.rows)
        parts = max(1, min(triton.cdiv(_PROGRAMS, tiles), triton.cdiv(m, _FEWEST)))
        part = triton.cdiv(triton.cdiv(m, parts), tile.others) * tile.others
        parts = triton.cdiv(m, part)
        out = torch.empty((parts, n, t), dtype=torch.float32, device=V.device)
        _walk[(tiles, parts)](
            left.Z,
            left.halves,
            right.Z,
            right.halves,
            V,
            V if shift is None else shift,
            out,
            n,
            m,
            d,
            t,
            part,
            float(factor),
            **constants(d, t, self, shift_of, tile),
        )
        return out


#: By the name of a kernel's profile, how it is evaluated. The exponential of the Euclidean distance
#: is as steep as can be where rows coincide: there products of rows have no digits.
FUSED = {
    "gaussian": FusedKernel(BY_PRODUCTS, 0),
    "matern-1/2": FusedKernel(SQUARES, 1),
    "matern-3/2": FusedKernel(BY_PRODUCTS, 3),
    "matern-5/2": FusedKernel(BY_PRODUCTS, 5),
    "laplacian": FusedKernel(CITY_BLOCK, 0),
}


def usual_tile(d: int, t: int, distance: int) -> Tile:
    """The tile for so many features and columns."""
    if distance != BY_PRODUCTS or t > _LEAST:
        return Tile(64, 64, 4, 2)
    return Tile(128, 64, 4, 2) if d <= _ONCE else Tile(128, 64, 8, 2)


# Features up to which a tile of rows is read once, and how many are read at a time beyond.
_ONCE, _FEATURES = 64, 32
# The smallest side of a product of tiles.
_LEAST = 16


def constants(d: int, t: int, kernel: FusedKernel, shift_of: int, tile: Tile) -> dict[str, Any]:
    """What the program is compiled for."""
    once = kernel.by_products and d <= _ONCE
    return {
        "DISTANCE": kernel.distance,
        "TWICE_NU": kernel.twice_nu,
        "SHIFT": shift_of,
        "ROWS": tile.rows,
        "OTHERS": tile.others,
        "FEATURES": max(_LEAST, triton.next_power_of_2(d)) if once else _FEATURES,
        "ONCE": once,
        "COLUMNS": 1 if t == 1 else max(_LEAST, triton.next_power_of_2(t)),
        "num_warps": tile.warps,
        "num_stages": tile.stages,
    }
