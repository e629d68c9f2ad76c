"""What is asked of rows that are read block by block has the answer that rows in memory give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone.rows import GeneratedRows, StreamedRows, rows_of
from tests.rows.made import in_memory, some_rows

n, d = 50, 5


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def sparse(request):
    return request.param


@pytest.fixture
def known(dtype, sparse):
    X = some_rows(n, d, dtype)
    return rows_of(csr_array(X) if sparse else X)


@pytest.fixture
def streamed(known, monkeypatch):
    """Many blocks, and other ones than the source has."""
    monkeypatch.setattr("squareone.rows.stream_views._NUMBERS", 7 * d)
    monkeypatch.setattr("squareone.rows.stream_views._FEWEST", 1)
    monkeypatch.setattr("squareone.rows.stream_views._SPARSE", 7)
    starts = range(0, n, 11)
    rows = rows_of(
        GeneratedRows(
            lambda: (known[start : start + 11].X for start in starts),
            (n, d),
            known.dtype,
            sparse=known.sparse,
            feature_names=list("abcde"),
        )
    )
    assert isinstance(rows, StreamedRows)
    return rows


def assert_close(found, expected, dtype):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    eps = np.finfo(dtype).eps
    # sums of up to 50 · 2.5² cancel where a feature is centred
    assert_allclose(found, expected, rtol=30 * eps, atol=300 * eps)


def test_what_they_are(streamed, known):
    assert (streamed.shape, streamed.dtype, streamed.sparse) == ((n, d), known.dtype, known.sparse)
    assert streamed.stored == known.stored
    assert streamed.copy() is streamed
    assert streamed.prepare(100.0) == 100.0
    assert_array_equal(streamed.dense(), known.dense())
    for rows in (slice(3, 20), np.array([9, 2, 2])):
        assert type(streamed[rows]) is type(known)
        assert_array_equal(streamed[rows].dense(), known[rows].dense())


@pytest.mark.parametrize("size", [1, 8, n, n + 5])
def test_blocks_of_all_kinds(streamed, known, size):
    for rows in (streamed, known):
        found = list(rows.row_blocks(size))
        assert [part.stop - part.start for part, _ in found] == [
            min(size, n - start) for start in range(0, n, size)
        ]
        for part, block in found:
            assert type(block) is type(known)
            assert_array_equal(block.dense(), known[part].dense())


def test_blocks_in_memory_are_views(known):
    for _, block in known.row_blocks(8):
        values, all_values = (rows.X.data if known.sparse else rows.X for rows in (block, known))
        assert np.shares_memory(values, all_values)


def test_questions(streamed, known, dtype):
    assert streamed.peak() == known.peak()
    assert_array_equal(streamed.constants(), known.constants())
    assert_array_equal(streamed.everywhere(), known.everywhere())
    assert streamed.occupied() is None
    assert_close(streamed.squares(), known.squares(), dtype)
    shares = np.random.default_rng(1).dirichlet(np.ones(n))
    assert_close(streamed.mean(), known.mean(), dtype)
    assert_close(streamed.mean(shares), known.mean(shares), dtype)
    mean = known.mean()
    assert_array_equal(streamed.origin(mean), known.origin(mean))


def test_products(streamed, known, dtype):
    rng = np.random.default_rng(2)
    V, U = rng.standard_normal((d, 3)).astype(dtype), rng.standard_normal((n, 3)).astype(dtype)
    assert_close(streamed.product(V), known.product(V), dtype)
    assert_close(streamed.transposed_product(U), known.transposed_product(U), dtype)
    for mean in (np.zeros(d), known.mean()):
        assert_close(streamed.times(V, mean), known.times(V, mean), dtype)
        assert_close(streamed.transposed_times(U, mean), known.transposed_times(U, mean), dtype)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_gram_matrices(streamed, known, dtype, weighted):
    shares = np.random.default_rng(3).dirichlet(np.ones(n))
    root = np.sqrt(shares * n).astype(dtype) if weighted else None
    mean = known.mean(shares if weighted else None)
    for taken in (np.zeros(d), mean):
        found, expected = (rows.gram(taken, 0.5, root) for rows in (streamed, known))
        assert_close(found, expected, dtype)


def test_rows_made_from_them(streamed, known, dtype):
    other = np.dtype(np.float32 if dtype == np.float64 else np.float64)
    features, factors = np.array([0, 2, 4]), np.linspace(0.5, 2.0, d)
    made = {
        "astype": (other,),
        "scaled": (factors,),
        "shifted": (np.array([0.5, 0.0, 0.0, 0.0, 2.5]),),
        "columns": (features,),
    }
    for name, arguments in made.items():
        found, expected = (getattr(rows, name)(*arguments) for rows in (streamed, known))
        assert isinstance(found, StreamedRows)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert_array_equal(found.dense(), expected.dense())
        assert_array_equal(in_memory(found.X[[4, 1]]), expected[np.array([4, 1])].dense())
    assert streamed.astype(streamed.dtype) is streamed
    assert streamed.columns(features).X.feature_names == ["a", "c", "e"]


def test_what_needs_all_rows_at_once_is_refused(streamed, known):
    mean, out = known.mean(), np.empty((n, n))
    asked = [
        lambda: streamed.like(known),
        lambda: streamed.standardised(mean, 1.0),
        lambda: streamed.lifted(mean, 1.0, square_at=0),
        lambda: streamed.cross(streamed, out),
        lambda: streamed.city_block(streamed),
    ]
    for ask in asked:
        with pytest.raises(TypeError, match=r"is read block by block: ask the blocks"):
            ask()
