"""Sparse text: linear classifiers of twenty classes, against linear SVMs and ridge regression.

The rows are 12,000 documents of news20 where ``SQUAREONE_DATA`` names a folder that has it, and
otherwise made up, with as many words in about the same frequencies.
"""

import importlib.util
import os
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from benchmarks.case import Case, Contest, Outcome, Scale, timed
from benchmarks.measure import Contestant, Interleaved, fitting, peak_memory

ROWS = 12_000
GRID = np.logspace(-1, 2, 20)
TOLERANCE = 1e-3


class Text(NamedTuple):
    """Documents to learn from, and others."""

    X: scipy.sparse.csr_matrix
    y: NDArray
    X_test: scipy.sparse.csr_matrix
    y_test: NDArray


@cache
def text(rows: int = ROWS) -> Text:
    """Return features log(1 + count)·log(n/df) of unit length."""
    counts, y = _news20() or _made_up(15_935, 62_061)
    order = np.random.default_rng(0).permutation(y.size)
    counts, y = counts[order], y[order]
    df = np.bincount(counts[:rows].indices, minlength=counts.shape[1])
    idf = np.log(rows / np.maximum(df, 1)) * (df > 0)
    counts.data = np.log1p(counts.data)
    X = normalize(counts @ scipy.sparse.diags(idf)).tocsr()
    return Text(X[:rows], y[:rows], X[rows:], y[rows:])


def _news20() -> tuple[scipy.sparse.csr_matrix, NDArray] | None:
    file = Path(os.environ.get("SQUAREONE_DATA", "")) / "news20_libsvm_train.npz"
    if not file.is_file():
        return None
    with np.load(file) as found:
        parts = found["data"].astype(float), found["indices"], found["indptr"]
        return scipy.sparse.csr_matrix(parts, shape=found["shape"]), found["y"]


def _made_up(n: int, d: int, words: int = 80) -> tuple[scipy.sparse.csr_matrix, NDArray]:
    """Return documents whose words come from a Zipf law, half of them shifted by the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, n)
    common = np.minimum((rng.pareto(0.6, (n, words)) * 20).astype(int), d - 1)
    own = rng.random((n, words)) < 0.3
    columns = np.where(own, (common * 37 + 991 * y[:, None]) % d, common)
    rows = np.repeat(np.arange(n), words)
    counts = scipy.sparse.coo_matrix((np.ones(n * words), (rows, columns.ravel())), (n, d))
    return counts.tocsr(), y


def _errors(test: Text, *names: str) -> Any:
    """Say the test errors of ours and of the yardstick, from the numbers of wrong rows."""

    def remark(times: Interleaved) -> str:
        wrong = (times.ours.summary, times.yardstick.summary)
        shares = [100 * count / test.y_test.size for count in wrong]
        pairs = zip(names, shares, strict=True)
        return "test errors " + ", ".join(f"{name}: {share:.2f} %" for name, share in pairs)

    return remark


def _wrong(test: Text, estimator: Any) -> Contestant:
    """Return the fit of a fresh clone, of which the number of wrong test rows survives."""
    return Contestant(
        lambda unfitted: unfitted.fit(test.X, test.y),
        lambda: (clone(estimator),),
        lambda fitted: int((fitted.predict(test.X_test) != test.y_test).sum()),
    )


def _ours(**settings: Any) -> Any:
    from squareone import RLSClassifier

    return RLSClassifier("linear", **{"alpha": 1.0, "tol": TOLERANCE, **settings})


def _against(scale: Scale, peer: Any, name: str, **settings: Any) -> Contest:
    documents = text(scale.rows(ROWS))
    return Contest(
        _wrong(documents, _ours(**settings)),
        _wrong(documents, peer),
        remark=_errors(documents, "ours", name),
    )


def _against_liblinear(scale: Scale) -> Contest:
    """Its fastest solver of this problem (-s 4, Crammer and Singer), read from the same matrix."""
    from liblinear.liblinearutil import parameter, predict, problem, train

    documents = text(scale.rows(ROWS))
    y = documents.y.astype(float)

    def wrong(model: Any) -> int:
        labels, _, _ = predict([], documents.X_test, model, "-q")
        return int((np.array(labels) != documents.y_test).sum())

    return Contest(
        _wrong(documents, _ours()),
        Contestant(
            lambda: train(problem(y, documents.X), parameter("-s 4 -c 1 -q")), summary=wrong
        ),
        remark=_errors(documents, "ours", "liblinear"),
    )


def _against_grid_search(scale: Scale) -> Contest:
    """Both to the residual that is the default of both, 1e-4."""
    documents = text(scale.rows(ROWS))
    search = GridSearchCV(RidgeClassifier(solver="sparse_cg"), {"alpha": GRID}, cv=5)
    return Contest(
        _wrong(documents, _ours(alpha=GRID, tol=1e-4)),
        _wrong(documents, search),
        remark=_errors(documents, "ours", "grid search"),
    )


def _two_of_ours(scale: Scale, first: dict[str, Any], second: dict[str, Any]) -> Contest:
    documents = text(scale.rows(ROWS))
    return Contest(*(fitting(_ours(**each), documents.X, documents.y) for each in (first, second)))


def _product(scale: Scale, *, transposed: bool) -> Contest:
    from squareone.rows import SparseRows

    X = text(scale.rows(ROWS)).X
    rows = SparseRows(X)
    rows.prepare(np.inf)
    side = X.shape[0] if transposed else X.shape[1]
    V = np.random.default_rng(0).standard_normal((side, 20))
    if transposed:
        turned = X.T
        return Contest(
            Contestant(lambda: rows.transposed_product(V)), Contestant(lambda: turned @ V)
        )
    return Contest(Contestant(lambda: rows.product(V)), Contestant(lambda: X @ V))


def _million(rows: int) -> Any:
    """A million hashed documents in 2²⁰ features, two classes, and a fit of them."""
    from squareone import RLSClassifier

    rng = np.random.default_rng(0)
    words = 50
    y = rng.integers(0, 2, rows)
    columns = (rng.pareto(0.6, (rows, words)) * 20).astype(np.int64)
    columns = (columns * 2_654_435_761 + (rng.random((rows, words)) < 0.1) * y[:, None]) % 2**20
    columns = columns.astype(np.int32)
    columns.sort(axis=1)
    ends = np.arange(0, rows * words + 1, words)
    parts = np.ones(rows * words, np.float32), columns.ravel(), ends
    X = scipy.sparse.csr_matrix(parts, shape=(rows, 2**20))
    X.sum_duplicates()
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    RLSClassifier("linear", 1.0).fit(X[:200], y[:200])
    return lambda: RLSClassifier("linear", memory_limit="6GiB").fit(X, y)


def _measure_million(scale: Scale) -> Outcome:
    rows = scale.rows(1_000_000)
    seen = peak_memory(partial(_million, rows)) / 2**30
    return Outcome(seen / 6.0, note=f"{seen:.2f} GiB", figures={"GiB": seen})


CASES: list[Case] = [
    timed(
        "text-linear-svc",
        partial(_against, peer=LinearSVC(), name="LinearSVC"),
        what="20 classes of 12,000 documents, one λ, relative residual 1e-3 (times faster)",
        against="LinearSVC",
        target=2,
        direction="at least",
    ),
    *(
        [
            timed(
                "text-liblinear",
                _against_liblinear,
                what="the same (times faster)",
                against="liblinear-official, -s 4",
                target=1,
                direction="at least",
            )
        ]
        if importlib.util.find_spec("liblinear")
        else []
    ),
    timed(
        "text-ridge",
        partial(
            _against,
            peer=RidgeClassifier(alpha=1.0, solver="sparse_cg", tol=TOLERANCE),
            name="RidgeClassifier",
        ),
        what="the same (times faster)",
        against='RidgeClassifier(solver="sparse_cg"), the same residual',
        target=3,
        direction="at least",
    ),
    timed(
        "text-grid-search",
        _against_grid_search,
        what="the best of 20 λ, and its fit (times faster)",
        against="GridSearchCV(RidgeClassifier(sparse_cg), cv=5)",
        target=50,
        direction="at least",
        repeats=1,
    ),
    timed(
        "text-path",
        partial(_two_of_ours, first={"alpha": GRID}, second={}),
        what="the best of 20 λ, and its fit",
        against="a fit at one λ",
        target=6,
    ),
    timed(
        "text-codes",
        partial(_two_of_ours, first={"coding": "bch"}, second={}),
        what="one λ, the 63 columns of a BCH code",
        against="20 columns, one against all",
        target=1.2,
    ),
    *(
        timed(
            f"text-product-{'Xt' if transposed else 'X'}",
            partial(_product, transposed=transposed),
            what=f"products with {'Xᵀ' if transposed else 'X'}, 20 columns, float64 (times faster)",
            against="SciPy's product",
            target=1.6,
            direction="at least",
            repeats=21,
        )
        for transposed in (False, True)
    ),
    Case(
        "text-million",
        "peak memory of a fit with λ chosen, 1,000,000 × 2²⁰ hashed rows, float32",
        'memory_limit="6GiB"',
        1.0,
        "at most",
        _measure_million,
    ),
]
