"""Streams of features of any size: time stamps, numbers of ten million, a ridge far below them."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

import squareone
from squareone import (
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
)
from squareone.errors import IllConditionedWarning, SingularSystemError
from squareone.kernels import Linear, Polynomial
from tests.reference.fifty_digits import ridge_coefficients, ridge_coefficients_unrounded

rng = np.random.default_rng(0)
n = 300
plain = rng.standard_normal((n, 4))
stamps = 1.7e12 + np.cumsum(rng.integers(0, 2000, size=n))
ROWS = {
    "time stamps": np.column_stack([stamps, stamps + rng.integers(0, 10**5, size=n), plain[:, 2:]]),
    "1e7": 1e7 * plain,
    "1e7 and far from zero": 1e7 + plain,
    "1e12": 1e12 * plain,
    "of all sizes": plain * [1e-6, 1.0, 1e6, 1e12],
    "coincident": 1e7 * np.repeat(plain[:15], n // 15, axis=0),
}
y = plain[:, 2] - 0.5 * plain[:, 3] + 0.1 * rng.standard_normal(n)
SHARES = {"one by one": [1] * n, "at once": [n], "mixed": [1, 5, 1, 90, 2, 150, 51]}
every_kind = pytest.mark.parametrize("name", ROWS)
every_share = pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
exact_forms = pytest.mark.parametrize("form", ["primal", "dual"])


def values(X, y, alpha):
    """Of the fit to all rows, with a constant feature, at these rows: fifty digits, rounded."""
    rows = np.column_stack([X, np.ones(len(X))])
    coefficients, _ = ridge_coefficients_unrounded(rows, y, alpha)
    with mpmath.workdps(60):
        return np.array(
            [float(mpmath.fdot(map(mpmath.mpf, row.tolist()), coefficients)) for row in rows]
        )


def in_shares(model, X, y, share):
    start = 0
    for size in share:
        if size == 1 and start:
            model.learn_one(X[start], y[start])
        else:
            model.partial_fit(X[start : start + size], y[start : start + size])
        start += size
    return model


@every_share
@exact_forms
@every_kind
def test_the_fit_is_that_of_all_rows(name, form, share):
    X = ROWS[name]
    model = in_shares(IncrementalRLSRegressor(form=form), X, y, share)
    assert_allclose(model.predict(X), values(X, y, 1.0), atol=1e-7)
    assert model.form_ == form


@every_kind
def test_the_diagonal_form_is_its_definition(name):
    X = ROWS[name]
    expected = X.T @ y / (1.0 + np.square(X).sum(axis=0))
    for share in SHARES.values():
        model = IncrementalRLSRegressor(form="diagonal", fit_intercept=False)
        found = in_shares(model, X, y, share).coef_
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["time stamps", "1e7", "of all sizes"])
def test_errors_before_learning_do_not_depend_on_the_blocks(name):
    X = ROWS[name]
    found = [
        in_shares(IncrementalRLSRegressor(form=form), X, y, share).prequential_error_
        for form in ("primal", "dual")
        for share in SHARES.values()
    ]
    assert_allclose(found, found[0], rtol=1e-6)
    # and stay at the noise: nothing is lost on the way
    model = IncrementalRLSRegressor().partial_fit(X[:100], y[:100])
    errors = []
    for row, target in zip(X[100:], y[100:], strict=True):
        errors.append(target - model.predict_one(row))
        model.learn_one(row, target)
    assert np.sqrt(np.mean(np.square(errors))) < 0.12


@pytest.mark.parametrize("name", ["1e7", "of all sizes", "coincident"])
def test_coefficients_of_points_are_residuals_over_the_ridge(name):
    X = ROWS[name]
    model = IncrementalRLSRegressor(form="dual").fit(X, y)
    assert_allclose(model.dual_coef_, y - values(X, y, 1.0), atol=1e-7)
    assert_allclose(model.support_, np.arange(n))
    assert_allclose(model.support_vectors_, X)
    rows = np.column_stack([X, np.ones(n)])
    expected, _ = ridge_coefficients(rows, y, 1.0)
    unit = np.abs(rows).max(axis=0)
    assert_allclose(np.append(model.coef_, model.intercept_) * unit, expected * unit, atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [SecondOrderPerceptron, IncrementalRLSClassifier])
def test_the_forms_agree_for_classes(kind, sparse, tmp_path):
    X = ROWS["1e7"]
    three = np.argmax(plain[:, :3], axis=1)
    rows = csr_matrix(X) if sparse else X
    primal = kind(form="primal").partial_fit(rows, three)
    dual = kind(form="dual").partial_fit(rows, three)
    assert_allclose(dual.decision_function(X), primal.decision_function(X), atol=1e-8)
    dual.save(tmp_path / "model")
    again = squareone.load(tmp_path / "model").partial_fit(X[:50], three[:50])
    dual.partial_fit(X[:50], three[:50])
    assert np.array_equal(again.decision_function(X), dual.decision_function(X))
    assert np.array_equal(again.dual_coef_, dual.dual_coef_)


def test_bounds_and_hypotheses_of_the_dual_form_far_above_the_ridge():
    X, two = ROWS["1e7"], (plain[:, 0] > 0).astype(int)
    u = np.array([1e-7, 0.0, 0.0, 0.0])
    for hypothesis in ("last", "average", "penalised"):
        forms = [
            SecondOrderPerceptron(form=form, hypothesis=hypothesis).fit(X, two)
            for form in ("primal", "dual")
        ]
        assert_allclose(forms[1].coef_, forms[0].coef_, rtol=1e-9)
        bounds = [model.mistake_bound(X, two, u) for model in forms]
        assert_allclose(bounds[1].energy, bounds[0].energy, rtol=1e-9)
        assert_allclose(bounds[1].log_determinant, bounds[0].log_determinant, rtol=1e-9)


def test_a_hierarchy_far_above_the_ridge():
    three = np.argmax(plain[:, :3], axis=1)
    models = [
        HierarchicalClassifier(taxonomy={"a": [0, 1], "b": [2]}, form=form, normalise=False).fit(
            ROWS["1e7"], three
        )
        for form in ("primal", "dual")
    ]
    assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-9)


# --- where digits are lost ---


def test_features_that_depend_on_each_other_are_said():
    X = np.column_stack([stamps, stamps, plain[:, 0]])
    for learn in (
        lambda model: model.fit(X, y),
        lambda model: [model.learn_one(row, target) for row, target in zip(X, y, strict=True)],
    ):
        model = IncrementalRLSRegressor(alpha=1e-6).start(3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learn(model)
        (warning,) = caught  # once
        assert warning.category is IllConditionedWarning
        message = str(warning.message)
        assert "digits are lost" in message
        assert "larger alpha" in message
        assert "StandardScaler" in message


@every_kind
def test_nothing_is_said_where_nothing_is_lost(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IncrementalRLSRegressor().fit(ROWS[name], y)


def test_a_kernel_far_above_the_ridge_says_so_or_refuses():
    """A polynomial has no features to fall back on."""
    kernel = Polynomial(2, gamma=1.0)
    with pytest.warns(IllConditionedWarning, match="digits are lost"):
        IncrementalRLSRegressor(kernel).partial_fit(1e4 * plain[:10], y[:10])
    model = IncrementalRLSRegressor(kernel).start(4)
    refused = pytest.raises(SingularSystemError, match=r"lost in rounding beside k\(x, x\)")
    with pytest.warns(IllConditionedWarning), refused:
        in_shares(model, 1e7 * plain, y, SHARES["one by one"])
    assert np.isfinite(model.predict(plain)).all()


def test_a_budget_of_the_linear_kernel_is_told_of_the_primal_form():
    model = IncrementalRLSRegressor(Linear(), alpha=1e-6, budget=50)
    with pytest.raises(SingularSystemError, match='form="primal"'):
        model.fit(ROWS["1e7"], y)


@pytest.mark.parametrize("forgetting", [1e-6, 0.001, 0.01, 0.1])
def test_fast_forgetting_in_blocks_is_that_of_single_rows(forgetting):
    models = [
        in_shares(IncrementalRLSRegressor(forgetting=forgetting), plain, y, share)
        for share in SHARES.values()
    ]
    for model in models[1:]:
        assert_allclose(model.predict(plain[-1:]), models[0].predict(plain[-1:]), atol=1e-7)
        assert_allclose(model.prequential_error_, models[0].prequential_error_, rtol=1e-3)
    assert_allclose(models[0].predict(plain[-1:]), y[-1:], atol=0.1)
