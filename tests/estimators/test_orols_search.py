"""The search of a greedy fit: widths and ε are judged by fits to some rows, on the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from squareone import OROLSClassifier, OROLSRegressor, RLSClassifier
from squareone.greedy.parameter_search import SHIFTS, Judged, folds_of, search
from squareone.kernels import Gaussian
from tests.estimators.center_cases import X, n, several, three, two, weights, y

ALL = {"candidates": n}  # every point is drawn: no chance in what a fit finds


def held_out(make, labels, w, epsilon):
    """The share of rows in a wrong class, by fits to the others of each fold."""
    kept = np.arange(n) if w is None else np.flatnonzero(w)
    given = np.ones(n) if w is None else w
    wrong, judged = np.zeros(n), np.zeros(n)
    for inside, outside in folds_of(kept.size, np.random.RandomState(0)):
        inside, outside = kept[inside], kept[outside]
        model = make(epsilon).fit(X[inside], labels[inside], given[inside])
        wrong[outside] = model.predict(X[outside]) != labels[outside]
        judged[outside] = 1.0
    return (given * wrong).sum() / (given * judged).sum()


@pytest.mark.thorough
@pytest.mark.costly
@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one", "bch"])
@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
def test_decisions_that_share_their_centers_are_judged(coding, w):
    def make(epsilon):
        return OROLSClassifier(
            Gaussian(1.5), epsilon=epsilon, shared_centers=True, coding=coding, **ALL
        )

    looks = make("auto").fit(X, three, w).search_
    assert_allclose(looks["epsilon"], SHIFTS)
    for epsilon, wrong in zip(looks["epsilon"], looks["wrong"], strict=True):
        assert wrong == pytest.approx(held_out(make, three, w, epsilon), abs=1e-12)


@pytest.mark.thorough
def test_numbers_and_columns_by_themselves_decide_nothing():
    for model, targets in [
        (OROLSRegressor(shared_centers=True), several),
        (OROLSClassifier(), three),
        (OROLSClassifier(shared_centers=True), two),
    ]:
        assert np.isnan(model.fit(X, targets).search_["wrong"]).all()


def test_the_best_look_is_taken():
    model = OROLSClassifier(shared_centers=True, **ALL).fit(X, three)
    looks = model.search_
    scores = [
        Judged(error, wrong, n).score
        for error, wrong in zip(looks["error"], looks["wrong"], strict=True)
    ]
    best = int(np.argmin(scores))
    assert looks["sigma"][best] == pytest.approx(model.kernel_.sigma)
    assert looks["epsilon"][best] == model.epsilon_


def test_what_a_look_is_judged_by():
    numbers = Judged(0.5, np.nan, 2000)
    assert numbers.score == 0.5
    narrow, wide = Judged(0.123, 0.68, 2000), Judged(0.126, 0.54, 2000)
    assert wide.score < narrow.score  # a seventh of the rows counts for more than that of a square
    few, fewer = Judged(0.100, 0.010, 2000), Judged(0.103, 0.008, 2000)
    assert few.score < fewer.score  # four rows by chance do not


@pytest.mark.parametrize(("reach", "step"), [(1, -2), (2, 1)])
def test_how_far_the_search_looks(reach, step):
    """Least at half an octave above the median; what lies between it and the start is worse."""
    errors = {-3: 5.0, -2: 3.0, -1: 4.0, 0: 2.0, 1: 1.0}
    median = Gaussian(1.0)

    def judge(kernel, epsilon):
        here = round(2 * np.log2(kernel.sigma))
        return Judged(errors.get(here, 9.0), np.nan, 100)

    kernel, epsilon, looks = search(median, "sigma", (0.01,), judge, reach)
    assert kernel.sigma == pytest.approx(np.sqrt(2.0) ** step)
    assert epsilon == 0.01
    sigmas = [look.sigma for look in looks]
    assert len(set(sigmas)) == len(sigmas)


@pytest.mark.parametrize(("stopping", "narrower"), [(20, False), ("gcv", True)])
def test_narrower_widths_are_tried_where_there_can_be_more_centers(stopping, narrower, monkeypatch):
    """Looks at the end go by another split: their σ comes a second time."""
    monkeypatch.setattr("squareone.greedy.parameter_search.SEARCH_ROWS", 40)
    model = OROLSRegressor(stopping=stopping, epsilon=0.01).fit(X, y)
    sigmas = model.search_["sigma"]
    assert (len(np.unique(sigmas.round(9))) < len(sigmas)) == narrower


@pytest.fixture(scope="module")
def digits():
    rows, labels = load_digits(return_X_y=True)
    return train_test_split(rows, labels, random_state=0)


@pytest.fixture(scope="module", params=[20, 50])
def random_centers(digits, request):
    """How many, and the mean share of right rows with random ones, over three draws."""
    rows, new, labels, truth = digits
    scores = [
        RLSClassifier(centers=request.param, random_state=seed).fit(rows, labels).score(new, truth)
        for seed in range(3)
    ]
    return request.param, np.mean(scores)


@pytest.mark.thorough
def test_few_chosen_centers_are_better_than_random_ones(digits, random_centers):
    """Centers of the same number, and all else automatic."""
    rows, new, labels, truth = digits
    m, random = random_centers
    chosen = OROLSClassifier(shared_centers=True, stopping=m).fit(rows, labels)
    assert chosen.centers_.shape[0] == m
    assert chosen.score(new, truth) > random


@pytest.fixture(scope="module")
def long_path(digits):
    rows, _, labels, _ = digits
    return OROLSClassifier(shared_centers=True, max_centers=200).fit(rows, labels)


@pytest.mark.thorough
def test_the_first_centers_of_a_path_are_better_than_random_ones(digits, long_path, random_centers):
    """With the width that was chosen for all of the path."""
    _, new, _, truth = digits
    m, random = random_centers
    part = long_path.at(m)
    assert part.centers_.shape[0] == m < long_path.centers_.shape[0]
    assert part.score(new, truth) > random


@pytest.fixture(scope="module")
def many_classes():
    """Twelve classes about means, that a linear function tells apart as well as any."""
    rng = np.random.default_rng(3)
    labels = rng.integers(12, size=900)
    rows = 1.5 * rng.standard_normal((12, 5))[labels] + rng.standard_normal((900, 5))
    return rows[:500], rows[500:], labels[:500], labels[500:]


@pytest.fixture
def few_search_rows(monkeypatch):
    """There are more rows than the search looks at."""
    for module in ("parameter_search", "orols_fit"):
        monkeypatch.setattr(f"squareone.greedy.{module}.SEARCH_ROWS", 200)


def both_fits(monkeypatch, rows, labels, **parameters):
    """With the kernel of the search alone, and with wider ones beside it."""
    model = OROLSClassifier(shared_centers=True, **parameters)
    with monkeypatch.context() as without:
        without.setattr("squareone.greedy.orols_fit._OCTAVES", 0)
        alone = clone(model).fit(rows, labels)
    return alone, model.fit(rows, labels)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fewer_centers_than_classes_are_no_worse_at_the_rows(
    seed, many_classes, few_search_rows, monkeypatch
):
    rows, _, labels, _ = many_classes
    alone, model = both_fits(monkeypatch, rows, labels, stopping=7, random_state=seed)
    assert model.n_centers_ == 7
    assert model.score(rows, labels) >= alone.score(rows, labels)
    octave = np.log2(model.kernel_.sigma / alone.kernel_.sigma)
    assert octave == pytest.approx(round(octave), abs=1e-9)
    assert 0 <= round(octave) <= 4
    assert model.epsilon_ == pytest.approx(alone.epsilon_ / 16.0 ** round(octave))
    assert_array_equal(model.search_["sigma"], alone.search_["sigma"])
    narrow = model.kernel_.sigma == alone.kernel_.sigma
    assert narrow == (model.score(rows, labels) == alone.score(rows, labels))


@pytest.mark.parametrize(
    "parameters", [{"stopping": 12}, {"stopping": 7, "kernel": Gaussian(1.5)}], ids=str
)
def test_otherwise_the_kernel_is_that_of_the_search(
    parameters, many_classes, few_search_rows, monkeypatch
):
    rows, _, labels, _ = many_classes
    alone, model = both_fits(monkeypatch, rows, labels, **parameters)
    assert (model.kernel_.sigma, model.epsilon_) == (alone.kernel_.sigma, alone.epsilon_)


def test_an_epsilon_that_is_given_stays(many_classes, few_search_rows):
    rows, _, labels, _ = many_classes
    model = OROLSClassifier(shared_centers=True, stopping=7, epsilon=0.003).fit(rows, labels)
    assert model.epsilon_ == 0.003


@pytest.mark.thorough
@pytest.mark.parametrize("m", [4, 7, 11])
def test_fewer_centers_than_classes_are_no_worse_than_random_ones(m, many_classes, few_search_rows):
    rows, new, labels, truth = many_classes
    chosen, random = (
        np.mean([model(seed).fit(rows, labels).score(new, truth) for seed in range(5)])
        for model in (
            lambda seed: OROLSClassifier(shared_centers=True, stopping=m, random_state=seed),
            lambda seed: RLSClassifier(centers=m, random_state=seed),
        )
    )
    assert chosen >= random
