"""Data sets with fixed seeds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Data(NamedTuple):
    """Rows and what is to be predicted from them."""

    X: NDArray
    """(n, d)"""
    y: NDArray
    """(n,) or (n, outputs)"""


def wide(n: int, dtype: DTypeLike, *, d: int = 256, outputs: int | None = None) -> Data:
    """Return normal rows whose squared distances are near 2d, and smooth noisy targets.

    A Gaussian kernel with sigma = √d = 16 then has entries near exp(-1): neither all zero nor
    all one. The generator draws rows first, so data of any length share their leading rows.
    """
    X = np.random.default_rng(0).standard_normal((n, d))
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((d, outputs or 1)) / np.sqrt(d)
    y = np.sin(2 * X @ directions) + 0.1 * rng.standard_normal((n, outputs or 1))
    return Data(X.astype(dtype), (y if outputs else y[:, 0]).astype(dtype))


def smooth(n: int, *, d: int = 20) -> tuple[Data, float]:
    """Return a smooth function of normal rows plus noise, and the median distance of the rows."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, d))
    direction = rng.standard_normal(d) / np.sqrt(d)
    y = np.sin(2 * X @ direction) + 0.5 * X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n)
    pairs = rng.integers(n, size=(2, 10_000))
    return Data(X, y), float(np.median(np.linalg.norm(X[pairs[0]] - X[pairs[1]], axis=1)))


def decaying(n: int, dtype: DTypeLike = np.float64, *, d: int = 20) -> Data:
    """Return normal rows and a smooth function of them in which feature i counts 1/(i + 1).

    Noise has a standard deviation of 0.1, that of y is near one. Rows are drawn first: data of any
    length share their leading rows. A Gaussian kernel of sigma = 4 suits it.
    """
    X = np.random.default_rng(4).standard_normal((n, d))
    influence = 1.0 / np.arange(1, d + 1)
    y = np.sin(X @ influence) + 0.5 * X[:, 0] * X[:, 1] + 0.25 * np.cos(X[:, 1] * X[:, 2])
    y += 0.1 * np.random.default_rng(5).standard_normal(n)
    return Data(X.astype(dtype), y.astype(dtype))


def tall(n: int, *, d: int = 100, condition: float = 1.0) -> Data:
    """Return a design with about the given condition number, its columns mixed by a rotation.

    The singular values fall geometrically. The weights are equal along all singular directions,
    so the small ones carry signal that a numerically careless method loses.
    """
    rng = np.random.default_rng(3)
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    X = (rng.standard_normal((n, d)) * np.geomspace(1.0, 1.0 / condition, d)) @ rotation
    y = X @ rotation.T @ np.ones(d) + 0.1 * rng.standard_normal(n)
    return Data(X, y)
