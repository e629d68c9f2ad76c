"""Audit figures: exact intervals, the error spent by looks, and F by Jaccard's index."""

import numpy as np
import pytest
from scipy.stats import binom

from squareone.labelling.audit_figures import (
    FIRST_LOOK,
    clopper_pearson,
    error_of_look,
    figures_of_audit,
    figures_of_negatives,
    last_look,
    looks_up_to,
)


@pytest.mark.parametrize("n", [1, 10, 25, 100])
@pytest.mark.parametrize("error", [0.05, 0.0125])
def test_the_ends_of_an_interval_are_where_tails_have_half_of_the_error(n, error):
    for k in range(n + 1):
        low, high = clopper_pearson(k, n, error)
        assert 0 <= low <= k / n <= high <= 1
        if k:
            assert binom.sf(k - 1, n, low) == pytest.approx(error / 2, rel=1e-9)
        if k < n:
            assert binom.cdf(k, n, high) == pytest.approx(error / 2, rel=1e-9)


@pytest.mark.parametrize("p", [0.02, 0.5, 0.9, 0.99])
def test_an_interval_covers_at_least_as_often_as_it_says(p):
    for n in (25, 50, 100):
        ends = [clopper_pearson(k, n, 0.05) for k in range(n + 1)]
        covered = sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
        assert covered >= 0.95


def test_looks_double_and_spend_a_tenth_at_most():
    assert looks_up_to(24) == []
    assert looks_up_to(1000) == [25, 50, 100, 200, 400, 800]
    assert [last_look(n) for n in (24, 25, 99, 100)] == [0, 25, 50, 100]
    spent = [error_of_look(rows) for rows in looks_up_to(10**9)]
    assert spent[:3] == [0.05, 0.025, 0.0125]
    assert sum(spent) < 0.1
    for rows in (0, 24, 26, 75):
        with pytest.raises(ValueError, match="audit rows"):
            error_of_look(rows)


def test_figures_are_those_of_scikit_learn():
    from sklearn.metrics import accuracy_score, f1_score

    rng = np.random.default_rng(0)
    truths = rng.choice(["a", "b", "c"], 200, p=[0.5, 0.47, 0.03])
    guesses = np.where(rng.random(200) < 0.8, truths, rng.choice(["a", "b", "c"], 200))
    look = figures_of_audit(truths.tolist(), guesses.tolist(), ["a", "b", "c"], 0.05)
    assert look.accuracy[0] == accuracy_score(truths, guesses)
    expected = f1_score(truths, guesses, average=None, labels=["a", "b", "c"])
    for figure, f in zip(look.classes[:2], expected, strict=False):
        assert figure.f == pytest.approx(f)
        assert figure.interval[0] < f < figure.interval[1]
    assert look.classes[2].f is None  # fewer than ten rows of it


def test_rows_without_a_label_are_left_out_and_counted_as_wrong():
    look = figures_of_audit(["a"] * 18 + ["b"] * 2 + [None] * 5, ["a"] * 25, ["a", "b"], 0.05)
    assert (look.rows, look.known, look.correct) == (25, 20, 18)
    assert look.accuracy[0] == 0.9
    assert look.accuracy_of_all[0] == 0.72
    nothing = figures_of_audit([None] * 25, ["a"] * 25, ["a", "b"], 0.05)
    assert nothing.accuracy is None


def test_negatives_are_told_at_looks_and_rows_without_a_label_may_all_be_of_the_class():
    few = figures_of_negatives("rare", 100, 200, ["other"] * 24)
    assert (few.asked, few.rows, few.share, few.share_of_all) == (24, 0, None, None)
    said = ["rare", "rare", None, None, None, *["other"] * 45, "rare"]
    look = figures_of_negatives("rare", 100, 200, said)
    assert (look.asked, look.rows, look.known, look.found) == (51, 50, 47, 2)
    assert look.share == (2 / 47, *clopper_pearson(2, 47, 0.025))
    assert look.share_of_all == (5 / 50, *clopper_pearson(5, 50, 0.025))
    assert figures_of_negatives("rare", 1, 25, [None] * 25).share is None


def sessions_covered(rng, sessions, most, looks, interval):
    """How many sessions have the accuracy in the interval at each of their looks.

    The model gets better while the audit goes on; at each look its accuracy is another one, and a
    row counts as right where its own number is below that accuracy.
    """
    covered = 0
    for _ in range(sessions):
        luck = rng.random(most)
        start, end = np.sort(rng.uniform(0.5, 0.99, 2))
        right = True
        for rows in looks:
            accuracy = start + (end - start) * rows / most
            low, high = interval(int((luck[:rows] < accuracy).sum()), rows)
            right &= low <= accuracy <= high
        covered += right
    return covered


@pytest.mark.thorough
def test_all_looks_of_a_session_hold_together_and_plain_intervals_do_not():
    sessions, most = 2000, 800
    needed = 0.9 * sessions - 3 * np.sqrt(sessions * 0.9 * 0.1)
    own = sessions_covered(
        np.random.default_rng(0),
        sessions,
        most,
        looks_up_to(most),
        lambda k, n: clopper_pearson(k, n, error_of_look(n)),
    )
    assert own >= needed
    known = {}  # looking after every row asks for the same intervals again and again

    def plain(k, n):
        if (k, n) not in known:
            known[k, n] = clopper_pearson(k, n, 0.1)
        return known[k, n]

    each_row = sessions_covered(
        np.random.default_rng(0), sessions, most, range(FIRST_LOOK, most + 1, 5), plain
    )
    assert each_row < needed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("share", "found", "left"), [(0.2, 0.8, 0.95), (0.05, 0.6, 0.98), (0.5, 0.9, 0.9)]
)
def test_f_holds_at_all_looks_at_which_it_is_shown(share, found, left):
    """Of a class of a share, found with a probability, and not seen in others with another."""
    rng = np.random.default_rng(0)
    sessions, most = 2000, 800
    both, missed, wrong = share * found, share * (1 - found), (1 - share) * (1 - left)
    f = 2 * both / (2 * both + missed + wrong)
    covered = shown = 0
    for _ in range(sessions):
        truth = rng.random(most) < share
        guess = np.where(truth, rng.random(most) < found, rng.random(most) > left)
        truths, guesses = (np.where(each, "y", "n").tolist() for each in (truth, guess))
        figures = [
            figures_of_audit(truths[:rows], guesses[:rows], ["y", "n"], error_of_look(rows))
            for rows in looks_up_to(most)
        ]
        intervals = [look.classes[0].interval for look in figures]
        covered += all(ends is None or ends[0] <= f <= ends[1] for ends in intervals)
        shown += intervals[-1] is not None
    assert covered >= 0.9 * sessions - 3 * np.sqrt(sessions * 0.9 * 0.1)
    assert shown == sessions


@pytest.mark.thorough
@pytest.mark.parametrize("accuracy", [0.7, 0.8, 0.9, 0.95])
def test_plain_intervals_after_every_row_hold_in_half_of_the_sessions(accuracy):
    """As the guide says: 0.45 to 0.55, of a model that stays as it is."""
    sessions, most = 2000, 800
    rng = np.random.default_rng(0)
    right = np.cumsum(rng.random((sessions, most)) < accuracy, axis=1)
    covered = np.ones(sessions, bool)
    for rows in range(FIRST_LOOK, most + 1):
        counts, where = np.unique(right[:, rows - 1], return_inverse=True)
        ends = [clopper_pearson(int(count), rows, 0.1) for count in counts]
        covered &= np.array([low <= accuracy <= high for low, high in ends])[where]
    assert 0.42 < covered.mean() < 0.58
