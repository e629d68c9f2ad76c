"""From documents to classes: vectorizers, pipelines, labels, files."""

import importlib
import inspect

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import squareone
from squareone import RLSClassifier, RLSRegressor


def _documents():
    """Paragraphs of scikit-learn's own documentation, and the room they belong to."""
    texts, rooms = [], []
    for room in ("cluster", "decomposition", "ensemble", "metrics"):
        module = importlib.import_module(f"sklearn.{room}")
        for name in sorted(module.__all__)[:25]:
            parts = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")
            texts += [part for part in parts if len(part.split()) > 14]
            rooms += [room] * (len(texts) - len(rooms))
    return np.array(texts, dtype=object), np.array(rooms)


texts, rooms = _documents()
VECTORIZERS = {
    "tf-idf": TfidfVectorizer(sublinear_tf=True),
    "tf-idf of pairs in float32": TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32),
    "counts": make_pipeline(CountVectorizer(min_df=2), TfidfTransformer()),
    "hashed": make_pipeline(HashingVectorizer(n_features=2**20), TfidfTransformer()),
    "counts over their largest": make_pipeline(CountVectorizer(), MaxAbsScaler()),
}


@pytest.mark.parametrize("vectorizer", VECTORIZERS.values(), ids=VECTORIZERS.keys())
def test_pipelines_and_their_files(vectorizer, tmp_path):
    pipeline = make_pipeline(vectorizer, RLSClassifier("linear", 1.0, solver="krylov"))
    pipeline.fit(texts, rooms)
    assert pipeline.score(texts, rooms) > 0.9
    squareone.save(pipeline, tmp_path / "text.safetensors")
    again = squareone.load(tmp_path / "text.safetensors")
    assert_array_equal(again.decision_function(texts[:9]), pipeline.decision_function(texts[:9]))
    assert_array_equal(again.predict_proba(texts[:9]), pipeline.predict_proba(texts[:9]))


def test_everything_automatic_is_as_good_as_a_search():
    ours = make_pipeline(TfidfVectorizer(sublinear_tf=True), RLSClassifier("linear"))
    peer = make_pipeline(TfidfVectorizer(sublinear_tf=True), RidgeClassifier(alpha=1.0))
    mine, theirs = (cross_val_score(each, texts, rooms, cv=4).mean() for each in (ours, peer))
    assert mine > theirs - 0.01


def test_the_peer_with_the_same_alpha():
    X = TfidfVectorizer().fit_transform(texts)
    peer = RidgeClassifier(alpha=0.7, solver="sparse_cg", tol=1e-12).fit(X, rooms)
    for solver in ("krylov", "spectral"):
        model = RLSClassifier("linear", 0.7, solver=solver, tol=1e-10).fit(X, rooms)
        assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["krylov", "auto"])
def test_labels_with_thresholds_of_their_own(solver):
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    labels = np.column_stack(
        [rooms == room for room in ("cluster", "metrics")]
        + [[word in text for text in texts] for word in (">>>", "array", "default")]
    ).astype(int)
    train = np.arange(len(texts)) % 3 > 0
    plain = RLSClassifier("linear", solver=solver).fit(X[train], labels[train])
    tuned = RLSClassifier("linear", solver=solver, threshold="f1").fit(X[train], labels[train])
    assert tuned.threshold_.shape == (5,)
    assert_allclose(plain.decision_function(X), tuned.decision_function(X))
    macro = [
        f1_score(labels[~train], model.predict(X[~train]), average="macro")
        for model in (plain, tuned)
    ]
    assert macro[1] >= macro[0]
    assert tuned.threshold_.any()
    sparse_labels = scipy.sparse.csr_matrix(labels[train])
    again = RLSClassifier("linear", solver=solver).fit(X[train], sparse_labels)
    assert_array_equal(again.predict(X), plain.predict(X))


def test_regression_on_text():
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    length = np.log([len(text) for text in texts])
    model = RLSRegressor("linear", solver="krylov").fit(X, length)
    assert -model.best_score_ < 0.7 * length.var()
    low, high = model.predict_interval(X[:40], coverage=0.8).T
    assert (low < high).all()


# --- rows as they should not be ---


def test_rows_and_columns_without_a_number():
    X = TfidfVectorizer().fit_transform(texts).tolil()
    X[5] = 0.0
    X[:, 7] = 0.0
    X = X.tocsr()
    for solver in ("krylov", "auto"):
        model = RLSClassifier("linear", 1.0, solver=solver).fit(X, rooms)
        assert not model.coef_[:, 7].any()
        assert_allclose(model.decision_function(X[5]), model.intercept_[None], atol=1e-12)
        empty = scipy.sparse.csr_matrix((len(rooms), 30))
        nothing = RLSClassifier("linear", solver=solver).fit(empty, rooms)
        common = max(set(rooms), key=rooms.tolist().count)
        assert (nothing.predict(empty) == common).all()


def test_an_empty_vocabulary():
    pipeline = make_pipeline(TfidfVectorizer(), RLSClassifier("linear"))
    with pytest.raises(ValueError, match="empty vocabulary"):
        pipeline.fit(["", "?"], [0, 1])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        RLSClassifier("linear").fit(scipy.sparse.csr_matrix((2, 0)), [0, 1])


def test_other_ways_to_store_the_same():
    X = TfidfVectorizer().fit_transform(texts)
    expected = RLSClassifier("linear", 1.0, solver="krylov").fit(X, rooms).coef_
    unsorted = X.copy()
    for row in range(X.shape[0]):
        part = slice(*X.indptr[row : row + 2])
        unsorted.indices[part] = X.indices[part][::-1]
        unsorted.data[part] = X.data[part][::-1]
    unsorted.has_sorted_indices = False
    unsorted.has_canonical_format = False
    doubled = scipy.sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    wide = scipy.sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    here = X[0].toarray().ravel() != 0
    here[:50] = True  # zeros that are stored
    first = X[0].toarray()[:, here].ravel(), np.flatnonzero(here), np.array([0, here.sum()])
    explicit = scipy.sparse.vstack([scipy.sparse.csr_matrix(first, (1, X.shape[1])), X[1:]], "csr")
    assert (explicit.data == 0).any()
    ways = (unsorted, doubled, wide, explicit, X.tocsc(), X.tocoo(), scipy.sparse.csr_array(X))
    for stored in ways:
        before = stored.copy()
        model = RLSClassifier("linear", 1.0, solver="krylov").fit(stored, rooms)
        assert_allclose(model.coef_, expected, atol=1e-7)
        if hasattr(stored, "indptr"):
            assert_array_equal(stored.indices, before.indices)
            assert_array_equal(stored.data, before.data)
    X.data.flags.writeable = X.indices.flags.writeable = X.indptr.flags.writeable = False
    assert_allclose(
        RLSClassifier("linear", 1.0, solver="krylov").fit(X, rooms).coef_, expected, atol=1e-7
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none(value):
    X = TfidfVectorizer().fit_transform(texts)
    X.data[17] = value
    what = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"Input X contains {what}"):
        RLSClassifier("linear").fit(X, rooms)


def test_a_label_with_one_member_and_one_with_all():
    X = TfidfVectorizer().fit_transform(texts)
    labels = np.zeros((len(texts), 3), int)
    labels[3, 0] = 1
    labels[:, 1] = 1
    labels[::2, 2] = 1
    model = RLSClassifier("linear", threshold="f1", solver="krylov").fit(X, labels)
    predicted = model.predict(X)
    assert predicted[:, 1].all()
    assert np.isfinite(model.decision_function(X)).all()
    once = np.array(["rare" if i == 3 else "usual" for i in range(len(texts))])
    assert RLSClassifier("linear", solver="krylov").fit(X, once).classes_.size == 2
