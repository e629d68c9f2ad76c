"""Laws of learning from a stream: every form, any mini-batches, copies in mid-stream."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

import squareone
from squareone import (
    FilteringClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian, Linear
from squareone.online import Deterministic, PrimalLearners, Randomised, Sampler
from squareone.online.query_rules import Seen
from squareone.online.square_root import ridge_period
from tests.reference import online as reference
from tests.reference.fifty_digits import ridge_coefficients

FORMS = ["primal", "dual", "diagonal"]
EXACT = ["primal", "dual"]


def rows(n=150, d=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d))
    scores = X @ rng.standard_normal((d, classes)) + 0.3 * rng.standard_normal((n, classes))
    return X, np.argmax(scores, axis=1)


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


ESTIMATORS = {
    "perceptron": SecondOrderPerceptron(),
    "perceptron of several ridges": SecondOrderPerceptron(alpha=[0.1, 1.0, 10.0]),
    "average": SecondOrderPerceptron(hypothesis="average"),
    "penalised": SecondOrderPerceptron(hypothesis="penalised"),
    "intercept": SecondOrderPerceptron(fit_intercept=True),
    "incremental": IncrementalRLSClassifier(),
    "incremental, classes to come": IncrementalRLSClassifier(new_classes="add"),
    "deterministic": SelectiveSamplingClassifier(k=0.5),
    "deterministic, rarer": SelectiveSamplingClassifier(k=0.5, count="rarer"),
    "randomised": SelectiveSamplingClassifier(strategy="randomized", b=0.3, random_state=3),
    "self-tuning": SelectiveSamplingClassifier(strategy="randomized"),
    "filter": FilteringClassifier(k=0.5),
}


def decisions(model, X):
    return model.decision_function(X)


def learn(model, X, y, sizes, classes):
    """Go through rows in pieces, as whoever asks for labels would."""
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        if isinstance(model, FilteringClassifier | SelectiveSamplingClassifier):
            if start == 0 and not hasattr(model, "_record"):
                model.start(classes, X.shape[1])
            for i in range(start, start + size):
                ask = model.decide if isinstance(model, FilteringClassifier) else model.query
                wanted = ask(X[i : i + 1])
                if isinstance(model, FilteringClassifier):
                    model.feedback(X[i : i + 1], y[i : i + 1], wanted)
                elif wanted[0]:
                    model.partial_fit(X[i : i + 1], y[i : i + 1])
        else:
            model.partial_fit(X[part], y[part], classes=classes if start == 0 else None)
        start += size
    return model


# --- every form against the reference ---


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("a", [1e-3, 1.0, 1e3])
def test_second_order_perceptron_is_its_definition(form, a):
    X, y = rows()
    run = reference.second_order_perceptron(X, signs(y), a)
    model = SecondOrderPerceptron(alpha=a, form=form).fit(X, y)
    np.testing.assert_allclose(model.online_decisions_, run.margins, atol=1e-9)
    np.testing.assert_allclose(model.coef_[0], run.hypotheses[-1], atol=1e-9)
    assert model.mistakes_ == np.count_nonzero(run.mistakes)
    assert model.updates_[0] == np.count_nonzero(run.learned)


def test_kernel_form_is_its_definition():
    X, y = rows()
    kernel = Gaussian(1.3)
    margins, _, coefficients = reference.second_order_perceptron_dual(kernel(X), signs(y), 0.7)
    model = SecondOrderPerceptron(alpha=0.7, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(model.online_decisions_, margins, atol=1e-10)
    whole = np.zeros(X.shape[0])
    whole[model.support_] = model.dual_coef_
    np.testing.assert_allclose(whole, coefficients[-1], atol=1e-10)


def test_the_diagonal_form_is_exact_where_features_do_not_overlap():
    X = np.kron(np.arange(1, 6)[:, None], np.eye(4))
    y = np.arange(20) % 2
    exact = SecondOrderPerceptron(form="primal").fit(X, y)
    diagonal = SecondOrderPerceptron(form="diagonal").fit(X, y)
    np.testing.assert_allclose(diagonal.coef_, exact.coef_, atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.5)])
@pytest.mark.parametrize("form", EXACT)
def test_learning_every_row_is_the_batch_solution(kernel, form):
    if form == "primal" and not isinstance(kernel, Linear):
        pytest.skip("a matrix of the features is for the linear kernel")
    X, y = rows(classes=3)
    online = IncrementalRLSClassifier(alpha=0.3, kernel=kernel, form=form, fit_intercept=False)
    batch = RLSClassifier(kernel, alpha=0.3, fit_intercept=False).fit(X, y)
    expected = decisions(batch, X)
    np.testing.assert_allclose(decisions(online.fit(X, y), X), expected, atol=1e-10)
    online = IncrementalRLSRegressor(alpha=0.3, kernel=kernel, form=form)
    batch = RLSRegressor(kernel + 1.0, alpha=0.3, fit_intercept=False).fit(X, X[:, :2])
    expected = batch.predict(X)
    np.testing.assert_allclose(online.fit(X, X[:, :2]).predict(X), expected, atol=1e-9)


@pytest.mark.parametrize("form", EXACT)
def test_prequential_errors_are_those_of_refits(form):
    X, y = rows(80)
    Y = np.column_stack([X[:, 0] + 1.0, signs(y)])
    _, residuals = reference.incremental_rls(X, Y, 0.5)
    model = IncrementalRLSRegressor(alpha=0.5, form=form, fit_intercept=False).fit(X, Y)
    expected = np.square(residuals).mean(axis=0)
    np.testing.assert_allclose(model.prequential_error_, expected, rtol=1e-10)


@pytest.mark.parametrize("forgetting", [0.001, 0.5, 0.9, 0.99])
def test_forgetting_is_a_weighted_fit_with_the_ridge_that_is_stated(forgetting):
    X, y = rows(250)
    model = IncrementalRLSRegressor(alpha=2.0, forgetting=forgetting, fit_intercept=False)
    model.fit(X, X[:, 0] + y)
    weights = forgetting ** np.arange(249, -1, -1.0)
    faded = 2.0 * forgetting ** (250 % ridge_period(forgetting))
    expected, _ = ridge_coefficients(X, X[:, 0] + y, faded, weights)
    # with 0.001 the sixth row counts 10⁻¹⁵: digits of the weights of rows, not of the recursion
    tolerance = 1e-7 if forgetting < 0.1 else 1e-12
    np.testing.assert_allclose(model.coef_, expected, atol=tolerance)


def test_with_the_row_itself_a_margin_is_divided_by_one_plus_its_spread():
    X, y = rows(40)
    learners = PrimalLearners(6, 1, 0.7, shared=True)
    learners.block(X)
    for i in range(39):
        learners.learn(i, 0, signs(y)[i : i + 1])
    p, r = learners.margins(39)[0], learners.spreads(39)[0]
    A = 0.7 * np.eye(6) + X.T @ X  # the last row is in it
    v = X[:39].T @ signs(y)[:39]
    np.testing.assert_allclose(v @ np.linalg.solve(A, X[39]), p / (1.0 + r), rtol=1e-12)


# --- selective sampling and filtering ---


@pytest.mark.parametrize("form", EXACT)
def test_randomised_sampling_is_its_definition(form):
    X, y = rows()
    model = SelectiveSamplingClassifier(
        strategy="randomized", alpha=0.5, b=0.2, normalise=False, form=form, random_state=5
    ).fit(X, y)
    rule = model._record.engine.rule
    assert isinstance(rule, Randomised)
    # the rule compares with margins of unit length: rows of that length have no other
    X = reference.of_length_one(X)
    model.fit(X, y)
    draws = np.array([rule._draws(t, 1)[0] for t in range(1, X.shape[0] + 1)])
    run = reference.randomised_sampling(X, signs(y), 0.5, 0.2, draws)
    assert np.array_equal(model.queried_, run.asked)
    np.testing.assert_allclose(model.online_decisions_, run.margins, atol=1e-9)
    assert 0 < model.label_rate_ < 1


def test_the_margin_without_the_row_is_larger_and_asks_less():
    rates = {}
    X, y = rows(400)
    for margin in ("with_row", "without_row"):
        model = SelectiveSamplingClassifier(strategy="randomized", alpha=0.1, b=0.2, margin=margin)
        rates[margin] = model.fit(X, y).label_rate_
    assert rates["without_row"] < rates["with_row"]
    p, r = np.array([0.4]), np.array([0.5])
    none = np.zeros(1)
    seen = Seen(p, lambda: r, 1, none, none, none, none, none)
    rule = Randomised(0.1, 0, with_row=False)
    for draw, asks in ((0.1 / (0.1 + 0.4 + 0.5 * 0.16 * 1.5) - 1e-9, True), (0.17, False)):
        rule._draws = lambda number, size, draw=draw: np.array([draw])
        assert rule.asks(seen)[0] == asks


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("k", [0.1, 4.0])
def test_a_filter_is_its_definition(form, k):
    X, y = rows()
    run = reference.filtering(X, signs(y), 0.5, k)
    model = FilteringClassifier(alpha=0.5, k=k, form=form).fit(X, y)
    assert np.array_equal(model.accepted_, run.asked)
    hits, accepted = np.count_nonzero(run.asked & (y == 1)), np.count_nonzero(run.asked)
    assert model.history_["f_measure"][-1] == 2 * hits / (accepted + np.count_nonzero(y == 1))
    assert model.history_["utility"][-1] == 2 * hits - (accepted - hits)


def test_two_classes_are_two_of_several():
    """Half the difference of two margins, p and −p, is p."""
    X, y = rows()
    X, Y = reference.of_length_one(X), np.column_stack([-signs(y), signs(y)])
    one = Sampler(PrimalLearners(6, 1, 0.5, shared=True), Deterministic(0.3), exclusive=False)
    two = Sampler(PrimalLearners(6, 2, 0.5, shared=True), Deterministic(0.3), exclusive=True)
    asked = one.simulate(X, Y[:, 1:])[1]
    assert 0 < asked.mean() < 1
    assert np.array_equal(two.simulate(X, Y)[1], asked)


# --- hypotheses and bounds ---


@pytest.mark.parametrize("form", EXACT)
def test_average_and_penalised_hypotheses_are_their_definitions(form):
    X, y = rows(120)
    run = reference.second_order_perceptron(X, signs(y), 1.0)
    average = SecondOrderPerceptron(form=form, hypothesis="average").fit(X, y)
    np.testing.assert_allclose(average.coef_[0], run.hypotheses[:-1].mean(axis=0), atol=1e-10)
    risks = reference.penalised_errors(X, signs(y), run.hypotheses, 0.1)
    chosen = SecondOrderPerceptron(form=form, hypothesis="penalised", delta=0.1).fit(X, y)
    expected = run.hypotheses[int(np.argmin(risks))]
    np.testing.assert_allclose(chosen.coef_[0], expected, atol=1e-10)


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_terms_of_the_bounds_are_their_definitions(form, gamma):
    X, y = rows()
    u = np.array([1.0, -0.5, 0.2, 0.0, 0.1, 0.0])
    run = reference.second_order_perceptron(X, signs(y), 0.5)
    terms = reference.terms(X, signs(y), run.learned, u, gamma, 0.5)
    model = SecondOrderPerceptron(alpha=0.5, form=form).fit(X, y)
    bound = model.mistake_bound(X, y, u, gamma)
    np.testing.assert_allclose(bound.value, reference.mistake_bound(terms, gamma), rtol=1e-10)
    np.testing.assert_allclose(bound.hinge, terms.hinge, rtol=1e-12)
    np.testing.assert_allclose(bound.energy, terms.norm + terms.along, rtol=1e-10)
    np.testing.assert_allclose(bound.log_determinant, terms.log_determinant, rtol=1e-10)
    best = model.mistake_bound(X, y, u).value
    grid = [model.mistake_bound(X, y, u, g).value for g in np.geomspace(1e-3, 1e2, 200)]
    assert best <= min(grid) * (1 + 1e-12)
    assert model.updates_[0] <= best


def test_a_kernel_with_the_linear_one_has_the_same_bound():
    X, y = rows(60)
    weights = np.random.default_rng(1).standard_normal(60)
    linear = SecondOrderPerceptron(alpha=0.5).fit(X, y).mistake_bound(X, y, X.T @ weights, 0.7)
    kernel = SecondOrderPerceptron(alpha=0.5, kernel=1.0 * Linear()).fit(X, y)
    assert kernel.form_ == "dual"
    np.testing.assert_allclose(
        kernel.mistake_bound(X, y, weights, 0.7).value, linear.value, rtol=1e-9
    )


def test_several_ridges_are_as_many_runs():
    X, y = rows(classes=3)
    several = SecondOrderPerceptron(alpha=[0.01, 1.0, 100.0]).fit(X, y)
    alone = [SecondOrderPerceptron(alpha=a).fit(X, y) for a in (0.01, 1.0, 100.0)]
    mistakes = [model.mistakes_ for model in alone]
    assert several.path_["mistakes"].tolist() == mistakes
    best = alone[int(np.argmin(mistakes))]
    assert several.alpha_ == best.alpha
    assert np.array_equal(several.coef_, best.coef_)


# --- mini-batches, copies, memory ---


@pytest.mark.costly
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", FORMS)
def test_any_mini_batches_are_one_by_one(name, form):
    X, y = rows(97)
    model = clone(ESTIMATORS[name]).set_params(form=form)
    one = learn(clone(model), X, y, [1] * 97, [0, 1])
    some = learn(clone(model), X, y, [1, 40, 3, 53], [0, 1])
    np.testing.assert_allclose(decisions(some, X), decisions(one, X), atol=1e-9)
    sparse = learn(clone(model), csr_matrix(X), y, [50, 47], [0, 1])
    np.testing.assert_allclose(decisions(sparse, X), decisions(one, X), atol=1e-9)
    if not isinstance(model, FilteringClassifier | SelectiveSamplingClassifier):
        fast = clone(model).start([0, 1], 6)
        for x, label in zip(X, y, strict=True):
            fast.learn_one(x, label)
        np.testing.assert_allclose(decisions(fast, X), decisions(one, X), atol=1e-9)
    predicted = [one.predict_one(x) for x in X]
    assert predicted == one.predict(X).tolist()


@pytest.mark.costly
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", FORMS)
def test_copies_in_mid_stream_go_on_to_the_same_state(name, form, tmp_path):
    X, y = rows(120)
    model = learn(clone(ESTIMATORS[name]).set_params(form=form), X, y, [70], [0, 1])
    path = tmp_path / "stream.safetensors"
    model.save(path)
    copies = [pickle.loads(pickle.dumps(model)), deepcopy(model), squareone.load(path)]
    assert not hasattr(clone(model), "n_features_in_")

    def rest(each):
        return learn(each, X[70:], y[70:], [20, 30], None)

    expected = decisions(rest(model), X)
    for copy in copies:
        assert np.array_equal(decisions(rest(copy), X), expected)
        assert copy.n_rounds_ == model.n_rounds_


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_not_kept_but_copied(form):
    X, y = rows()
    mine = X.copy()
    model = SecondOrderPerceptron(form=form).partial_fit(mine, y)
    before = decisions(model, X)
    mine[:] = 1e6
    assert np.array_equal(decisions(model, X), before)
    row = X[0].copy()
    model.learn_one(row, 1 - model.predict_one(row))
    before = decisions(model, X)
    row[:] = 1e6
    assert np.array_equal(decisions(model, X), before)
    frozen = X.copy()
    frozen.flags.writeable = False
    model.partial_fit(frozen, y)


@pytest.mark.parametrize("rule", ["smallest", "oldest"])
def test_a_budget_bounds_the_support_points(rule):
    X, y = rows(400, classes=3)
    model = SecondOrderPerceptron(kernel=Gaussian(0.5), budget=7, budget_rule=rule)
    model.fit(X, y)
    assert (np.count_nonzero(model.dual_coef_, axis=1) <= 7).all()
    assert model.support_vectors_.shape[0] <= 21
    assert (model.updates_ > 7).any()
    # what is left of a column is regularised least squares on its points
    for column in range(3):
        factor = model._record.engine.best.learners._factors[column]
        S = model.support_vectors_[factor.members]
        K = model.kernel_(S) + np.eye(factor.size)
        expected = np.linalg.solve(K, factor.targets[:, 0])
        np.testing.assert_allclose(model.dual_coef_[column, factor.members], expected, atol=1e-9)


@pytest.mark.parametrize("form", ["primal", "diagonal"])
def test_memory_does_not_grow_with_the_stream(form):
    X, y = rows(3000)
    model = SecondOrderPerceptron(form=form).partial_fit(X[:2000], y[:2000])
    size = len(pickle.dumps(model))
    model.partial_fit(X[2000:], y[2000:])
    assert len(pickle.dumps(model)) < 1.2 * size + 20_000


def test_a_class_that_comes_later_is_as_if_it_had_been_known():
    X, y = rows(200, classes=4)
    first = y < 2
    order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
    X, y = X[order], y[order]
    known = IncrementalRLSClassifier().partial_fit(X, y, classes=[0, 1, 2, 3])
    added = IncrementalRLSClassifier(new_classes="add").partial_fit(X[:20], y[:20])
    added.partial_fit(X[20:], y[20:])
    assert added.classes_.tolist() == [0, 1, 2, 3] or sorted(added.classes_) == [0, 1, 2, 3]
    places = np.argsort(added.classes_)
    np.testing.assert_allclose(added.coef_[places], known.coef_, atol=1e-9)


def drift(updates, one_by_one):
    rng = np.random.default_rng(0)
    d = 8
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(1, 1e-3, d)
    learners = PrimalLearners(d, 1, 1e-3, shared=True)
    A, v = 1e-3 * np.eye(d), np.zeros(d)
    for _ in range(updates // 1000):
        X = rng.standard_normal((1000, d)) @ Q
        y = np.sign(X[:, :1] + 0.1 * rng.standard_normal((1000, 1)))
        learners.block(X)
        if one_by_one:
            for i in range(1000):
                learners.learn(i, 0, y[i])
        else:
            learners.learn_rows(y)
        A += X.T @ X
        v += X.T @ y[:, 0]
    exact = np.linalg.solve(A, v)
    return np.linalg.norm(learners.weights()[:, 0] - exact) / np.linalg.norm(exact)


@pytest.mark.thorough
def test_a_million_updates_in_blocks_lose_nothing():
    assert drift(1_000_000, one_by_one=False) < 1e-9


@pytest.mark.slow
def test_a_million_updates_one_by_one_lose_nothing():
    assert drift(1_000_000, one_by_one=True) < 1e-9
