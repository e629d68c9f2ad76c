"""Thresholds: every cut is looked at, ties go to zero, and what cannot be used is refused."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

from squareone.selection import best_thresholds
from squareone.selection.confusion import CLOSED_FORMS

TRIALS = 60
NAMED = pytest.mark.parametrize("name", [*CLOSED_FORMS, "precision_macro", "jaccard_weighted"])


def score(name, truth, predicted, weights=None):
    """By scikit-learn, on all rows."""
    scorer = metrics.get_scorer(name)
    return scorer._score_func(truth, predicted, sample_weight=weights, **scorer._kwargs)


def scores_of_all_cuts(name, f, truth, weights=None):
    """By brute force: a threshold at each value, and one below all."""
    cuts = [f.min() - 1.0, *np.unique(f)]
    return [score(name, truth, f > cut, weights) for cut in cuts]


def sample(rng, n, *, dtype=np.float64, ties=True):
    """Values (n, 1), some of them equal, and what is true (n, 1), of both kinds."""
    truth = rng.random((n, 1)) < rng.choice([0.1, 0.5, 0.9])
    truth[:2, 0] = False, True
    values = np.where(truth, 0.5, -0.5) + rng.standard_normal((n, 1)) + rng.choice([-3, 0, 3])
    return (np.round(values, 1) if ties else values).astype(dtype), truth


@pytest.mark.costly
@NAMED
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_no_cut_is_better(name, weighted, dtype):
    rng = np.random.default_rng(0)
    for _ in range(TRIALS // 10):
        values, truth = sample(rng, rng.integers(2, 40), dtype=dtype, ties=rng.random() < 0.5)
        weights = rng.uniform(0.1, 3.0, truth.size) if weighted else None
        values.flags.writeable = truth.flags.writeable = False
        (threshold,) = best_thresholds(name, values, truth, weights)
        f, t = values[:, 0], truth[:, 0]
        reached = score(name, t, f > threshold, weights)
        assert_allclose(reached, max(scores_of_all_cuts(name, f, t, weights)), rtol=1e-13)
        # the same cut in the precision of the values
        assert_array_equal(f > threshold, f > dtype(threshold))


def test_the_four_ways_to_give_a_metric_agree():
    """Closed form, scorer, a metric shown four weighted rows, and one shown all rows."""

    def rows_only(y_true, y_pred):
        return metrics.f1_score(y_true, y_pred, zero_division=0)

    rng = np.random.default_rng(1)
    for _ in range(TRIALS // 10):
        values, truth = sample(rng, 30)
        expected = best_thresholds("f1", values, truth)
        scorer = metrics.make_scorer(metrics.f1_score)
        weighted = functools.partial(metrics.f1_score, zero_division=0)
        for metric in (scorer, weighted, metrics.f1_score, rows_only):
            assert_array_equal(best_thresholds(metric, values, truth), expected)


def test_a_metric_with_weights_sees_every_count():
    """At every cut the weights of four rows, those without rows left out, sum to the total."""
    seen = []

    def gain(y_true, y_pred, sample_weight):
        seen.append(dict(zip(zip(y_true, y_pred, strict=True), sample_weight, strict=True)))
        return sum(sample_weight)

    values = np.array([[3.0], [1.0], [2.0]])
    truth = np.array([[True], [False], [False]])
    best_thresholds(gain, values, truth, np.array([1.0, 2.0, 4.0]))
    assert seen == [
        {(1, 1): 1, (0, 1): 6},
        {(1, 1): 1, (0, 1): 4, (0, 0): 2},
        {(1, 1): 1, (0, 0): 6},
        {(1, 0): 1, (0, 0): 6},
    ]


def test_scorers_whose_smaller_values_are_better():
    values, truth = sample(np.random.default_rng(2), 30)
    expected = best_thresholds("accuracy", values, truth)
    assert_array_equal(best_thresholds("neg_mean_squared_error", values, truth), expected)


def test_thresholds_are_midpoints():
    values = np.array([[-0.9], [-0.6], [-0.4], [0.2]])
    truth = np.array([[False], [False], [True], [True]])
    assert best_thresholds("accuracy", values, truth) == [-0.5]
    assert best_thresholds("accuracy", -values, ~truth) == [0.5]


def test_zero_stands_for_its_cut():
    """Nothing is gained by moving a threshold within a gap."""
    values, truth = np.array([[-0.1], [0.9]]), np.array([[False], [True]])
    assert best_thresholds("f1", values, truth) == [0.0]
    assert best_thresholds("f1", np.array([[0.1], [0.9]]), np.ones((2, 1), bool)) == [0.0]
    assert best_thresholds("accuracy", np.array([[-0.9], [0.0]]), np.zeros((2, 1), bool)) == [0.0]


def test_of_equal_cuts_the_nearest_to_zero():
    values = np.array([[-3.0], [-1.0], [1.5], [4.0]])
    truth = np.array([[False], [True], [False], [True]])
    # right in three of four rows: above −2, and above 2.75
    assert best_thresholds("accuracy", values, truth) == [-2.0]
    assert best_thresholds("accuracy", -values, ~truth) == [2.0]


@pytest.mark.parametrize("shift", [-10.0, 0.0, 10.0])
def test_a_metric_that_cannot_tell_leaves_zero(shift):
    values, truth = sample(np.random.default_rng(3), 20)
    assert best_thresholds(lambda *_: 0.5, values + shift, truth) == [0.0]


def test_rounded_sums_do_not_hide_ties():
    """The cuts at −1.5 and 0 are equally good, though not to the last digit."""
    values = np.array([[-2.0], [-1.0], [-0.5], [2.0]])
    truth = np.array([[False], [True], [False], [True]])
    weights = np.array([0.7, 0.3 + 6e-16, 0.3, 0.7])
    at = [score("accuracy", truth[:, 0], values[:, 0] > cut, weights) for cut in (-1.5, 0.0)]
    assert at[0] > at[1]
    assert best_thresholds("accuracy", values, truth, weights) == [0.0]
    weights[1] += 1e-9  # but this is a difference
    assert best_thresholds("accuracy", values, truth, weights) == [-1.5]


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("positive", [False, True])
def test_one_distinct_value(value, positive):
    values, truth = np.full((3, 1), value), np.full((3, 1), positive)
    truth[0] = not positive
    (threshold,) = best_thresholds("accuracy", values, truth)
    assert np.isfinite(threshold)
    assert ((values > threshold) == positive).all()
    assert abs(threshold) <= np.nextafter(1.0, 2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 1e-30, 3e30])
def test_neighbouring_numbers_are_told_apart(start, dtype):
    """The midpoint of two neighbours is one of them, and must be the lower one."""
    low = dtype(start)
    for _ in range(4):
        high = np.nextafter(low, dtype(np.inf))
        values, truth = np.array([[low], [high]]), np.array([[False], [True]])
        (threshold,) = best_thresholds("accuracy", values, truth)
        assert_array_equal(values > threshold, truth)
        assert_array_equal(values > dtype(threshold), truth)
        low = high


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1.7e308])
def test_huge_and_tiny_values(scale):
    values = scale * np.array([[-1.0], [-0.75], [-0.5], [1.0]])
    truth = np.array([[False], [False], [True], [True]])
    assert_allclose(best_thresholds("f1", values, truth), [-0.625 * scale], rtol=1e-15)


@pytest.mark.parametrize("name", ["f1", "balanced_accuracy", "matthews_corrcoef"])
def test_weights_are_repetitions(name):
    rng = np.random.default_rng(4)
    for _ in range(TRIALS):
        values, truth = sample(rng, 25)
        weights = rng.integers(0, 4, 25)
        weights[:2] = 1
        rows = np.repeat(np.arange(25), weights)
        weighted = best_thresholds(name, values, truth, weights)
        assert_array_equal(weighted, best_thresholds(name, values[rows], truth[rows]))


def test_every_label_by_itself():
    rng = np.random.default_rng(5)
    columns = [sample(rng, 30) for _ in range(4)]
    values, truth = (np.hstack(parts) for parts in zip(*columns, strict=True))
    together = best_thresholds("f1", values, truth)
    assert together.dtype == np.float64
    assert_array_equal(together, np.concatenate([best_thresholds("f1", *c) for c in columns]))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_a_label_all_rows_or_none_have(name, positive):
    values = np.random.default_rng(6).standard_normal((20, 1))
    truth = np.full((20, 1), positive)
    (threshold,) = best_thresholds(name, values, truth)
    if name in ("accuracy", "balanced_accuracy", "f1_macro", "f1_weighted"):
        assert ((values > threshold) == positive).all()


def test_many_rows_are_no_burden():
    """A quadratic method would take minutes."""
    rng = np.random.default_rng(7)
    truth = rng.random((200_000, 1)) < 0.1
    values = np.where(truth, 0.0, -1.0) + 0.5 * rng.standard_normal(truth.shape)
    (threshold,) = best_thresholds("matthews_corrcoef", values, truth)
    assert -0.5 < threshold < 0.3


VALUES, TRUTH = np.array([[-1.0], [1.0]]), np.array([[False], [True]])


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("f2", "the threshold metric 'f2' is unknown: the name of a scikit-learn scorer"),
        ("roc_auc", "'roc_auc' scores decision_function or predict_proba, which no threshold"),
        ("neg_log_loss", "'neg_log_loss' scores predict_proba, which no threshold changes"),
        (3, "the threshold metric 3 is no function"),
        (lambda y_true, y_pred: np.nan, "returned nan: a finite number is expected"),
        (lambda y_true, y_pred: y_pred, r"returned array\(.*\): a finite number is expected"),
        (lambda y_true: 1.0, "failed on predicted labels: .* takes 1 positional argument"),
        ("f1_samples", "'f1_samples' failed on predicted labels"),
    ],
    ids=range(8),
)
def test_refusals(metric, message):
    with pytest.raises(ValueError, match=message):
        best_thresholds(metric, VALUES, TRUTH)


def test_weights_are_not_ignored():
    with pytest.raises(ValueError, match="takes no sample_weight, so the weights of this fit"):
        best_thresholds(lambda y_true, y_pred: 1.0, VALUES, TRUTH, np.ones(2))
