"""Streams: whatever rows are read from, they are the rows that were written."""

import pickle
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split

from squareone.rows import ArrayRows, GeneratedRows, open_rows, rows_of, save_rows
from tests.rows.made import in_memory, some_rows
from tests.rows.streams import DENSE, SPARSE, STREAMS, Sliced

n, d = 40, 4


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def X(request):  # noqa: N802
    return some_rows(n, d, request.param)


@pytest.fixture(params=STREAMS.values(), ids=STREAMS)
def stream(request, X, tmp_path):
    return request.param(X, tmp_path)


@pytest.mark.parametrize("size", [1, 7, n, n + 5])
def test_blocks_are_the_rows_in_order(stream, X, size):
    for _ in range(2):  # each call is a new pass
        start = 0
        for rows, block in stream.blocks(size):
            assert rows.start == start
            assert rows.stop == min(start + size, n)
            assert block.dtype == X.dtype
            assert issparse(block) == stream.sparse
            assert stream.sparse or (block.flags.c_contiguous and type(block) is np.ndarray)
            assert not stream.sparse or block.has_canonical_format
            assert_array_equal(in_memory(block), X[rows])
            start = rows.stop
        assert start == n


def test_what_a_stream_says_of_itself(stream, X):
    assert stream.shape == X.shape
    assert stream.dtype == X.dtype
    assert len(stream) == n
    assert stream.stored == (np.count_nonzero(X) if stream.sparse else X.size)
    assert "40 rows, 4 features" in repr(stream)
    assert X.dtype.name in repr(stream)


CHOICES = {
    "slice": slice(5, 30),
    "end": slice(-3, None),
    "steps": slice(None, None, 3),
    "backwards": slice(None, None, -7),
    "empty": slice(9, 5),
    "none": np.array([], int),
    "any order": np.array([39, 3, 3, 0, 17, -1]),
    "list": [12, 11],
    "mask": np.arange(n) % 3 == 1,
}


@pytest.mark.parametrize("rows", CHOICES.values(), ids=CHOICES)
def test_some_rows(stream, X, rows):
    found = stream[rows]
    assert found.dtype == X.dtype
    assert issparse(found) == stream.sparse
    assert_array_equal(in_memory(found), X[rows])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (5, "not by int"),
        (np.array([0.5]), "not by ndarray"),
        (np.array([3, 40]), "row 40 was asked for: there are 40 rows"),
        (np.array([True, False]), "a mask of 2 rows was given for 40"),
    ],
    ids=["int", "floats", "outside", "short mask"],
)
def test_rows_that_are_not_there(stream, rows, said):
    with pytest.raises(IndexError, match=said):
        stream[rows]


def test_split_as_arrays_are(stream, X):
    for found, expected in zip(
        train_test_split(stream, random_state=0), train_test_split(X, random_state=0), strict=True
    ):
        assert_array_equal(in_memory(found), expected)


def test_pickled(stream, X):
    if type(stream) is GeneratedRows:
        pytest.skip("a local function cannot be pickled")
    again = pickle.loads(pickle.dumps(stream))
    assert repr(again) == repr(stream)
    assert_array_equal(in_memory(again[5:9]), X[5:9])


def test_one_row(tmp_path):
    X = some_rows(1, d)
    for make in STREAMS.values():
        stream = make(X, tmp_path)
        assert [rows for rows, _ in stream.blocks(8)] == [slice(0, 1)]
        assert_array_equal(in_memory(stream[:]), X)


# --- how much is read ---


def test_views_of_a_mapped_file_are_not_copied(tmp_path):
    stream = DENSE["npy"](some_rows(n, d), tmp_path)
    for _, block in stream.blocks(7):
        assert np.shares_memory(block, stream._array)


def test_a_mapped_file_is_pickled_by_its_name(tmp_path):
    X = some_rows(10_000, d)
    stream = DENSE["npy"](X, tmp_path)
    assert len(pickle.dumps(stream)) < 2000
    part = ArrayRows(np.load(tmp_path / "rows.npy", mmap_mode="r")[5:])
    assert_array_equal(pickle.loads(pickle.dumps(part))[:], X[5:])


def test_only_chunks_with_rows_are_read():
    dataset = Sliced(some_rows(n, d))
    ArrayRows(dataset)[[31, 2, 38, 4]]
    assert dataset.read == [slice(2, 5), slice(31, 39)]


def test_only_row_groups_with_rows_are_read(tmp_path, monkeypatch):
    stream = DENSE["parquet"](some_rows(n, d), tmp_path)
    asked = []
    read = type(stream)._batches

    def watched(self, size, pieces, columns):
        asked.extend(pieces)
        return read(self, size, pieces, columns)

    monkeypatch.setattr(type(stream), "_batches", watched)
    stream[[35, 1]]
    assert asked == [0, 3]


def test_parts_of_text(tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.rows.svmlight._BYTES", 100)
    X = some_rows(n, d)
    for make in (SPARSE["svmlight"], SPARSE["libsvm"]):
        stream = make(X, tmp_path)
        assert stream._bounds().size > 10
        assert_array_equal(in_memory(stream[:]), X)
        assert_array_equal(in_memory(stream[[33, 2]]), X[[33, 2]])


# --- reading ahead ---


def slow_rows(count=100):
    made = []

    def blocks():
        for i in range(count):
            made.append(i)
            yield np.full((1, 2), float(i))

    return GeneratedRows(blocks, (count, 2)), made


def reading_threads():
    return [t for t in threading.enumerate() if t.name.startswith("squareone-rows")]


def test_one_block_is_read_ahead():
    stream, made = slow_rows()
    blocks = stream.blocks(1)
    next(blocks)
    deadline = time.monotonic() + 5
    while len(made) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == 2
    assert len(reading_threads()) == 1
    blocks.close()


def test_the_thread_ends_with_the_pass():
    stream, made = slow_rows()
    for rows, _ in stream.blocks(1):
        if rows.start == 3:
            break
    del rows
    assert not reading_threads()
    assert len(made) <= 6
    assert sum(1 for _ in rows_of(stream).row_blocks(10)) == 10
    assert not reading_threads()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_the_thread_ends_with_an_exception(failure):
    stream, _ = slow_rows()
    blocks = stream.blocks(1)

    def work():
        for rows, _ in blocks:
            if rows.start == 3:
                raise failure

    with pytest.raises(failure):
        work()
    blocks.close()
    assert not reading_threads()


def test_an_exception_of_the_source_comes_in_its_turn():
    closed = []

    def blocks():
        try:
            yield np.ones((5, 2))
            raise OSError("the disk is gone")
        finally:
            closed.append(True)

    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(rows for rows, _ in GeneratedRows(blocks, (10, 2)).blocks(5))
    assert seen == [slice(0, 5)]
    assert closed == [True]
    assert not reading_threads()


# --- kept in a file that is read faster ---


def test_saved(stream, X, tmp_path):
    path = tmp_path / "kept.npy"
    if stream.sparse:
        with pytest.raises(TypeError, match=r"is sparse, and .* all 160 numbers"):
            save_rows(stream, path)
        assert not path.exists()
        return
    kept = save_rows(stream, path)
    assert_array_equal(kept[:], X)
    assert kept.dtype == X.dtype
    assert kept.feature_names == stream.feature_names
    assert_array_equal(open_rows(path)[:], X)


def test_saving_leaves_nothing_where_it_fails(tmp_path):
    def blocks():
        yield np.ones((5, 2))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        save_rows(GeneratedRows(blocks, (10, 2)), tmp_path / "kept.npy")
    with pytest.raises(ValueError, match=r"ends in \.npy"):
        save_rows(GeneratedRows(blocks, (10, 2)), tmp_path / "kept.csv")
    assert not list(tmp_path.iterdir())
