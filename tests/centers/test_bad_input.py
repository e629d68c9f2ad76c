"""What selectors refuse, and what they say."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from squareone.centers import (
    Given,
    KMeans,
    LeverageScores,
    PivotedCholesky,
    TraceGreedy,
    Uniform,
    selector_from,
)
from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Linear, Polynomial, Precomputed

from .data import COUNTED, KERNEL, rows

X = rows()


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("count", [0, -1, 2.0, True, "ten", None])
def test_counts(name, count):
    with pytest.raises(ValueError, match=r"\(count=.*\): count must be an integer above zero"):
        COUNTED[name](count).select(X, KERNEL)


@pytest.mark.parametrize("name", [name for name in COUNTED if name != "uniform"])
@pytest.mark.parametrize("pool", [0, 1.5, False])
def test_pools(name, pool):
    with pytest.raises(ValueError, match="pool must be an integer above zero"):
        COUNTED[name](5, pool=pool).select(X, KERNEL)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (PivotedCholesky(5, "best"), 'pivot must be "random" or "greedy"'),
        (TraceGreedy(5, candidates=0), "candidates must be an integer above zero"),
        (LeverageScores(5, alpha=0.0), "alpha must be a finite number above zero"),
        (LeverageScores(5, alpha=np.inf), "alpha must be a finite number above zero"),
        (Given(X[:, :2]), "the points have 2 features and the rows have 3"),
        (Given(X[:0]), "minimum of 1 is required"),
        (Given(np.full((2, 3), np.nan)), "points contains NaN"),
        (Given(X[:2], indices=[0]), r"indices of shape \(1,\).*each of the 2 points"),
        (Given(X[:2], indices=[0.0, 1.0]), "type float64: a row number from 0 to 79"),
        (Given(X[:2], indices=[0, 80]), "a row number from 0 to 79"),
    ],
)
def test_parameters(selector, message):
    with pytest.raises(ValueError, match=message):
        selector.select(X, KERNEL)


def test_kernels():
    with pytest.raises(TypeError, match="centers need a kernel that has one"):
        Uniform(5).select(X, Precomputed())
    with pytest.raises(ValueError, match="which an estimator chooses"):
        PivotedCholesky(5).select(X, "gaussian")
    with pytest.raises(ValueError, match="a kernel object such as"):
        Uniform(5).select(X, "round")
    with pytest.raises(ValueError, match="sigma must be"):
        Uniform(5).select(X, Gaussian(-1.0))
    with pytest.raises(ScaleError, match="overflows"):
        PivotedCholesky(5).select(1e100 * X, Polynomial(degree=9))


def test_rows():
    with pytest.raises(ValueError, match="X contains NaN"):
        Uniform(5).select(np.full((3, 2), np.nan), Linear())
    with pytest.raises(TypeError, match="KMeans: X is sparse"):
        KMeans(5).select(csr_array(X), KERNEL)


@pytest.mark.parametrize("centers", ["many", 2.5, True, None, object()])
def test_centers(centers):
    with pytest.raises(ValueError, match="a number of centers, the points themselves"):
        selector_from(centers)


def test_a_count_below_one_is_refused_at_once():
    with pytest.raises(ValueError, match="count must be an integer above zero"):
        selector_from(0)
