"""The probability with which a label would be asked for, against asking row by row."""

import numpy as np
import pytest

from squareone import SelectiveSamplingClassifier

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 4))
TWO = X[:, 0] > 0
FOUR = TWO + 2 * (X[:, 1] > 0)
BOTH = np.column_stack([TWO, X[:, 1] > 0]).astype(int)
RULES = [
    {"k": 0.3},
    {"k": 0.3, "count": "rarer"},
    {"strategy": "randomized", "b": 1.0},
    {"strategy": "randomized", "margin": "without_row"},
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("y", [TWO, FOUR, BOTH], ids=["two", "four", "labels"])
def test_it_is_what_query_does_with_the_next_row(y, rule):
    model = SelectiveSamplingClassifier(alpha=0.1, **rule).partial_fit(X[:60], y[:60])
    seen = model.n_rounds_
    chances = np.array([model.query_probability(X[i : i + 1], i)[0] for i in range(60, 400)])
    assert model.n_rounds_ == seen  # nothing counts
    asked = model.query(X[60:])
    if "k" in rule:
        assert np.array_equal(chances, asked)
        assert 0 < asked.mean() < 1
    else:
        assert ((chances > 0) & (chances <= 1)).all()
        deviation = np.sqrt((chances * (1 - chances)).sum())
        assert abs(asked.sum() - chances.sum()) < 4 * deviation


def test_rows_of_a_block_do_not_see_each_other():
    model = SelectiveSamplingClassifier(strategy="randomized").partial_fit(X[:60], TWO[:60])
    whole = model.query_probability(X[60:])
    parts = [model.query_probability(X[i : i + 1])[0] for i in range(60, 400)]
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


def test_zeros_are_never_asked_about_and_everything_is_before_the_first_label():
    model = SelectiveSamplingClassifier().start([0, 1], 4)
    assert model.query_probability(X[:3]).tolist() == [1.0, 1.0, 1.0]
    assert model.query_probability(np.zeros((2, 4))).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="n_rounds=0"):
        model.query_probability(X, 0)
