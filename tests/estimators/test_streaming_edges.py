"""Estimators of a stream at their edges: classes that come late, budgets of one, rows at hand."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import squareone
from squareone import (
    FilteringClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.errors import IllConditionedWarning, ScaleError, SingularSystemError
from squareone.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
two = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
late = np.concatenate([two[:45], np.where(X[45:, 1] > 0, 2, two[45:])])  # a third class comes late
FORMS = ["primal", "dual", "diagonal"]
LEARN_ALL = [SecondOrderPerceptron, IncrementalRLSClassifier, SelectiveSamplingClassifier]


# --- classes that come late ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", LEARN_ALL)
def test_the_first_row_of_all_may_be_of_a_new_class(kind, form):
    model = kind(form=form, new_classes="add").start(classes=["a", "b"], n_features=3)
    model.learn_one(X[0], "c").learn_one(-X[0], "a")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_one(X[0]) == "c"
    assert model.predict_one(-X[0]) == "a"


@pytest.mark.parametrize("hypothesis", ["last", "average", "penalised"])
@pytest.mark.parametrize("form", FORMS)
def test_a_third_class_leaves_the_first_two_as_they_were(hypothesis, form):
    model = SecondOrderPerceptron(form=form, hypothesis=hypothesis, new_classes="add")
    model.partial_fit(X[:50], two[:50])
    before = model.decision_function(X)
    model.learn_one(np.zeros(3), 2)  # from which nothing can be learned
    after = model.decision_function(X)
    factor = 50 / 51 if hypothesis == "average" else 1.0  # the mean is over one round more
    last = 1 / 51 * _last(form) if hypothesis == "average" else 0.0
    np.testing.assert_allclose(after[:, 1], factor * before + last, atol=1e-12)
    np.testing.assert_allclose(after[:, 0], -after[:, 1], atol=1e-12)
    np.testing.assert_allclose(after[:, 2], 0.0, atol=1e-12)


def _last(form):
    return SecondOrderPerceptron(form=form).fit(X[:50], two[:50]).decision_function(X)


@pytest.mark.parametrize("hypothesis", ["last", "average", "penalised"])
@pytest.mark.parametrize("kind", LEARN_ALL)
def test_new_classes_count_from_their_first_row(kind, hypothesis):
    settings = {"hypothesis": hypothesis} if kind is SecondOrderPerceptron else {}
    whole, single = (
        kind(**settings, new_classes="add").partial_fit(X[:20], two[:20]) for _ in range(2)
    )
    whole.partial_fit(X[20:], late[20:])
    for x, label in zip(X[20:], late[20:], strict=True):
        single.learn_one(x, label)
    assert whole.classes_.tolist() == single.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(whole.decision_function(X), single.decision_function(X), atol=1e-10)


def test_errors_of_a_new_class_count_all_rows():
    model = IncrementalRLSClassifier(new_classes="add").partial_fit(X[:20], two[:20])
    model.partial_fit(X[20:], late[20:])
    known = IncrementalRLSClassifier().partial_fit(X, late, classes=[0, 1, 2])
    np.testing.assert_allclose(model.prequential_error_, known.prequential_error_, rtol=1e-10)


def test_a_stream_with_a_new_class_is_saved(tmp_path):
    for kind in LEARN_ALL:
        model = kind(new_classes="add").partial_fit(X[:20], two[:20]).partial_fit(X[20:], late[20:])
        squareone.save(model, tmp_path / "model")
        again = squareone.load(tmp_path / "model").partial_fit(X, late)
        model.partial_fit(X, late)
        assert np.array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("label", [np.nan, None, "text"])
@pytest.mark.parametrize("kind", LEARN_ALL)
def test_what_cannot_be_a_class_is_not_added(kind, label):
    model = kind(new_classes="add").partial_fit(X, two)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=r"missing label|mixes labels"):
        model.learn_one(X[0], label)
    with pytest.raises(ValueError, match=r"missing label|mixes labels|NaN"):
        model.partial_fit(X[:2], np.array([0, label], dtype=object))
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.decision_function(X), before)


# --- budgets ---


@pytest.mark.parametrize("rule", ["smallest", "oldest"])
@pytest.mark.parametrize("kind", LEARN_ALL)
def test_a_budget_of_one_keeps_one_point_of_a_column(kind, rule):
    settings = {"kernel": Gaussian(1.0), "alpha": 0.5, "budget": 1, "budget_rule": rule}
    if kind is IncrementalRLSClassifier:
        settings["fit_intercept"] = False
    model = kind(**settings).fit(X, late)
    kept = np.count_nonzero(model.dual_coef_, axis=1)
    assert kept.tolist() == [1, 1, 1]
    # regularised least squares on a single row with k(x, x) = 1
    np.testing.assert_allclose(np.abs(model.dual_coef_).max(axis=1), 1 / 1.5)


def test_rows_that_were_refused_do_not_count():
    model = IncrementalRLSRegressor(alpha=1e-18, kernel=Gaussian(3.0))
    with pytest.warns(IllConditionedWarning, match="digits are lost"):
        model.partial_fit(X[:2], two[:2])
    before = model.predict(X)
    with pytest.raises(SingularSystemError, match="a larger one"):
        model.partial_fit(np.vstack([X, X]), np.append(two, two))
    assert np.array_equal(model.predict(X), before)
    far = model.learn_one([50.0, 50.0, 50.0], 1.0)
    assert far.support_.tolist() == [0, 1, 2]


# --- one row at a time ---


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [*LEARN_ALL, IncrementalRLSRegressor])
def test_a_row_out_of_scale_changes_nothing(kind, sparse):
    model = kind().partial_fit(X, two)
    before = model.predict(X)
    huge = np.array([1e200, 1.0, 0.0])
    with pytest.raises(ScaleError, match="too large"):
        model.learn_one(csr_matrix(huge[None]) if sparse else huge, 0)
    assert np.array_equal(model.predict(X), before)
    assert np.isfinite(model.learn_one(X[0], 1).predict(X)).all()


@pytest.mark.parametrize("parameters", [{"n_features": 0}, {"n_features": 2.5}, {"n_targets": 0}])
def test_a_regression_starts_with_whole_numbers(parameters):
    with pytest.raises(ValueError, match="whole number"):
        IncrementalRLSRegressor().start(**{"n_features": 3, **parameters})


# --- labels that are not known ---


@pytest.mark.parametrize("unseen", [-1, np.nan, None])
def test_labels_of_what_was_not_accepted_are_not_looked_at(unseen):
    model, other = (FilteringClassifier().fit(X, two) for _ in range(2))
    accepted = np.arange(10) % 3 == 0
    y = two[:10].astype(object)
    y[~accepted] = unseen
    model.feedback(X[:10], y if unseen is None else y.astype(float), accepted)
    other.feedback(X[:10][accepted], two[:10][accepted])
    assert np.array_equal(model.coef_, other.coef_)
    model.feedback(X[:10], y, np.zeros(10, bool))
    assert np.array_equal(model.coef_, other.coef_)


def test_unknown_labels_of_an_indicator_are_not_looked_at():
    Y = np.column_stack([two, X[:, 2] > 0]).astype(float)
    given = rng.random(Y.shape) < 0.5
    model, other = (SelectiveSamplingClassifier().fit(X, Y) for _ in range(2))
    model.partial_fit(X, np.where(given, Y, np.nan), given=given)
    other.partial_fit(X, Y, given=given)
    assert np.array_equal(model.coef_, other.coef_)


def test_what_is_refused_adds_no_class():
    model = SelectiveSamplingClassifier(new_classes="add").partial_fit(X, two)
    with pytest.raises(ValueError, match="truth values"):
        model.partial_fit(X, late, given=np.ones(3, bool))
    assert model.classes_.tolist() == [0, 1]
    fresh = SelectiveSamplingClassifier()
    with pytest.raises(ValueError, match="truth values"):
        fresh.partial_fit(X, two, given=np.ones(3, bool))
    assert not hasattr(fresh, "kernel_")


# --- bounds ---


@pytest.mark.parametrize("kernel", ["linear", Gaussian(1.0)])
def test_bounds_do_not_depend_on_the_order_of_the_rows_they_are_given(kernel):
    shuffled = SecondOrderPerceptron(form="dual", kernel=kernel, shuffle=True).fit(X, two)
    order = np.random.RandomState(0).permutation(60)
    sorted_ = SecondOrderPerceptron(form="dual", kernel=kernel).fit(X[order], two[order])
    u = rng.standard_normal(3 if kernel == "linear" else 60)
    expected = sorted_.mistake_bound(X[order], two[order], u if kernel == "linear" else u[order])
    assert shuffled.mistake_bound(X, two, u).value == pytest.approx(expected.value, rel=1e-9)


def test_bounds_of_labels_that_came_later():
    model = SelectiveSamplingClassifier(strategy="randomized", b=1.0, form="dual", normalise=False)
    model.partial_fit(X[:2], [0, 1], classes=[0, 1])
    wanted = model.query(X)
    model.partial_fit(X[wanted], two[wanted])
    S = model.support_vectors_
    rows, labels = np.vstack([X[:2], X]), np.append([0, 1], two)
    bound = model.mistake_bound(rows, labels, np.ones(3), 1.0)
    assert bound.energy == pytest.approx(3.0 + np.square(S @ np.ones(3)).sum())


def test_the_bound_of_sampling_is_not_for_many_classes():
    model = SelectiveSamplingClassifier(strategy="randomized", b=1.0).fit(X, late)
    with pytest.raises(ValueError, match="two classes"):
        model.mistake_bound(X, late, np.ones(3))


def test_the_randomised_rule_looks_at_rows_as_they_are():
    # scaled rows with a scaled ridge have the same margins and spreads, and the same is asked
    settings = {"b": 0.3, "normalise": False}
    model = SelectiveSamplingClassifier(strategy="randomized", alpha=1.0, **settings).fit(X, two)
    other = SelectiveSamplingClassifier(strategy="randomized", alpha=49.0, **settings).fit(
        7.0 * X, two
    )
    assert np.array_equal(model.queried_, other.queried_)
    assert 0 < model.label_rate_ < 1


# --- labels that are there from the start ---


def test_labels_from_the_start_count_as_seen():
    model = SelectiveSamplingClassifier(k=4.0).partial_fit(X[:30], two[:30])
    assert (model.n_rounds_, model.n_labels_) == (30, 30)
    lengths = np.linalg.norm(X[30:], axis=1)
    margins = X[30:] / lengths[:, None] @ model.coef_[0]
    threshold = np.sqrt(4.0 * np.log(np.arange(31, 61)) / 30)
    assert np.array_equal(model.query(X[30:]), np.abs(margins) <= threshold)
    assert model.n_rounds_ == 60


def test_answers_are_not_seen_again():
    model = SelectiveSamplingClassifier(k=100.0).start([0, 1], 3)
    wanted = model.query(X[:20])
    assert wanted.all()
    model.partial_fit(X[:15], two[:15])  # answers
    assert (model.n_rounds_, model.n_labels_) == (20, 15)
    model.partial_fit(X[15:30], two[15:30])  # five answers, and ten that nobody asked for
    assert (model.n_rounds_, model.n_labels_) == (30, 30)
    model.learn_one(X[30], two[30])
    assert model.n_rounds_ == 31


def test_a_filter_counts_what_it_was_told_unasked():
    model = FilteringClassifier().start([0, 1], 3).feedback(X[:10], two[:10])
    assert model.n_rounds_ == 10
    accepted = model.decide(X[10:20])
    model.feedback(X[10:20], two[10:20], accepted)
    assert model.n_rounds_ == 20


def test_the_share_of_labels_is_known_after_asking(tmp_path):
    model = SelectiveSamplingClassifier(k=0.1).partial_fit(X[:10], two[:10])
    assert not hasattr(model, "label_rate_")
    with pytest.raises(AttributeError, match="after query or fit"):
        _ = model.label_rate_
    asked = np.concatenate([model.query(X[10:30]), model.query(X[30:])])
    assert model.label_rate_ == asked.mean()
    model.save(tmp_path / "model")
    assert squareone.load(tmp_path / "model").label_rate_ == asked.mean()
    simulated = SelectiveSamplingClassifier(k=0.1).fit(X, two)
    assert simulated.label_rate_ == simulated.queried_.mean()
    Y = np.column_stack([two, 1 - two])
    labels = SelectiveSamplingClassifier(k=0.1).start([0, 1], 3)
    labels = SelectiveSamplingClassifier(k=0.1).fit(X, Y)
    assert labels.label_rate_ == labels.queried_.mean()
