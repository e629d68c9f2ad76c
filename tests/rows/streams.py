"""The same rows in every kind of file."""

import gzip

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

from squareone.rows import ArrayRows, GeneratedRows, open_rows

pyarrow = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")


class Sliced:
    """What datasets of h5py and zarr offer: shape, dtype, chunks and slices of rows."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.chunks, self.read = (10, array.shape[1]), []

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.read.append(rows)
        return self._array[rows]


def frame_of(X):
    return pandas.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def _npy(X, folder):
    np.save(folder / "rows.npy", X)
    return open_rows(folder / "rows.npy")


def _fortran(X, folder):
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    return open_rows(folder / "fortran.npy")


def _sliced(X, folder):
    return ArrayRows(Sliced(X))


def _parquet(X, folder):
    frame_of(X).to_parquet(folder / "rows.parquet", row_group_size=11)
    return open_rows(folder / "rows.parquet")


def _feather(X, folder):
    frame_of(X).to_feather(folder / "rows.feather", chunksize=9)
    return open_rows(folder / "rows.feather")


def _arrow(X, folder):
    table = pyarrow.Table.from_pandas(frame_of(X))
    feather.write_feather(table, folder / "rows.arrow", compression="uncompressed", chunksize=13)
    return open_rows(folder / "rows.arrow")


def _csv(X, folder):
    frame_of(X).to_csv(folder / "rows.csv", index=False)
    return open_rows(folder / "rows.csv", dtype=X.dtype)


def _tsv(X, folder):
    frame_of(X).to_csv(folder / "rows.tsv.gz", index=False, sep="\t")
    return open_rows(folder / "rows.tsv.gz", dtype=X.dtype)


def _generated(X, folder):
    def blocks():
        for start in range(0, len(X), 6):
            yield X[start : start + 6]

    return GeneratedRows(blocks, X.shape, X.dtype)


def lines_of(X, first):
    """As many digits as it takes: what is read is what was written."""
    for i, row in enumerate(X):
        stored = (f"{k + first}:{float(value)!r}" for k, value in enumerate(row) if value)
        yield " ".join([f"{i % 3}", *stored]) + "\n"


def _svmlight(X, folder):
    (folder / "rows.svm").write_text("".join(lines_of(X, 1)))
    return open_rows(folder / "rows.svm", n_features=X.shape[1], dtype=X.dtype)


def _libsvm(X, folder):
    (folder / "rows.libsvm.gz").write_bytes(gzip.compress("".join(lines_of(X, 0)).encode()))
    return open_rows(folder / "rows.libsvm.gz", n_features=X.shape[1], dtype=X.dtype)


def _generated_sparse(X, folder):
    def blocks():
        for start in range(0, len(X), 6):
            yield csr_array(X[start : start + 6])

    return GeneratedRows(blocks, X.shape, X.dtype, sparse=True)


DENSE = {
    "npy": _npy,
    "fortran": _fortran,
    "sliced": _sliced,
    "parquet": _parquet,
    "feather": _feather,
    "arrow": _arrow,
    "csv": _csv,
    "tsv": _tsv,
    "generated": _generated,
}
SPARSE = {"svmlight": _svmlight, "libsvm": _libsvm, "generated sparse": _generated_sparse}
STREAMS = DENSE | SPARSE
