"""HierarchicalClassifier: regularised least squares below true parents, in any kind of labels."""

import pickle
from types import MappingProxyType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import squareone
from squareone import HierarchicalClassifier, RLSRegressor
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian
from squareone.online import Taxonomy, h_loss
from squareone.online.node_labels import NodeLabels
from squareone.persistence import Fields
from squareone.rows import ArrayRows
from tests.estimators.data import refused, table

FOREST = {"animal": {"cat": [], "dog": ["poodle", "terrier"]}, "plant": ["tree"], "stone": []}
TAXONOMY = Taxonomy.of(FOREST)
rng = np.random.default_rng(0)
n, d, k = 120, 6, len(TAXONOMY)
X = rng.normal(size=(n, d))
Y = TAXONOMY.closure(TAXONOMY.indicator([[i] for i in rng.choice(TAXONOMY.names, n)]))
Y = TAXONOMY.closure(Y | (rng.random((n, k)) < 0.05))  # some rows are on several paths
X += 1.5 * Y @ rng.normal(size=(k, d))
new = X[:40] + 0.5 * rng.normal(size=(40, d))
names = TAXONOMY.named(Y)
leaves = np.array([row[-1] for row in names])  # one label for each row, inner nodes too
FORMS = ["primal", "dual", "diagonal"]


def position(name):
    return TAXONOMY.position(name)


def made(**parameters):
    return HierarchicalClassifier(**{"taxonomy": FOREST, "alpha": 0.5, **parameters})


def of_unit_length(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# --- laws ---


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("normalise", [False, True])
def test_a_node_is_regularised_least_squares_on_the_rows_of_its_parent(form, normalise):
    model = made(form=form, normalise=normalise).fit(X, Y.astype(int))
    rows = of_unit_length(X) if normalise else X
    for i, name in enumerate(TAXONOMY.names):
        above = TAXONOMY.parent(name)
        own = np.ones(n, bool) if above is None else Y[:, position(above)]
        batch = RLSRegressor("linear", 0.5, fit_intercept=False)
        batch.fit(rows[own], np.where(Y[own, i], 1.0, -1.0))
        assert_allclose(model.coef_[i], batch.coef_, rtol=1e-9, atol=1e-12, err_msg=name)
    assert_allclose(model.decision_function(X), rows @ model.coef_.T, atol=1e-12)
    assert_array_equal(model.intercept_, np.zeros(k))


def test_a_kernel_is_the_same_below_true_parents():
    kernel = Gaussian(1.3)
    model = made(kernel=kernel).fit(X, Y.astype(int))
    margins = model.decision_function(new)
    for name in ("plant", "dog", "terrier"):
        above = TAXONOMY.parent(name)
        own = np.ones(n, bool) if above is None else Y[:, position(above)]
        targets = np.where(Y[own, position(name)], 1.0, -1.0)
        expected = kernel(new, X[own]) @ np.linalg.solve(
            kernel(X[own]) + 0.5 * np.eye(own.sum()), targets
        )
        assert_allclose(margins[:, position(name)], expected, atol=1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sparse", [False, True])
def test_how_rows_are_shared_out_makes_no_difference(form, sparse):
    rows = csr_matrix(X) if sparse else X
    whole = made(form=form).fit(rows, Y.astype(int))
    parts, single = made(form=form), made(form=form)
    for part in np.split(np.arange(n), [1, 30, 100]):
        parts.partial_fit(rows[part], Y[part].astype(int))
    single.partial_fit(rows[:1], Y[:1].astype(int))
    for i in range(1, n):
        single.learn_one(rows[i : i + 1] if sparse else rows[i], Y[i].astype(int))
    expected = whole.decision_function(new)
    for model in (parts, single):
        assert_allclose(model.decision_function(new), expected, atol=1e-9)
        assert model.n_rounds_ == n
        assert model.mistakes_ == whole.mistakes_
        assert model.h_loss_ == pytest.approx(whole.h_loss_)


@pytest.mark.parametrize("kernel", ["linear", Gaussian(1.3)])
def test_sparse_rows_are_dense_ones(kernel):
    dense = made(kernel=kernel, form="dual").fit(X, names)
    sparse = made(kernel=kernel, form="dual").fit(csr_matrix(X), names)
    expected = dense.decision_function(new)
    assert_allclose(sparse.decision_function(csr_matrix(new)), expected, atol=1e-11)
    assert_allclose(sparse.decision_function(new), expected, atol=1e-11)


def test_rows_come_from_a_stream():
    expected = made().fit(X, names)
    model = made().fit(ArrayRows(X), names)
    assert_array_equal(model.decision_function(ArrayRows(new)), expected.decision_function(new))
    assert list(model.predict(ArrayRows(new))) == list(expected.predict(new))


def test_every_kind_of_labels_is_learned_alike():
    expected = made().fit(X, Y.astype(int)).decision_function(new)
    last_ones = [
        {name for name in row if not set(TAXONOMY.children(name)) & {*row}} for row in names
    ]
    for y in (names, last_ones, list(map(list, names)), csr_matrix(Y.astype(int))):
        assert_array_equal(made().fit(X, y).decision_function(new), expected)


def test_a_flat_taxonomy_is_one_against_all():
    y = rng.choice(["a", "b", "c"], n)
    model = HierarchicalClassifier(alpha=2.0, normalise=False).fit(X, y)
    assert model.taxonomy_.names == ("a", "b", "c")
    values = np.column_stack(
        [
            RLSRegressor("linear", 2.0, fit_intercept=False)
            .fit(X, np.where(y == c, 1, -1))
            .predict(new)
            for c in "abc"
        ]
    )
    assert_allclose(model.decision_function(new), values, atol=1e-10)
    assert_array_equal(model.predict(new), np.array(["a", "b", "c"])[values.argmax(axis=1)])


# --- predictions ---


def test_predictions_are_of_the_kind_that_y_was():
    margins = made().fit(X, Y.astype(int)).decision_function(new)
    positive = margins > 0
    for name in TAXONOMY.names:
        for above in TAXONOMY.ancestors(name):
            positive[:, position(name)] &= positive[:, position(above)]
    found = made().fit(X, Y.astype(int)).predict(new)
    assert_array_equal(found, positive)
    assert found.dtype == int
    sets = made().fit(X, names).predict(new)
    assert sets.shape == (40,)
    assert list(sets) == TAXONOMY.named(positive)
    assert any(len(row) == 0 for row in sets) or any(len(row) > 1 for row in sets)
    single = made().fit(X, leaves).predict(new)
    assert set(single) <= set(TAXONOMY.names)
    assert single.dtype.kind == "U"


def test_one_label_may_end_where_labels_have_ended():
    rows = np.array([[1.0, 0.0, 0.2], [1.0, 0.0, -0.2], [0.0, 1.0, 0.0]])
    forest = {"a": ["b", "c"], "d": []}
    only_leaves = HierarchicalClassifier(taxonomy=forest).fit(rows, ["b", "c", "d"])
    assert_array_equal(only_leaves.predict([[1.0, 0.0, 0.01]]), ["b"])
    inner = HierarchicalClassifier(taxonomy=forest).fit(
        np.vstack([rows, [[1.0, 0.0, 0.0]] * 4]), ["b", "c", "d", *"aaaa"]
    )
    assert_array_equal(inner.predict([[1.0, 0.0, 0.01]]), ["a"])


def test_one_row_is_as_many():
    for y in (Y.astype(int), names, leaves):
        model = made().fit(X, y)
        for x, expected in zip(new, model.predict(new), strict=True):
            assert_array_equal(model.predict_one(x), expected)
            assert_array_equal(model.predict_one(csr_matrix(x)), expected)


def test_a_row_of_zeros_has_no_labels():
    model = made().fit(np.vstack([X, np.zeros(d)]), [*names, ("cat",)])
    assert np.isfinite(model.decision_function(X)).all()
    assert model.predict(np.zeros((1, d)))[0] == ()


def test_labels_that_are_paths():
    y = np.array(["a.x", "a.y", "b", "b.x"])[rng.integers(0, 4, n)]
    model = HierarchicalClassifier(taxonomy=".").fit(X, y)
    assert set(model.taxonomy_.names) == {"a", "a.x", "a.y", "b", "b.x"}
    assert model.taxonomy_.parent("b.x") == "b"
    assert set(model.predict(X)) <= {"a.x", "a.y", "b", "b.x"}


def test_labels_may_be_numbers_and_texts():
    forest = {"even": [0, 2], "odd": [1, 3]}
    y = rng.integers(0, 4, n)
    model = HierarchicalClassifier(taxonomy=forest).fit(X, y)
    assert model.classes_.dtype == object
    assert set(model.predict(X)) <= set(range(4))
    assert 0 <= model.score(X, y) <= 1


@pytest.mark.parametrize("y", [Y.astype(int), names, leaves], ids=["indicator", "sets", "labels"])
def test_losses_are_those_of_the_predictions(y):
    model = made().fit(X, y)
    found = model.predict(X)
    if found.ndim == 1:
        found = TAXONOMY.indicator([[row] if isinstance(row, str) else row for row in found])
    predicted, true = TAXONOMY.closure(found), Y
    if y is leaves:
        true = TAXONOMY.closure(TAXONOMY.indicator([[leaf] for leaf in leaves]))
    losses = model.losses(X, y)
    assert losses["h"] == pytest.approx(h_loss(true, predicted, TAXONOMY).mean())
    shared = h_loss(true, predicted, TAXONOMY, costs="shared").mean()
    assert model.losses(X, y, costs="shared")["h"] == pytest.approx(shared)
    assert losses["zero_one"] == pytest.approx((true != predicted).any(axis=1).mean())
    assert losses["symmetric_difference"] == pytest.approx((true != predicted).sum(axis=1).mean())
    assert model.score(X, y) == pytest.approx(1 - losses["zero_one"])
    weights = rng.uniform(size=n)
    right = (true == predicted).all(axis=1)
    assert model.score(X, y, weights) == pytest.approx(np.average(right, weights=weights))


def test_a_stream_begins_without_a_row():
    model = made().start(None, d, kind="sets")
    assert model.predict_one(X[0]) == ()
    assert model.h_loss_ == 0.0
    for x, row in zip(X, names, strict=True):
        model.learn_one(x, row)
    expected = made().fit(X, names)
    assert_allclose(model.decision_function(new), expected.decision_function(new), atol=1e-10)
    flat = HierarchicalClassifier().start(["b", "a"], d)
    assert flat.learn_one(X[0], "b").predict_one(X[0]) == "b"


def test_passes_and_their_order():
    in_order = made(epochs=2).fit(X, names)
    twice = made().partial_fit(X, names).partial_fit(X, names)
    assert_array_equal(in_order.decision_function(new), twice.decision_function(new))
    shuffled = made(shuffle=True, random_state=3).fit(X, names)
    assert shuffled.mistakes_ != made().fit(X, names).mistakes_
    expected = made().fit(X, names).decision_function(new)
    assert_allclose(shuffled.decision_function(new), expected, atol=1e-10)


# --- copies and files ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("y", [Y.astype(int), names, leaves], ids=["indicator", "sets", "labels"])
def test_copies_go_on_to_the_same_state(form, y, tmp_path):
    model = made(form=form).partial_fit(X[:70], y[:70])
    model.save(tmp_path / "model.safetensors")
    copies = [squareone.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))]
    model.partial_fit(X[70:], y[70:])
    for same in copies:
        same.partial_fit(X[70:], y[70:])
        assert_array_equal(same.decision_function(new), model.decision_function(new))
        assert list(map(str, same.predict(new))) == list(map(str, model.predict(new)))
        assert (same.n_rounds_, same.mistakes_) == (n, model.mistakes_)
        assert same.h_loss_ == model.h_loss_
        assert same.taxonomy_ == model.taxonomy_


def test_sparse_points_and_kernels_are_saved(tmp_path):
    model = made(kernel=Gaussian(1.3)).fit(csr_matrix(X), leaves)
    model.save(tmp_path / "model.safetensors")
    same = squareone.load(tmp_path / "model.safetensors")
    assert_array_equal(same.decision_function(new), model.decision_function(new))


@pytest.mark.parametrize(
    "taxonomy",
    [
        FOREST,
        TAXONOMY,
        [("a", "cat"), ("a", "dog")],
        {"cat": None, "dog": "cat"},
        "/",
        None,
    ],
)
def test_taxonomies_of_any_form_are_saved(taxonomy, tmp_path):
    model = HierarchicalClassifier(taxonomy=taxonomy).fit(X, np.where(X[:, 0] > 0, "cat", "dog"))
    model.save(tmp_path / "model.safetensors")
    same = squareone.load(tmp_path / "model.safetensors")
    assert same.taxonomy_ == model.taxonomy_
    assert_array_equal(clone(same).fit(X, same.predict(X)).classes_, model.classes_)


def test_a_mapping_is_not_written_but_what_was_made_of_it(tmp_path):
    mapping = MappingProxyType({"a": ["cat", "dog"]})
    model = HierarchicalClassifier(taxonomy=mapping).fit(X, np.where(X[:, 0] > 0, "cat", "dog"))
    with refused(TypeError, "parameters.taxonomy is", "set_params(taxonomy=None)"):
        model.save(tmp_path / "model.safetensors")
    model.set_params(taxonomy=model.taxonomy_).save(tmp_path / "model.safetensors")
    same = squareone.load(tmp_path / "model.safetensors")
    assert_array_equal(same.predict(new), model.predict(new))


def test_a_clone_has_the_same_taxonomy():
    model = made(taxonomy=TAXONOMY)
    assert clone(model).taxonomy == TAXONOMY
    assert not hasattr(clone(model.fit(X, names)), "classes_")


HOSTILE = {
    "a cycle": ({"parents": [1, 0]}, "cycle"),
    "no such parent": ({"parents": [-1, 7]}, "from -1"),
    "a name that occurs twice": ({"names": ["a", "a"]}, "twice"),
    "another kind": ({"kind": "tables"}, "'tables' is not known"),
    "other ends": ({"ends": np.zeros(3, bool)}, "shape (2,) is expected"),
}


@pytest.mark.parametrize(("change", "message"), table(HOSTILE))
def test_labels_of_a_file_are_looked_at(change, message):
    values = {"names": ["a", "b"], "parents": [-1, 0], "kind": "sets", "ends": np.zeros(2, bool)}
    assert NodeLabels.from_state(Fields(values, "labels")).taxonomy.names == ("a", "b")
    with refused(ValueError, message):
        NodeLabels.from_state(Fields(values | change, "labels"))


def test_families_of_a_file_are_counted(tmp_path):
    model = made().fit(X, names)
    state = model._fitted_state()
    state["record"]["engine"]["learners"].pop()
    with refused(FileFormatError, "4 families are expected, got 3"):
        made()._restore(Fields(state, "model"))


def test_nothing_of_the_users_is_kept():
    mine, labels = X.copy(), Y.astype(int)
    for form in FORMS:
        model = made(form=form).fit(mine, labels)
        before = model.decision_function(new)
        mine[:], labels[:] = 0.0, 0
        model.partial_fit(X[:1], Y[:1].astype(int))
        mine[:], labels[:] = X, Y
        expected = made(form=form).fit(X, Y.astype(int))
        assert_array_equal(before, expected.decision_function(new))
        expected.partial_fit(X[:1], Y[:1].astype(int))
        assert_array_equal(model.decision_function(new), expected.decision_function(new))
    assert_array_equal(mine, X)


# --- bad input ---


contradiction = Y.astype(int)
contradiction[7] = 0
contradiction[7, position("poodle")] = 1
BAD_LABELS = {
    "an unknown label": (["cat"] * (n - 1) + ["fish"], ["'fish' is no node", "'animal'"]),
    "an unknown label in a set": ([["cat"]] * (n - 1) + [["cat", "fish"]], ["'fish' is no node"]),
    "labels that contradict": (
        contradiction,
        ["row 7 has the label 'poodle' without 'dog'", "closure"],
    ),
    "columns of another taxonomy": (Y[:, 1:].astype(int), [f"(n, {k})", f"({n}, {k - 1})"]),
    "numbers in columns": (2 * Y.astype(int), [f"{k} columns", "zeros and ones"]),
    "sets among labels": (["cat"] * (n - 1) + [["cat"]], ["mixes", "row 0 is 'cat'"]),
    "too few": (names[:5], ["inconsistent numbers of samples"]),
    "too few labels": (leaves[:5], ["inconsistent numbers of samples"]),
    "numbers": (X[:, 0], ["Unknown label type: continuous"]),
    "None": (None, ["y to be passed"]),
    "NaN": (np.where(X[:, 0] > 0, np.nan, 1.0), ["Input y contains NaN"]),
    "a missing label": (["cat"] * (n - 1) + [None], ["missing label"]),
}


@pytest.mark.parametrize(("y", "message"), table(BAD_LABELS))
def test_bad_labels_are_refused_and_nothing_changes(y, message):
    with refused(ValueError, *message):
        made().fit(X, y)
    model = made().fit(X, names)
    before = model.decision_function(new)
    with refused(ValueError, *message):
        model.partial_fit(X, y)
    assert_array_equal(model.decision_function(new), before)
    assert model.n_rounds_ == n


@pytest.mark.parametrize(
    ("taxonomy", "message"),
    table(
        {
            "a cycle": ({"a": "b", "b": "a"}, "cycle"),
            "an unknown node": ({"a": "x"}, "'x' is the parent of 'a'"),
            "two parents": ([("a", "c"), ("b", "c")], "'c' is below 'a' and below 'b'"),
            "empty": ({}, "empty"),
            "no separator": ("", "separates the parts"),
        }
    ),
)
def test_bad_taxonomies_are_refused(taxonomy, message):
    with refused(ValueError, message):
        HierarchicalClassifier(taxonomy=taxonomy).fit(X, leaves)
    model = HierarchicalClassifier(taxonomy=taxonomy)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_separators_are_for_texts():
    with refused(ValueError, "taxonomy='/' separates", "indicator matrix"):
        HierarchicalClassifier(taxonomy="/").fit(X, Y.astype(int))
    with refused(ValueError, "taxonomy='/' separates", "have to be texts"):
        HierarchicalClassifier(taxonomy="/").fit(X, rng.integers(0, 3, n))


def test_classes_are_nodes_and_name_what_comes():
    with refused(ValueError, "'fish' is no node"):
        made().partial_fit(X[:2], ["cat", "dog"], classes=["cat", "dog", "fish"])
    model = HierarchicalClassifier(taxonomy="/").partial_fit(
        X[:2], ["a/x", "b"], classes=["a/x", "a/y", "b"]
    )
    assert model.taxonomy_.names == ("a", "a/x", "a/y", "b")
    model.partial_fit(X[2:3], ["a/y"])
    with refused(ValueError, "'c' is no node"):
        model.partial_fit(X[2:3], ["c"])


@pytest.mark.parametrize("form", FORMS)
def test_a_row_that_is_no_number_changes_nothing(form):
    model = made(form=form).fit(X, names)
    before = model.decision_function(new)
    bad = X.copy()
    bad[60, 2] = np.nan
    with refused(ValueError, "NaN"):
        model.partial_fit(bad, names)
    with refused(ValueError, "NaN or infinity", "nothing was learned"):
        model.learn_one(bad[60], names[60])
    with refused(ValueError, "'fish' is no node"):
        model.learn_one(X[0], ["fish"])
    with refused(ValueError, f"{d} numbers are expected"):
        model.learn_one(X[0, 1:], names[0])
    assert_array_equal(model.decision_function(new), before)


def test_other_things_are_refused():
    with refused(ValueError, "kind='rows'"):
        made().start(None, d, kind="rows")
    with refused(ValueError, "classes=None", "name the labels"):
        HierarchicalClassifier().start(None, d)
    with refused(ValueError, "n_features=0"):
        made().start(None, 0)
    with refused(ValueError, "linear kernel", "dual"):
        made(kernel="gaussian", form="primal").fit(X, names)
    with refused(NotFittedError, "not fitted yet"):
        made().learn_one(X[0], ["cat"])
    kernel = made(kernel="gaussian").fit(X, names)
    with refused(AttributeError, "coef_ is for the linear kernel"):
        _ = kernel.coef_
    with refused(AttributeError, "support points of their own"):
        _ = kernel.dual_coef_


@parametrize_with_checks(
    [
        HierarchicalClassifier(),
        HierarchicalClassifier(form="dual"),
        HierarchicalClassifier(kernel="gaussian"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_prediction_of_one_row_changes_nothing(form, tmp_path):
    fitted = HierarchicalClassifier(taxonomy=FOREST, form=form).fit(X, leaves)
    fitted.save(tmp_path / "before")
    fitted.predict_one(X[0])
    fitted.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
