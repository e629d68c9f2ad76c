"""The seam: factorisations in place."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from squareone import arrays
from squareone.errors import SingularSystemError


def symmetric(n=60, dtype=np.float64):
    A = np.random.default_rng(0).standard_normal((n, n))
    return (A @ A.T + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cholesky_reads_and_writes_the_lower_triangle_only(dtype):
    A = symmetric(dtype=dtype)
    B = A.copy()
    above = np.triu_indices(60, 1)
    B[above] = 7.0
    arrays.cholesky(B)
    assert (B[above] == 7.0).all()
    L = np.tril(B)
    assert_allclose(L @ L.T, A, rtol=0, atol=1e4 * np.finfo(dtype).eps)
    assert_allclose(arrays.cholesky_solve(B, A[:, :2].copy()), np.eye(60)[:, :2], atol=1e-3)
    arrays.triangular_inverse(B)
    assert (B[above] == 7.0).all()
    inverse = np.linalg.inv(A.astype(np.float64))
    assert_allclose(arrays.column_square_sums(B), np.diag(inverse), rtol=1e-3)


def test_cholesky_of_an_indefinite_matrix_is_refused():
    with pytest.raises(SingularSystemError, match="leading minor of order 2"):
        arrays.cholesky(np.array([[1.0, 0.0], [2.0, 1.0]]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (60, 60), (300, 20)])
def test_pivoted_cholesky_goes_as_far_as_the_rank(n, rank, dtype):
    B = np.random.default_rng(0).standard_normal((n, rank)).astype(dtype)
    A = B @ B.T
    L = A.copy()
    above = np.triu_indices(n, 1)
    L[above] = 7.0
    found, order = arrays.pivoted_cholesky(L)
    assert found == rank
    assert (L[above] == 7.0).all()
    assert sorted(order) == list(range(n))
    assert order[0] == np.argmax(np.diag(A))
    left = np.tril(L)[:, :rank]
    assert_allclose(left @ left.T, A[order][:, order], atol=1e4 * np.finfo(dtype).eps)
    divided = A[:, order[:rank]].copy()
    arrays.divide_right(divided, np.ascontiguousarray(L[:rank, :rank]))
    assert_allclose(np.square(divided).sum(axis=1), np.diag(A), rtol=1e-2)


def test_pivoted_cholesky_of_little():
    for n in (0, 1, 3):
        rank, order = arrays.pivoted_cholesky(np.zeros((n, n)))
        assert rank == 0
        assert order.tolist() == list(range(n))
    A = np.diag([1.0, 4.0, 1e-3])
    rank, order = arrays.pivoted_cholesky(A, 1e-2)
    assert (rank, order.tolist()) == (2, [1, 0, 2])


@pytest.mark.parametrize("tile", [7, 512])
def test_passes_over_triangles(tile, monkeypatch):
    monkeypatch.setattr(arrays, "TILE", tile)
    A = symmetric(40)
    lower = np.tril(A)
    assert_allclose(arrays.frobenius_norm(lower.copy()), np.linalg.norm(A))
    v = np.arange(40.0)
    assert_allclose(arrays.symmetric_product(lower.copy(), v), A @ v)
    both = lower.copy()
    arrays.copy_triangle(both, to_upper=True)
    assert_allclose(both, A)
    both = np.triu(A)
    arrays.copy_triangle(both, to_upper=False)
    assert_allclose(both, A)
    assert_allclose(arrays.column_square_sums(lower), np.square(lower).sum(axis=0))


def test_tiles_cover_the_lower_triangle_once(monkeypatch):
    monkeypatch.setattr(arrays, "TILE", 7)
    seen = np.zeros((40, 40), int)
    for tile in arrays.lower_tiles(40):
        seen[tile] += 1
    assert (seen[np.tril_indices(40)] == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [30, 47])
def test_cholesky_by_panels(n, dtype, monkeypatch):
    """What is used where LAPACK's own routine cannot be trusted with the size."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, n + 5))
    A = (B @ B.T).astype(dtype)
    above = np.triu(rng.standard_normal((n, n)), 1).astype(dtype)
    whole, panels = np.tril(A) + above, np.tril(A) + above
    arrays.cholesky(whole)
    monkeypatch.setattr(arrays, "LARGEST_POTRF", 10)
    monkeypatch.setattr(arrays, "_PANEL", 9)
    arrays.cholesky(panels)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    assert_allclose(np.tril(panels), np.tril(whole), rtol=tolerance, atol=tolerance)
    assert (np.triu(panels, 1) == above).all()
    A[25, 25] = -1.0
    with pytest.raises(SingularSystemError, match="leading minor of order 26 is not"):
        arrays.cholesky(A)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loop", ["SciPy's own", None])
def test_sparse_product(dtype, loop, monkeypatch):
    """Into a view of a larger array, whatever was there before; also without the hidden loop."""
    if loop is None:
        monkeypatch.setattr(arrays, "_csr_matvecs", None)
    else:
        assert arrays._csr_matvecs is not None
    rng = np.random.default_rng(0)
    A = scipy.sparse.random(9, 7, 0.4, format="csr", dtype=dtype, random_state=0)
    B = rng.standard_normal((7, 3)).astype(dtype)
    out = np.full((20, 3), np.nan, dtype)
    arrays.sparse_product(A, B, out[4:13])
    assert_allclose(out[4:13], A.toarray() @ B, rtol=1e-5)
    assert np.isnan(out[:4]).all()
    assert np.isnan(out[13:]).all()
    mixed = np.empty((9, 3))
    arrays.sparse_product(A.astype(np.float32), B.astype(np.float64), mixed)
    assert_allclose(mixed, A.toarray() @ B, rtol=1e-5)


@pytest.mark.parametrize("width", [0, 1, 127, 128, 1024, 2000])
def test_room_has_rows_that_share_no_cache_line(width):
    room = arrays.room_for(3, width, np.dtype(np.float32))
    assert room.shape == (3, width)
    assert (room.strides[0] // 4) % 128 != 0
    assert room.strides[1] == 4
