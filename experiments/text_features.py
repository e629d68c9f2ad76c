"""Documents as rows of unit length, from the counts of their terms."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.preprocessing import normalize


def log_tf_idf(train: csr_matrix, test: csr_matrix) -> tuple[csr_matrix, csr_matrix]:
    """Return log(1 + tf)·idf of both parts, each row divided by its length.

    tf is how often a term occurs in the document, and idf = log(n/df), where df of the n training
    documents have the term. It is zero for a term of the test part alone: what a classifier may
    know of the documents to come is nothing.

    Parameters
    ----------
    train, test : csr_matrix (n, d) and (m, d)
        Counts; zeros are not stored.

    Returns
    -------
    csr_matrix (n, d) and csr_matrix (m, d)
    """
    idf = _idf(train)
    return _weighted(train, idf), _weighted(test, idf)


def running_tf_idf(counts: csr_matrix) -> csr_matrix:
    """Return (1 + log tf)·idf of documents that come one after the other, of unit length.

    idf = 1 + log((t + 1) / (df + 1)), where df of the t documents so far, this one among them, have
    the term. No document knows of those after it, and none is changed when they come.

    Parameters
    ----------
    counts : csr_matrix (n, d)
        In their order; zeros are not stored.

    Returns
    -------
    csr_matrix (n, d)
    """
    columns = counts.tocsc(copy=True)
    columns.sort_indices()
    first = np.repeat(columns.indptr[:-1], np.diff(columns.indptr))
    so_far = np.arange(1, columns.nnz + 1) - first  # documents with this term
    idf = 1 + np.log((columns.indices + 2) / (so_far + 1))
    columns.data = (1 + np.log(columns.data)) * idf
    return normalize(columns.tocsr(), copy=False)


def _idf(train: csr_matrix) -> NDArray:
    n, d = train.shape
    df = np.bincount(train.indices, minlength=d)
    return np.log(n / np.where(df > 0, df, n))


def _weighted(counts: csr_matrix, idf: NDArray) -> csr_matrix:
    weighted = csr_matrix(counts.log1p() @ diags(idf))
    weighted.eliminate_zeros()  # terms of all documents, and of none
    return normalize(weighted, copy=False)
