"""predict_proba, thresholds and bounds of the classifier."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss,
    make_scorer,
    roc_auc_score,
)

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from tests.estimators.data import X, refused, two
from tests.reference import bounds

FLOWERS, iris = load_iris(return_X_y=True)
PAGES, many = make_multilabel_classification(120, n_features=6, n_classes=4, random_state=0)
CALIBRATIONS = ["temperature", "platt", "isotonic", "linear"]


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_of_classes(calibration, dtype):
    for rows, target in ((X, two), (FLOWERS, iris)):
        model = RLSClassifier(calibration=calibration).fit(rows.astype(dtype), target)
        p = model.predict_proba(rows.astype(dtype))
        assert p.shape == (len(rows), len(model.classes_))
        assert p.dtype == np.float64
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
        assert (p >= 0).all()
        logs = model.predict_log_proba(rows.astype(dtype))
        assert_allclose(np.exp(logs), p, rtol=1e-5)
        if calibration == "temperature":
            assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows.astype(dtype)))


def test_probabilities_of_labels():
    model = RLSClassifier().fit(PAGES, many)
    p = model.predict_proba(PAGES)
    assert p.shape == many.shape
    assert_array_equal(p > 0.5, model.predict(PAGES) == 1)


def test_leave_one_out_probabilities_are_calibrated_and_say_what_the_loss_will_be():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4000, 2))
    truth = rng.uniform(size=4000) < 1 / (1 + np.exp(-3 * rows[:, 0]))
    model = RLSClassifier(Gaussian(3.0)).fit(rows[:1500], truth[:1500])
    p = model.loo_probabilities_[:, 1]
    bins = np.array_split(np.argsort(p), 5)
    gaps = [abs(p[bin_].mean() - truth[:1500][bin_].mean()) for bin_ in bins]
    assert max(gaps) < 0.06  # a share of 300 rows has a standard error of 0.03
    expected = log_loss(truth[:1500], model.loo_probabilities_)
    assert log_loss(truth[1500:], model.predict_proba(rows[1500:])) == pytest.approx(
        expected, abs=0.03
    )


def test_no_calibration_no_probabilities():
    model = RLSClassifier(calibration=None).fit(X, two)
    assert not hasattr(model, "predict_proba")
    with refused(AttributeError, "predict_proba"):
        model.predict_proba(X)
    with refused(AttributeError, "calibration=None"):
        _ = model.calibration_


def test_a_given_lambda_is_calibrated_later(monkeypatch):
    """With many rows the leave-one-out values of one λ wait until somebody asks."""
    expected = RLSClassifier(Gaussian(2.0), 1.0).fit(X, two).predict_proba(X)
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model = RLSClassifier(Gaussian(2.0), 1.0).fit(X, two)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_what_keeps_no_rows_is_calibrated_at_once(kernel, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    rows = X @ X.T if kernel == "precomputed" else X
    model = RLSClassifier(kernel, 1.0, keep_factor=False, threshold="f1").fit(rows, two)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_weights_count_in_the_calibration():
    """Rows of weight zero take no part; rows of larger weight make their class more probable."""
    weights = np.ones(len(two))
    weights[::7] = 0.0
    kept = weights > 0
    kernel = Gaussian(2.0)
    some = RLSClassifier(kernel, 1.0).fit(X[kept], two[kept]).predict_proba(X)
    assert_allclose(
        RLSClassifier(kernel, 1.0).fit(X, two, weights).predict_proba(X), some, rtol=1e-9
    )
    heavy = np.where(two == np.unique(two)[1], 10.0, 1.0)
    model = RLSClassifier(kernel, 1.0)
    plain = model.fit(X, two).predict_proba(X)[:, 1].mean()
    assert model.fit(X, two, heavy).predict_proba(X)[:, 1].mean() > plain + 0.1


# --- the order of probabilities is that of the decision values ---


def weak_signal(seed, n=200):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 10))
    return rows, (0.3 * rows[:, 0] + rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_rows_are_ranked_alike_by_probabilities_and_by_decision_values(calibration):
    """With a weak signal λ is large, and a row's own label moves the intercept more than all else.

    Four of these twelve sets were once turned round by ``"platt"``.
    """
    for seed in range(12):
        rows, target = weak_signal(seed)
        fresh, truth = weak_signal(100 + seed, 1000)
        model = RLSClassifier("linear", calibration=calibration).fit(rows, target)
        by_value = roc_auc_score(truth, model.decision_function(fresh))
        by_probability = roc_auc_score(truth, model.predict_proba(fresh)[:, 1])
        assert by_value > 0.53
        assert by_probability == by_value


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(
    ("dtype", "alpha"),
    [
        *((np.float64, alpha) for alpha in (1e-8, 1e-2, 1e2, 1e6, 1e10)),
        *((np.float32, alpha) for alpha in (1e-2, 1e2, 1e6, 1e10)),
    ],
)
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_are_ranked_alike_at_any_lambda(calibration, dtype, alpha, intercept):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3)).astype(dtype)
    target = (rows[:, 0] + rng.standard_normal(60) > 1.0).astype(int)  # one class is rare
    fresh = rng.standard_normal((500, 3)).astype(dtype)
    truth = fresh[:, 0] + rng.standard_normal(500) > 1.0
    model = RLSClassifier(
        Gaussian(2.0), alpha, calibration=calibration, fit_intercept=intercept, solver="spectral"
    ).fit(rows, target)
    values, p = model.decision_function(fresh), model.predict_proba(fresh)[:, 1]
    assert roc_auc_score(truth, p) == roc_auc_score(truth, values)
    assert_array_equal(np.argsort(p, kind="stable"), np.argsort(values, kind="stable"))


def test_labels_are_ranked_alike():
    model = RLSClassifier("linear", 1e4, calibration="platt").fit(PAGES, many)
    values, p = model.decision_function(PAGES), model.predict_proba(PAGES)
    for j in range(many.shape[1]):
        assert_array_equal(np.argsort(p[:, j]), np.argsort(values[:, j]))


def test_probabilities_of_a_model_that_knows_nothing_are_the_frequencies():
    """The calibration sees values that do not lean against the classes they belong to."""
    rng = np.random.default_rng(1)
    rows, target = rng.standard_normal((200, 10)), rng.random(200) < 0.3
    for calibration in CALIBRATIONS:
        model = RLSClassifier("linear", 1e5, calibration=calibration).fit(rows, target)
        # steps of an isotonic function are shares of the few rows that are on them
        near = 0.05 if calibration == "isotonic" else 0.02
        assert_allclose(model.predict_proba(rows)[:, 1], target.mean(), atol=near)


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("target", [two, "labels", "bch"])
def test_left_out_values_to_compare_have_an_intercept_of_all_rows(target, weights):
    """By refits: the function without a row, moved until its mean residual at all rows is zero."""
    coding = "bch" if isinstance(target, str) and target == "bch" else "one_vs_all"
    rows, y = (FLOWERS[::3], iris[::3]) if coding == "bch" else (X, target)
    if isinstance(target, str) and target == "labels":
        rows, y = PAGES[:40], many[:40]
    w = np.ones(len(rows))
    if weights is not None:
        w = np.random.default_rng(2).uniform(0.2, 3.0, len(rows))
    kernel = Gaussian(3.0)
    model = RLSClassifier(kernel, 2.0, coding=coding).fit(rows, y, w)
    columns = model._record.columns
    expected = np.empty((len(rows), columns.shape[1]))
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        fit = RLSRegressor(kernel, 2.0).fit(rows[others], columns[others], w[others])
        values = fit.predict(rows).reshape(columns.shape)
        expected[i] = values[i] + np.average(columns - values, axis=0, weights=w)
    shaped = model._record.targets.shaped(expected)
    assert_allclose(model.loo_decision_values_, shaped, rtol=1e-7, atol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.loo_decision_values_, model.loo_decision_values_)


def test_without_an_intercept_left_out_values_are_those_to_compare():
    model = RLSClassifier(Gaussian(2.0), 1.0, fit_intercept=False).fit(X, two)
    assert_array_equal(model.loo_decision_values_, model.loo_predictions_)


@pytest.mark.thorough
def test_left_out_values_of_labels_dealt_at_random_lean_to_no_side():
    """Over many deals the mean of the values given the class is the same for both classes."""
    rng = np.random.default_rng(3)
    rows, y = rng.standard_normal((30, 4)), np.arange(30) % 3 == 0
    plain, comparable = [], []
    for _ in range(400):
        dealt = rng.permutation(y)
        model = RLSClassifier("linear", 10.0, calibration=None).fit(rows, dealt)
        for values, found in (
            (model.loo_predictions_, plain),
            (model.loo_decision_values_, comparable),
        ):
            found.append(values[dealt].mean() - values[~dealt].mean())
    error = np.std(comparable) / np.sqrt(len(comparable))
    assert abs(np.mean(comparable)) < 3 * error
    assert np.mean(plain) < -0.05


# --- classes of different weight ---


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 50.0}])
def test_class_weights_do_not_change_frequencies(calibration, class_weight):
    """A class of five per cent has probabilities of five per cent on average, in every bin."""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((4000, 2))
    truth = (rng.random(4000) < 1 / (1 + np.exp(4.0 - 1.5 * rows[:, 0]))).astype(int)
    model = RLSClassifier(Gaussian(3.0), 1.0, calibration=calibration, class_weight=class_weight)
    p = model.fit(rows[:1500], truth[:1500]).predict_proba(rows[1500:])[:, 1]
    share = truth[1500:].mean()
    assert 0.03 < share < 0.07
    assert p.mean() == pytest.approx(share, abs=0.015)  # standard errors: 0.005 of either share
    above = np.argsort(p)[-500:]
    assert p[above].mean() == pytest.approx(truth[1500:][above].mean(), abs=0.05)
    assert model.predict(rows).mean() > 3 * share  # weights steer the predicted class


def test_class_weights_of_several_classes_do_not_change_frequencies():
    rng = np.random.default_rng(5)
    target = rng.choice(3, 3000, p=[0.85, 0.1, 0.05])
    rows = rng.standard_normal((3000, 2)) + np.array([[0, 0], [1.5, 0], [0, 1.5]])[target]
    shares = np.bincount(target[:700]) / 700
    for coding in ("one_vs_all", "one_vs_one"):
        for calibration in CALIBRATIONS[: 4 if coding == "one_vs_all" else 3]:
            model = RLSClassifier(
                Gaussian(3.0), 1.0, calibration=calibration, class_weight="balanced", coding=coding
            ).fit(rows[:700], target[:700])
            p = model.predict_proba(rows[700:])
            assert_allclose(p.mean(axis=0), shares, atol=0.03)
            assert model._record.user_weights == pytest.approx(1.0)


def test_class_and_sample_weights_together():
    """Sample weights count in probabilities, and class weights do not."""
    weights = np.random.default_rng(6).uniform(0.5, 2.0, len(X))
    weights[:3] = 0.0
    model = RLSClassifier(Gaussian(2.0), 1.0, class_weight="balanced").fit(X, two, weights)
    assert_allclose(model._record.user_weights, weights[3:], rtol=1e-12)


# --- thresholds ---


@pytest.mark.parametrize("metric", ["f1", f1_score, "balanced_accuracy", balanced_accuracy_score])
def test_the_threshold_is_the_best_on_left_out_values(metric):
    target = (np.arange(len(X)) % 5 == 0) | (X[:, 0] > 1.2)
    model = RLSClassifier(threshold=metric).fit(X, target)
    score = f1_score if metric in ("f1", f1_score) else balanced_accuracy_score
    values = model.loo_decision_values_
    cuts = np.concatenate([[values.min() - 1], np.sort(values), [0.0]])
    best = max(score(target, values > cut) for cut in cuts)
    assert score(target, values > model.threshold_) == pytest.approx(best)
    assert_array_equal(model.predict(X), model.decision_function(X) > model.threshold_)


def test_a_threshold_for_every_label():
    model = RLSClassifier(threshold="f1").fit(PAGES, many)
    assert model.threshold_.shape == (4,)
    plain = RLSClassifier().fit(PAGES, many)
    assert_array_equal(plain.threshold_, np.zeros(4))
    left_out = plain.loo_decision_values_
    for j in range(4):
        ours = f1_score(many[:, j], left_out[:, j] > model.threshold_[j])
        assert ours >= f1_score(many[:, j], left_out[:, j] > 0)
    assert_array_equal(
        model.predict(PAGES), (model.decision_function(PAGES) > model.threshold_).astype(int)
    )
    given = RLSClassifier(threshold=[0.1, 0.2, 0.3, 0.4]).fit(PAGES, many)
    assert_array_equal(given.threshold_, [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("threshold", ["f1", 0.3, None])
def test_a_threshold_as_a_probability(calibration, threshold):
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((200, 2))
    target = rows[:, 0] + rng.standard_normal(200) > 1.2
    model = RLSClassifier(Gaussian(2.0), 1.0, threshold=threshold, calibration=calibration)
    model.fit(rows, target)
    assert isinstance(model.probability_threshold_, float)
    p = model.predict_proba(rows)[:, 1]
    assert_array_equal(p > model.probability_threshold_, model.predict(rows))
    if threshold is None and calibration == "temperature":
        assert model.probability_threshold_ == 0.5


def test_thresholds_of_labels_as_probabilities():
    model = RLSClassifier(threshold="f1", calibration="platt").fit(PAGES, many)
    assert model.probability_threshold_.shape == (4,)
    p = model.predict_proba(PAGES)
    assert_array_equal((p > model.probability_threshold_).astype(int), model.predict(PAGES))


def test_a_threshold_that_is_no_probability():
    with refused(AttributeError, "3 classes", "largest value wins"):
        _ = RLSClassifier().fit(FLOWERS, iris).probability_threshold_
    with refused(AttributeError, "calibration=None"):
        _ = RLSClassifier(calibration=None).fit(X, two).probability_threshold_


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        ("roc_auc", ["roc_auc", "threshold"]),
        ("no such metric", ["no such metric"]),
        (np.nan, ["finite"]),
        ([0.1, 0.2], ["a finite number, the name of a metric"]),
        (["a"], ["a finite number"]),
        (True, ["a finite number"]),
    ],
)
def test_thresholds_that_make_no_sense(threshold, words):
    with refused(ValueError, *words):
        RLSClassifier(threshold=threshold).fit(X, two)


def test_a_function_of_two_classes_sees_their_names():
    words = np.where(X[:, 0] > 1.0, "yes", "no")
    seen = []

    def metric(true, predicted):
        seen.extend([*true, *predicted])
        return -10 * np.sum((true == "yes") & (predicted == "no")) - np.sum(true != predicted)

    model = RLSClassifier(threshold=metric).fit(X, words)
    assert set(seen) == {"yes", "no"}
    assert model.threshold_ < 0
    for same in (f1_score, make_scorer(f1_score)):
        by_name = RLSClassifier(threshold="f1").fit(X, words).threshold_
        assert RLSClassifier(threshold=same).fit(X, words).threshold_ == by_name


@pytest.mark.parametrize("threshold", ["roc_auc", [1.0, 2.0, 3.0]])
def test_a_threshold_is_refused_before_any_work(threshold, monkeypatch):
    monkeypatch.setattr("squareone.estimators.base.fit", None)
    with pytest.raises(ValueError, match="threshold"):
        RLSClassifier(threshold=threshold).fit(X, two)


def test_parameters_set_after_the_fit_change_nothing():
    model = RLSClassifier().fit(X, two)
    expected = model.predict_proba(X)
    model.set_params(calibration="platt", threshold=0.9)
    assert_array_equal(model.predict_proba(X), expected)
    late = RLSClassifier().fit(X, two).set_params(calibration="isotonic")
    assert_array_equal(late.predict_proba(X), expected)
    without = RLSClassifier(calibration=None).fit(X, two).set_params(calibration="platt")
    assert not hasattr(without, "predict_proba")


def test_no_threshold_for_several_classes():
    with refused(ValueError, "3 classes", "largest value wins"):
        RLSClassifier(threshold="f1").fit(FLOWERS, iris)
    assert not hasattr(RLSClassifier().fit(FLOWERS, iris), "threshold_")


def test_a_refused_threshold_leaves_nothing_behind():
    model = RLSClassifier(threshold="f1")
    with pytest.raises(ValueError, match="threshold"):
        model.fit(FLOWERS, iris)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "_record")


# --- bounds ---


@pytest.mark.parametrize("kernel", ["linear", Gaussian(2.0)])
@pytest.mark.parametrize("alpha", [0.1, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_reference(kernel, alpha, weighted):
    Y = np.where(two == np.unique(two)[1], 1.0, -1.0)[:, None]
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(X)) if weighted else None
    K = X @ X.T if kernel == "linear" else kernel(X)
    model = RLSClassifier(kernel, alpha, fit_intercept=False).fit(X, two, weights)
    expected = bounds.possible_mistakes_by_contribution(K, Y, alpha, weights)
    assert model.loo_error_bound_ == pytest.approx(expected.mean())
    wrong = np.mean(Y[:, 0] * model.loo_predictions_ <= 0)
    assert wrong <= model.loo_error_bound_


def test_the_bound_of_several_classes_and_labels():
    model = RLSClassifier(Gaussian(1.0), 1.0, fit_intercept=False).fit(FLOWERS, iris)
    wrong = np.mean(model.loo_predictions_.argmax(axis=1) != iris)
    assert 0 < wrong <= model.loo_error_bound_ < 0.5
    labels = RLSClassifier(Gaussian(10.0), 1.0, fit_intercept=False).fit(PAGES, many)
    errors = ((labels.loo_predictions_ > 0) != many).mean(axis=0)
    assert labels.loo_error_bound_.shape == (4,)
    assert (errors <= labels.loo_error_bound_).all()


def test_the_bound_is_that_of_the_threshold():
    rng = np.random.default_rng(0)
    for seed in range(10):
        rows, target = rng.standard_normal((20, 2)), rng.integers(0, 2, 20)
        threshold = rng.uniform(-0.9, 0.9)
        model = RLSClassifier(Gaussian(0.7), 0.5, fit_intercept=False, threshold=threshold)
        model.fit(rows, target)
        wrong = np.mean((model.loo_predictions_ > model.threshold_) != target)
        assert wrong <= model.loo_error_bound_, seed
    labels = RLSClassifier(
        Gaussian(10.0), 1.0, fit_intercept=False, threshold=[-0.8, -0.2, 0.4, 0.9]
    ).fit(PAGES, many)
    errors = ((labels.loo_predictions_ > labels.threshold_) != many).mean(axis=0)
    assert (errors <= labels.loo_error_bound_).all()


def test_with_an_intercept_the_bound_is_refused():
    model = RLSClassifier().fit(X, two)
    with refused(AttributeError, "fit_intercept=False"):
        _ = model.loo_error_bound_
    with refused(ValueError, "without an intercept"):
        model.stability_bound()


def test_stability_bound():
    Y = np.where(two == np.unique(two)[1], 1.0, -1.0)[:, None]
    kernel = Gaussian(2.0)
    model = RLSClassifier(kernel, 5.0, fit_intercept=False).fit(X, two)
    expected = bounds.stability_bounds(kernel(X), Y, 5.0, 1.0, 0.1)[1][0]
    assert model.stability_bound(0.1) == pytest.approx(expected)
    assert model.stability_bound(0.1, kappa=2.0) > expected
    for delta in (0.0, 1.0, "0.1"):
        with refused(ValueError, "between 0 and 1"):
            model.stability_bound(delta)


def test_the_bound_at_a_small_lambda():
    """Fitted values are the labels to many digits, and margins next to one."""
    for seed in range(20, 30):
        rng = np.random.default_rng(seed)
        rows, labels = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
        model = RLSClassifier(Gaussian(0.5), 1e-12, fit_intercept=False, solver="spectral")
        model.fit(rows, labels)
        wrong = np.mean((model.loo_predictions_ > 0) != labels)
        assert wrong <= model.loo_error_bound_


def test_stability_of_what_was_chosen_is_refused():
    model = RLSClassifier(fit_intercept=False).fit(X, two)
    with refused(ValueError, "not chosen on these rows"):
        model.stability_bound()
    fixed = RLSClassifier(Gaussian(2.0), 5.0, fit_intercept=False).fit(X, two)
    for kappa in (-1.0, "x", np.inf):
        with refused(ValueError, "kappa"):
            fixed.stability_bound(kappa=kappa)


@pytest.mark.parametrize("kernel", ["linear", Gaussian(2.0)])
@pytest.mark.parametrize("weights", [None, np.linspace(0.0, 2.0, len(X))])
def test_gacv_is_the_criterion(kernel, weights):
    model = RLSClassifier(kernel, 1.0).fit(FLOWERS, iris)
    chosen = RLSClassifier(kernel, [1.0], criterion="gcv").fit(FLOWERS, iris)
    assert np.mean(model.gacv_) == pytest.approx(-chosen.best_score_)
    model = RLSClassifier(kernel, 1.0).fit(X, two, weights)
    chosen = RLSClassifier(kernel, [1.0], criterion="gcv").fit(X, two, weights)
    assert model.gacv_ == pytest.approx(-chosen.best_score_)
