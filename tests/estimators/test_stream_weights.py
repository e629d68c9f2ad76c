"""Weights of rows in a stream are those of regularised least squares; zero leaves a row out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

import squareone
from squareone import (
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Linear
from squareone.rows import open_rows
from tests.reference import online as reference

rng = np.random.default_rng(0)
n, d = 280, 4
X = rng.standard_normal((n, d))
number = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
three = np.argmax(X[:, :3] + 0.5 * rng.standard_normal((n, 3)), axis=1)
weights = rng.uniform(0.2, 3.0, n)
weights[[0, 3, 50, 51, 200]] = 0.0
kept = weights > 0
CASES = {
    "primal": ("linear", "primal"),
    "dual": ("linear", "dual"),
    "kernel": (Gaussian(1.2), "dual"),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
SHARES = {"at once": [n], "blocks": [40] * 7, "one by one": [1] * n}


def in_shares(model, y, share):
    start = 0
    for size in share:
        part = slice(start, start + size)
        if size == 1:
            model.learn_one(X[start], y[start], weights[start])
        else:
            model.partial_fit(X[part], y[part], sample_weight=weights[part])
        start += size
    return model


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
@every_case
def test_a_regression_is_the_weighted_fit(case, share):
    kernel, form = case
    batch = RLSRegressor(
        (Linear() if kernel == "linear" else kernel) + 1.0, alpha=0.7, fit_intercept=False
    ).fit(X, number, weights)
    model = in_shares(IncrementalRLSRegressor(kernel, 0.7, form=form).start(d), number, share)
    assert_allclose(model.predict(X), batch.predict(X), atol=1e-10)
    assert model.n_rounds_ == np.count_nonzero(kept)


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
@every_case
def test_a_classification_is_the_weighted_fit(case, share):
    kernel, form = case
    batch = RLSClassifier(
        (Linear() if kernel == "linear" else kernel) + 1.0, alpha=0.7, fit_intercept=False
    ).fit(X, three, weights)
    model = IncrementalRLSClassifier(kernel, 0.7, form=form).start([0, 1, 2], d)
    found = in_shares(model, three, share).decision_function(X)
    assert_allclose(found, batch.decision_function(X), atol=1e-10)


@every_case
def test_coefficients_of_points_are_weighted_residuals(case):
    kernel, form = case
    if form == "primal":
        pytest.skip("there are no points")
    model = IncrementalRLSRegressor(kernel, 0.7, form=form).fit(X, number, weights)
    expected = (weights * (number - model.predict(X)) / 0.7)[kept]
    assert_allclose(model.dual_coef_, expected, atol=1e-10)


def test_errors_before_learning_are_a_weighted_mean():
    model = IncrementalRLSRegressor(fit_intercept=False).fit(X, number, weights)
    rows = np.sqrt(weights[kept])[:, None] * X[kept]
    _, residuals = reference.incremental_rls(
        rows, (np.sqrt(weights[kept]) * number[kept])[:, None], 1.0
    )
    expected = np.square(residuals).sum() / weights.sum()
    assert model.prequential_error_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.costly
@pytest.mark.parametrize("form", ["primal", "dual", "diagonal"])
@pytest.mark.parametrize(
    "make",
    [
        lambda form: SecondOrderPerceptron(form=form),
        lambda form: SelectiveSamplingClassifier(form=form, normalise=False),
        lambda form: SelectiveSamplingClassifier(strategy="randomized", form=form, normalise=False),
        lambda form: HierarchicalClassifier(form=form, normalise=False),
    ],
)
def test_whole_weights_of_learned_rows_are_repeated_rows(make, form):
    """In A and v; an update on mistakes looks at the row once."""
    model = make(form).start([0, 1, 2], d)
    whole = 1.0 + np.arange(n) % 3
    for row, label, weight in zip(X, three, whole, strict=True):
        model.learn_one(row, label, weight)
    learned = make(form).start([0, 1, 2], d)
    learned.partial_fit(X, three, sample_weight=whole)
    assert_allclose(learned.decision_function(X), model.decision_function(X), atol=1e-9)
    if form == "diagonal" or not isinstance(model, HierarchicalClassifier):
        return
    repeated = make(form).start([0, 1, 2], d)
    repeated.partial_fit(
        np.repeat(X, whole.astype(int), axis=0), np.repeat(three, whole.astype(int))
    )
    assert_allclose(repeated.decision_function(X), model.decision_function(X), atol=1e-9)


def test_a_perceptron_weighs_the_rows_that_it_learns():
    two = (three == 1).astype(int)
    model = SecondOrderPerceptron(alpha=0.5).partial_fit(X, two, sample_weight=weights)
    A, v = 0.5 * np.eye(d), np.zeros(d)
    for row, label, weight in zip(X[kept], two[kept], weights[kept], strict=True):
        sign = 2.0 * label - 1.0
        if sign * (np.linalg.solve(A, v) @ row) <= 0:
            A += weight * np.outer(row, row)
            v += weight * sign * row
    assert_allclose(model.coef_[0], np.linalg.solve(A, v), atol=1e-10)
    with pytest.raises(ValueError, match="another weight than one"):
        model.mistake_bound(X[kept], two[kept], np.ones(d))


# --- zero ---


def test_rows_of_weight_zero_may_be_anything():
    strange = np.where(kept, three, 99)
    model = IncrementalRLSClassifier().partial_fit(X, strange, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1, 2]
    plain = IncrementalRLSClassifier().partial_fit(
        X[kept], three[kept], sample_weight=weights[kept]
    )
    assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    texts = np.where(kept, np.array(["a", "b", "c"])[three], "").astype(object)
    texts[~kept] = None
    IncrementalRLSClassifier().partial_fit(X, texts, sample_weight=weights)
    numbers = np.where(kept, number, np.nan)
    found = IncrementalRLSRegressor().fit(X, numbers, weights)
    assert_allclose(found.coef_, IncrementalRLSRegressor().fit(X, number, weights).coef_)
    sets = [{int(label)} if use else {"no node"} for label, use in zip(three, kept, strict=True)]
    forest = {"a": [0, 1], "b": [2]}
    HierarchicalClassifier(taxonomy=forest).partial_fit(X, sets, sample_weight=weights)


@pytest.mark.parametrize("kind", [SecondOrderPerceptron, IncrementalRLSClassifier])
def test_all_zeros_learn_nothing(kind):
    model = kind(new_classes="add").partial_fit(X, three)
    before = model.decision_function(X)
    model.partial_fit(X[:5], [7] * 5, sample_weight=np.zeros(5)).learn_one(X[0], 8, 0.0)
    assert_array_equal(model.decision_function(X), before)
    assert model.n_rounds_ == n
    assert model.classes_.tolist() == [0, 1, 2]
    fresh = kind()
    with pytest.raises(ValueError, match="all weights are zero"):
        fresh.partial_fit(X, three, sample_weight=np.zeros(n))
    assert not hasattr(fresh, "n_features_in_")


def test_weights_of_labels_that_were_asked_for():
    two = three % 2
    sampler, other = (SelectiveSamplingClassifier().start([0, 1], d) for _ in range(2))
    sampler.query(X[:50])
    sampler.partial_fit(X[:50], two[:50], sample_weight=weights[:50])
    other.query(X[:50])
    other.partial_fit(X[:50][kept[:50]], two[:50][kept[:50]], sample_weight=weights[:50][kept[:50]])
    assert_allclose(sampler.coef_, other.coef_, rtol=1e-12)
    assert sampler.n_labels_ == np.count_nonzero(kept[:50])
    mail = FilteringClassifier().start([0, 1], d)
    accepted = np.arange(50) % 2 == 0
    mail.feedback(X[:50], two[:50], accepted, sample_weight=weights[:50])
    use = accepted & kept[:50]
    expected = FilteringClassifier().start([0, 1], d)
    expected.feedback(X[:50][use], two[:50][use], sample_weight=weights[:50][use])
    assert_allclose(mail.coef_, expected.coef_, rtol=1e-12)


def test_rows_of_files_have_weights(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    streamed = IncrementalRLSRegressor().fit(open_rows(tmp_path / "rows.npy"), number, weights)
    held = IncrementalRLSRegressor().fit(csr_matrix(X), number, weights)
    expected = IncrementalRLSRegressor().fit(X, number, weights)
    assert_allclose(streamed.coef_, expected.coef_, rtol=1e-12)
    assert_allclose(held.coef_, expected.coef_, rtol=1e-12)
    shuffled = IncrementalRLSRegressor(shuffle=True, epochs=2).fit(X, number, weights)
    assert shuffled.n_rounds_ == 2 * np.count_nonzero(kept)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_weighted_stream_is_saved(form, tmp_path):
    model = IncrementalRLSRegressor(form=form).partial_fit(X, number, weights)
    model.save(tmp_path / "model")
    again = squareone.load(tmp_path / "model")
    for each in (model, again):
        each.partial_fit(X, number, weights).learn_one(X[0], 1.0, 2.5)
    assert_array_equal(again.predict(X), model.predict(X))


# --- bad weights ---


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones(3), "one weight per row"),
        (-np.ones(n), "Negative"),
        (np.full(n, np.nan), "NaN"),
        (np.full(n, np.inf), "infinity"),
        (["a"] * n, "must be numbers"),
        (np.ones((n, 2)), "1D"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_learned(bad, message):
    model = IncrementalRLSRegressor().partial_fit(X[:20], number[:20])
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, number, bad)
    assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match=message):
        IncrementalRLSRegressor().fit(X, number, bad)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "heavy", None])
def test_a_bad_weight_of_one_row_is_refused(bad):
    model = IncrementalRLSRegressor().partial_fit(X, number)
    with pytest.raises((ValueError, TypeError), match="weight"):
        model.learn_one(X[0], 1.0, bad)
    assert model.n_rounds_ == n


@pytest.mark.parametrize("form", ["primal", "dual", "diagonal"])
def test_weights_beyond_the_range_are_refused(form):
    model = IncrementalRLSRegressor(form=form).partial_fit(X, number)
    before = model.predict(X)
    with pytest.raises(ScaleError, match="weight"):
        model.learn_one(1e100 * X[0], 1.0, 1e140)
    assert_array_equal(model.predict(X), before)
