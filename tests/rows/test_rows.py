"""Rows: whatever is asked of sparse ones has the answer that dense ones give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist

from squareone.rows import DenseRows, SparseRows, canonical, rows_of

n, d = 40, 9


def some_rows(count, *, seed):
    """Two thirds zeros; a row and a column of nothing else."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((count, d)) < 1 / 3, rng.standard_normal((count, d)), 0.0)
    X[3] = 0.0
    X[:, 4] = 0.0
    return X


def stored(X, kind=csr_array):
    """A CSR matrix of ``X`` in which every fifth stored number is a zero."""
    here = X != 0
    here |= np.arange(X.size).reshape(X.shape) % 5 == 0
    here[3] = False
    indices, indptr = here.nonzero()[1], np.r_[0, here.sum(axis=1).cumsum()]
    matrix = kind((X[here], indices.astype(np.int32), indptr.astype(np.int32)), shape=X.shape)
    assert (matrix.data == 0).any()
    assert_array_equal(matrix.toarray(), X)
    return matrix


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=[csr_array, csr_matrix])
def kind(request):
    return request.param


@pytest.fixture
def dense(dtype):
    return DenseRows(some_rows(n, seed=0).astype(dtype))


@pytest.fixture
def sparse(dtype, kind):
    return SparseRows(stored(some_rows(n, seed=0).astype(dtype), kind))


@pytest.fixture
def others(dtype, kind):
    """Fewer rows, dense and sparse."""
    X = some_rows(17, seed=1).astype(dtype)
    return DenseRows(X), SparseRows(stored(X, kind))


def assert_close(found, expected, dtype):
    """Equal to a few digits of rounding, in the same type."""
    assert found.dtype == expected.dtype
    eps = np.finfo(dtype).eps
    assert_allclose(found, expected, rtol=20 * eps, atol=20 * eps)


# --- what they are ---


def test_the_rows_of_either(dense, sparse):
    assert isinstance(rows_of(dense.X), DenseRows)
    assert isinstance(rows_of(sparse.X), SparseRows)
    assert sparse.shape == dense.shape == (n, d)
    assert sparse.dtype == dense.dtype
    assert (sparse.sparse, dense.sparse) == (True, False)
    assert dense.stored == n * d
    assert sparse.stored == sparse.X.nnz


def test_all_numbers(dense, sparse):
    assert_array_equal(sparse.dense(), dense.X)
    assert sparse.dense().dtype == dense.dtype
    assert not np.shares_memory(dense.dense(), dense.X)


def test_stored_as_others_are(dense, sparse):
    assert dense.like(dense) is dense
    assert sparse.like(sparse) is sparse
    assert_array_equal(sparse.like(dense).X, dense.X)
    made = dense.like(sparse).X
    assert made.has_canonical_format
    assert made.nnz == np.count_nonzero(dense.X)
    assert made.dtype == dense.dtype
    assert_array_equal(made.toarray(), dense.X)


def test_a_copy_belongs_to_nobody_else(dense, sparse):
    for rows, values in [(dense, dense.X), (sparse, sparse.X.data)]:
        before = rows.dense()
        copy = rows.copy()
        values[...] = 7.0
        assert_array_equal(copy.dense(), before)


# --- some of them ---

SLICES = [
    slice(None),
    slice(0, 10),
    slice(35, 60),
    slice(-5, None),
    slice(3, 4),
    slice(7, 7),
    slice(9, 5),
    slice(None, None, 3),
    slice(None, None, -1),
]


@pytest.mark.parametrize("part", SLICES, ids=str)
def test_slices(dense, sparse, part):
    assert_array_equal(sparse[part].dense(), dense[part].X)
    assert sparse[part].shape == dense[part].shape


@pytest.mark.parametrize(
    "part", [np.array([5, 3, 3, 39]), np.arange(n) % 2 == 0, np.array([], dtype=int)], ids=str
)
def test_index_arrays(dense, sparse, part):
    assert_array_equal(sparse[part].dense(), dense[part].X)
    assert sparse[part].X.has_canonical_format


@pytest.mark.parametrize("part", [slice(None), slice(5, 30), slice(20, None)], ids=str)
def test_slices_are_views(dense, sparse, part):
    assert np.shares_memory(dense[part].X, dense.X)
    view = sparse[part].X
    assert np.shares_memory(view.data, sparse.X.data)
    assert np.shares_memory(view.indices, sparse.X.indices)


def test_indices_of_64_bits(dense, sparse, others, dtype):
    """As a matrix with more than two thousand million numbers has them."""
    wide = sparse.X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    rows = SparseRows(wide)
    for part in (slice(None), slice(5, 30), np.array([5, 3])):
        assert_array_equal(rows[part].dense(), dense[part].X)
    out = np.empty((25, 17), dtype)
    rows[5:30].cross(others[1], out)
    assert_close(out, dense.X[5:30] @ others[0].X.T, dtype)
    assert_allclose(
        rows.city_block(others[1]), cdist(dense.X, others[0].X, "cityblock"), rtol=1e-14
    )


# --- questions ---


def test_constants():
    X = np.array([[0.0, 2.5, 2.5, 0.0, -1.0], [0.0, 2.5, 2.0, 3.0, -1.0]])
    expected = [0.0, 2.5, np.nan, np.nan, -1.0]
    here = np.array([[True, True, True, False, True], [False, True, True, True, True]])
    parts = X[here], here.nonzero()[1], np.r_[0, here.sum(axis=1).cumsum()]  # a zero is stored
    for rows in (DenseRows(X), SparseRows(csr_matrix(X))):
        assert_array_equal(rows.constants(), expected)
    stored = SparseRows(csr_matrix(parts, X.shape))
    assert_array_equal(stored.constants()[1:], expected[1:])
    assert_array_equal(stored.everywhere(), [1, 2, 4])
    assert DenseRows(X).everywhere().size == 0
    for rows in (DenseRows(X), stored):
        for shift in ([0.0, 2.5, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 4.0, 0.0]):
            assert_array_equal(rows.shifted(np.array(shift)).dense(), X - shift)


def test_peak_and_squares(dense, sparse, dtype):
    assert sparse.peak() == dense.peak() == np.abs(dense.X).max()
    assert_close(sparse.squares(), dense.squares(), dtype)


def test_means(dense, sparse, dtype):
    shares = np.random.default_rng(2).dirichlet(np.ones(n))
    assert_close(sparse.mean(), dense.mean(), dtype)
    assert_close(sparse.mean(shares), dense.mean(shares), dtype)


def test_squares_of_small_rows_below_large_ones_keep_their_digits():
    X = np.diag([1e8, 1e-4, 1e6, 1e-8])
    assert_allclose(SparseRows(csr_array(X)).squares(), np.diag(X) ** 2, rtol=1e-15)


def test_nothing_at_all(dtype):
    """No rows, and rows without a number."""
    for count in (0, 3):
        rows = SparseRows(csr_array((count, d), dtype=dtype))
        assert rows.peak() == 0.0
        assert_array_equal(rows.squares(), np.zeros(count))
        assert_array_equal(rows[:0].dense(), np.empty((0, d)))
        assert_array_equal(rows.city_block(rows), np.zeros((count, count)))
        out = np.full((count, count), np.nan, dtype)
        rows.cross(rows, out)
        assert_array_equal(out, 0.0)
    assert_array_equal(rows.mean(), np.zeros(d))


# --- rows made from them ---

WIDTHS = {"one": 0.3, "each": np.linspace(0.5, 2.0, d)}


@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
def test_scaled_and_standardised(dense, sparse, dtype, widths):
    zero = sparse.origin(dense.mean())
    assert_array_equal(zero, np.zeros(d))
    assert_array_equal(dense.origin(dense.mean()), dense.mean())
    before = sparse.dense()
    assert_close(sparse.scaled(widths).dense(), dense.scaled(widths).X, dtype)
    for origin in (zero, zero.astype(dtype)):
        found, expected = (rows.standardised(origin, widths) for rows in (sparse, dense))
        assert_close(found.dense(), expected.X, dtype)
    assert_array_equal(sparse.dense(), before)


def test_in_another_precision(dense, sparse, dtype):
    other = np.dtype(np.float32 if dtype == np.float64 else np.float64)
    assert_array_equal(sparse.astype(other).dense(), dense.astype(other).X)
    assert sparse.astype(other).dtype == dense.astype(other).dtype == other
    assert sparse.astype(sparse.dtype) is sparse
    assert dense.astype(dense.dtype) is dense


# --- tiles ---


def test_products_of_rows(dense, sparse, others, dtype):
    found, expected = (np.full((n, 17), np.nan, dtype) for _ in range(2))
    sparse.cross(others[1], found)
    dense.cross(others[0], expected)
    assert_close(found, expected, dtype)


@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
def test_squared_distances(dense, sparse, others, dtype, widths):
    zero = np.zeros(d, dtype)
    expected = -0.5 * cdist(dense.X / widths, others[0].X / widths, "sqeuclidean")
    for rows, other in [(dense, others[0]), (sparse, others[1])]:
        left = rows.lifted(zero, widths, square_at=0)
        right = other.lifted(zero, widths, square_at=1)
        out = np.full((20, 5), np.nan, dtype)
        left[10:30].cross(right[3:8], out)
        assert_close(out.astype(np.float64), expected[10:30, 3:8], dtype)
        assert_allclose(left.reach, 0.5 * np.square(dense.X / widths).sum(axis=1).max(), rtol=1e-5)
        assert left[5:5].reach == 0.0


def test_absolute_differences(dense, sparse, others, dtype):
    found = sparse.city_block(others[1])
    assert_allclose(found, dense.city_block(others[0]), rtol=1e-14)
    assert found.dtype == np.float64
    assert_allclose(sparse.city_block(sparse), cdist(dense.X, dense.X, "cityblock"), atol=1e-14)


@pytest.mark.parametrize("pairs", [1, 2, 7, 50, 10**6])
def test_absolute_differences_piece_by_piece(sparse, others, pairs, monkeypatch):
    expected = sparse.city_block(others[1])
    monkeypatch.setattr("squareone.rows.sparse._PAIRS", pairs)
    assert_allclose(sparse.city_block(others[1]), expected, rtol=1e-15)


def test_absolute_differences_of_all_signs_and_of_equal_rows():
    X = np.array([[2.0, 0.0, -1.0], [-1.0, 0.0, -3.0], [2.0, 0.0, -1.0], [1 / 3, 0.7, 1e9]])
    found = SparseRows(csr_array(X)).city_block(SparseRows(csr_array(X)))
    assert_array_equal(found[:3, :3], [[0.0, 5.0, 0.0], [5.0, 0.0, 5.0], [0.0, 5.0, 0.0]])
    assert (found >= 0.0).all()


# --- products on all cores ---


@pytest.fixture(params=[False, True], ids=["one thread", "three threads"])
def _threads(request, monkeypatch):
    if request.param:
        monkeypatch.setattr("squareone.rows.sparse.thread_budget", lambda: 3)
        monkeypatch.setattr("squareone.rows.sparse._WORTH_THREADS", 0)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("prepared", [False, True], ids=["", "prepared"])
def test_products_with_matrices(dense, sparse, dtype, prepared):
    rng = np.random.default_rng(3)
    V, U = rng.standard_normal((d, 4)).astype(dtype), rng.standard_normal((n, 4)).astype(dtype)
    if prepared:
        assert sparse.prepare(100.0) == 100.0  # not enough
        left = sparse.prepare(1e6)
        assert 0 < left < 1e6 - sparse.X.data.nbytes
        assert sparse.prepare(left) == left  # it is there
        assert dense.prepare(1e6) == 1e6
    assert_close(sparse.product(V), dense.product(V), dtype)
    assert_close(sparse.transposed_product(U), dense.transposed_product(U), dtype)
    for mean in (np.zeros(d), dense.mean()):
        assert_close(sparse.times(V, mean), dense.times(V, mean), dtype)
        assert_close(sparse.transposed_times(U, mean), dense.transposed_times(U, mean), dtype)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_gram_matrices(dense, sparse, dtype, weighted):
    shares = np.random.default_rng(4).dirichlet(np.ones(n)) if weighted else np.full(n, 1 / n)
    root = np.sqrt(shares * n).astype(dtype) if weighted else None
    for mean in (np.zeros(d), dense.mean(shares)):
        centred = (dense.X - mean) * 0.5 * np.sqrt(shares * n)[:, None]
        found = sparse.gram(mean, 0.5, root)
        eps = np.finfo(dtype).eps
        assert_allclose(found, centred.T @ centred, rtol=1e2 * eps, atol=1e2 * eps)
        assert_allclose(found, dense.gram(mean, 0.5, root), rtol=1e2 * eps, atol=1e2 * eps)
        assert found.dtype == np.float64


# --- the form that all of this needs ---


def messy(kind, index=np.int32):
    """Two rows with duplicates, out of order: [[0, 3, 0, 1], [0, 0, 5, 0]]."""
    data = np.array([1.0, 2.0, 1.0, 5.0])
    indices, indptr = np.array([3, 1, 1, 2], index), np.array([0, 3, 4], index)
    matrix = kind((2, 4))
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_canonical_leaves_the_users_matrix_alone(kind, index):
    given = messy(kind, index)
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    found = canonical(given)
    assert type(found) is kind
    assert found.has_canonical_format
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert_array_equal(found.toarray(), [[0, 3, 0, 1], [0, 0, 5, 0]])
    for part, copy in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert_array_equal(part, copy)
        assert part.dtype == copy.dtype


def test_canonical_copies_no_number_that_is_in_place(sparse):
    assert canonical(sparse.X) is sparse.X
    wide = sparse.X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    found = canonical(wide)
    assert found.indices.dtype == np.int32
    assert np.shares_memory(found.data, wide.data)
    assert found.nnz == sparse.X.nnz  # zeros that are stored stay
    assert_array_equal(found.toarray(), sparse.dense())


def test_canonical_keeps_indices_that_need_64_bits():
    wide = csr_array((np.ones(1), np.array([2**40]), np.array([0, 1])), shape=(1, 2**41))
    assert canonical(wide).indices.dtype == np.int64
