"""Models of sparse rows in files: they come back, and no lie about the rows does harm."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file
from scipy.sparse import csr_array, csr_matrix

import squareone
from squareone import RLSClassifier, RLSRegressor
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian, Laplacian, Matern, Polynomial
from squareone.persistence import container
from tests.estimators.data import refused, table
from tests.estimators.test_hostile_files import put_together, sane, taken_apart
from tests.rows.data import peak_of, wide_rows

rng = np.random.default_rng(0)
n, d = 30, 3
X = np.where(rng.random((n, d)) < 0.6, rng.standard_normal((n, d)), 0.0)
X[5] = 0.0
y = np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(n)
three = np.digitize(y, np.quantile(y, [0.3, 0.6]))
weights = np.r_[0.0, np.linspace(1.0, 2.0, n - 1)]
new = csr_array(X[::-1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def saved(model, path):
    model.save(path)
    return squareone.load(path)


# --- back again ---


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(), Laplacian(2.0), Matern("median"), Polynomial(2), 0.5 * Gaussian(2.0) + 1.0],
    ids=str,
)
def test_every_kernel(kernel, dtype, kind, path):
    rows = kind(X.astype(dtype))
    for model, target in ((RLSRegressor(kernel), y), (RLSClassifier(kernel, 0.1), three)):
        model.fit(rows, target, weights)
        loaded = saved(model, path)
        assert type(loaded.centers_) is kind
        for part in ("data", "indices", "indptr"):
            found, expected = getattr(loaded.centers_, part), getattr(model.centers_, part)
            assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
        assert loaded.centers_.shape == model.centers_.shape
        assert loaded.centers_ is loaded._record.sample.X
        for given in (new, new.toarray()):
            assert_array_equal(loaded.predict(given), model.predict(given))
        assert_array_equal(loaded.loo_predictions_, model.loo_predictions_)
        closeness = 1e-9 if dtype == np.float64 else 1e-3
        np.testing.assert_allclose(loaded.influence(new), model.influence(new), atol=closeness)
        assert_array_equal(saved(loaded, path).predict(new), model.predict(new))


def test_stored_zeros_and_wide_rows_come_back(path):
    rows = csr_array(X)
    rows.data[::4] = 0.0
    model = RLSRegressor(Gaussian(1.0), 1.0).fit(rows, y)
    assert saved(model, path).centers_.nnz == rows.nnz
    rows = wide_rows(50, 1_000_000)
    model = RLSRegressor(Gaussian(5.0), 1.0).fit(rows, np.arange(50.0))
    peak = peak_of(lambda: saved(model, path))
    assert peak < 2e6  # the numbers are 400 MB
    assert path.stat().st_size < 60_000
    assert_array_equal(saved(model, path).predict(rows), model.predict(rows))


def test_what_is_in_the_file(path):
    RLSRegressor(Gaussian(1.0), 1.0).fit(csr_array(X), y).save(path)
    tensors = load_file(path)
    names = [name for name in tensors if "centers" in name]
    assert sorted(names) == [f"fitted.record.centers.{x}" for x in ("data", "indices", "indptr")]
    again = csr_array(tuple(tensors[f"fitted.record.centers.{x}"] for x in _PARTS), shape=(n, d))
    assert_array_equal(again.toarray(), X)


_PARTS = ("data", "indices", "indptr")


# --- lies ---


def _set(name, value):
    def change(tree):
        tree["object"]["fitted"]["record"]["centers"][name] = value

    return change


def _both(features):
    """A number of features that nothing else contradicts."""

    def change(tree):
        _set("shape", [n, features])(tree)
        tree["object"]["fitted"]["n_features_in"] = features

    return change


def _drop(name):
    return lambda tree: tree["object"]["fitted"]["record"]["centers"].pop(name)


LIES = {
    "fewer features": (_both(2), ["record.centers", "indices are not those of 2 features"]),
    "no features": (_both(0), ["indices are not those of 0 features"]),
    "negative features": (_both(-1), ["indices are not those of -1 features"]),
    "endless features": (_both(2**70), ["indices are not those of"]),
    "other features": (_set("shape", [n, 4]), ["4 features are not 3"]),
    "more rows": (_set("shape", [n + 1, d]), ["shape [30, any] is expected, got [31, 3]"]),
    "one side": (_set("shape", [n]), ["shape [30, any]", "[30]"]),
    "three sides": (_set("shape", [n, d, 1]), ["shape [30, any]"]),
    "many sides": (_set("shape", [n] * 10_000), ["shape [30, any]"]),
    "a side of 3.0": (_set("shape", [n, 3.0]), ["shape [30, any]", "3.0"]),
    "a side that is true": (_set("shape", [n, True]), ["shape [30, any]", "True"]),
    "a shape that is text": (_set("shape", "30, 3"), ["list is expected"]),
    "another kind": (_set("kind", "coo_matrix"), ["'coo_matrix' is not known"]),
    "no kind": (_drop("kind"), ["kind is missing"]),
    "no shape": (_drop("shape"), ["shape is missing"]),
    "no numbers": (_set("data", None), ["centers.data", "ndarray is expected"]),
    "something else": (_set("more", 1), ["'more'", "not known here"]),
}


@pytest.mark.parametrize(("change", "message"), table(LIES))
def test_rows_that_contradict_themselves_are_refused(change, message, path):
    header, tree, numbers = taken_apart(RLSRegressor(Gaussian(1.0)).fit(csr_array(X), y), path)
    change(tree)
    path.write_bytes(put_together(header, tree, numbers))
    with refused(FileFormatError, "cannot load", *message):
        squareone.load(path)


def _at(index, value):
    def change(values):
        values = values.copy()
        values[index] = value
        return values

    return change


first = csr_array(X).indices[:2]
assert first.size == np.diff(csr_array(X).indptr)[0] == 2  # the first row has two numbers
WRONG_TENSORS = {
    "an index too large": ("indices", _at(4, d), ["not those of 3 features"]),
    "a huge index": ("indices", _at(-1, 2**31 - 1), ["not those of 3 features"]),
    "a negative index": ("indices", _at(4, -1), ["indices", "at least 0"]),
    "indices out of order": ("indices", _at([0, 1], first[::-1]), ["not ascending"]),
    "an index twice": ("indices", _at(1, first[0]), ["not ascending"]),
    "fewer indices": ("indices", lambda i: i[:-1], ["centers.indices", "is expected, got"]),
    "indices of one byte": ("indices", lambda i: i.astype("i1"), ["got int8"]),
    "indices that are not whole": ("indices", lambda i: i + 0.5, ["got float64"]),
    "indices in a table": ("indices", lambda i: i[:, None], ["centers.indices", "shape"]),
    "rows that end before they begin": ("indptr", _at(3, 0), ["indptr does not cut"]),
    "rows beyond the numbers": ("indptr", _at(3, 10_000), ["indptr does not cut"]),
    "rows that begin late": ("indptr", _at(0, 1), ["indptr does not cut"]),
    "rows that end early": ("indptr", lambda p: np.minimum(p, p[-1] - 1), ["does not cut"]),
    "rows that end late": ("indptr", _at(-1, 10_000), ["indptr does not cut"]),
    "a negative place": ("indptr", _at(2, -5), ["indptr", "at least 0"]),
    "fewer rows": ("indptr", lambda p: p[:-1], ["indptr", "(31,) is expected, got (30,)"]),
    "NaN": ("data", _at(2, np.nan), ["centers.data", "not finite"]),
    "infinity": ("data", _at(2, np.inf), ["centers.data", "not finite"]),
    "another precision": ("data", lambda v: v.astype("f4"), ["data", "float64 is expected"]),
    "fewer numbers": ("data", lambda v: v[:-1], ["centers.indices", "is expected, got"]),
    "no numbers": ("data", lambda v: v[:0], ["centers.indices", "(0,) is expected"]),
}


@pytest.mark.parametrize("wide", [False, True], ids=["", "64 bits"])
@pytest.mark.parametrize(("name", "change", "message"), table(WRONG_TENSORS))
def test_numbers_that_are_not_rows_are_refused(name, change, message, wide, path):
    RLSRegressor(Gaussian(1.0)).fit(csr_array(X), y).save(path)
    tree, tensors = container.read(path)
    if wide:
        for part in ("indices", "indptr"):
            key = f"fitted.record.centers.{part}"
            tensors[key] = tensors[key].astype(np.int64)
        container.write(path, tree, tensors)
        assert squareone.load(path).centers_.indices.dtype == np.int32  # nothing wrong with that
    key = f"fitted.record.centers.{name}"
    tensors[key] = np.ascontiguousarray(change(tensors[key]))
    container.write(path, tree, tensors)
    with refused(FileFormatError, "cannot load", *message):
        squareone.load(path)


def test_more_features_than_memory_are_only_a_number(path):
    """Consistent, and so no lie; nothing is allocated for them."""
    header, tree, numbers = taken_apart(RLSRegressor(Gaussian(1.0)).fit(csr_array(X), y), path)
    _both(2**60)(tree)
    path.write_bytes(put_together(header, tree, numbers))
    assert peak_of(lambda: squareone.load(path)) < 3e6
    with refused(ValueError, "X has 3 features", "expecting 1152921504606846976"):
        squareone.load(path).predict(new)


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["bytes", "numbers"])
def test_changed_at_random(what, path):
    """Whatever stands in the file: refused, or a model that predicts."""
    rng = np.random.default_rng(0)
    model = RLSRegressor(Laplacian(1.0), 1.0).fit(csr_array(X), y)
    header, tree, numbers = taken_apart(model, path)
    spans = [header[f"fitted.record.centers.{part}"]["data_offsets"] for part in _PARTS]
    outcomes = []
    for i in range(300):
        changed = np.frombuffer(numbers, np.uint8).copy()
        text = json.loads(json.dumps(tree))
        if what == "bytes":
            begin, end = spans[i % 3]
            changed[rng.integers(begin, end, size=1 + i % 2)] = rng.integers(0, 256)
        else:
            centers = text["object"]["fitted"]["record"]["centers"]
            others = [None, -1, 0, 2**62, "csr_matrix", [], [n, d], {"$float": "nan"}]
            centers[list(centers)[i % 5]] = others[rng.integers(len(others))]
        outcomes.append(sane(path, put_together(header, text, changed.tobytes())))
    assert outcomes.count("refused") > 100
    assert set(outcomes) == {"refused", "loaded"}
