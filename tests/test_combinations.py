"""Which combinations of parameters `make test` leaves out."""

from itertools import combinations, product

import pytest

from tests.combinations import covering, each_value


def _meetings(settings, together=2):
    return {few for setting in settings for few in combinations(sorted(setting.items()), together)}


def _product(**values):
    return [dict(zip(values, one, strict=True)) for one in product(*values.values())]


@pytest.mark.parametrize(
    ("sizes", "at_most"),
    [((5, 7, 2, 2, 5), 45), ((3, 3, 3), 12), ((2, 2, 2, 2, 2, 2), 9), ((10, 2, 2), 20)],
)
def test_every_pair_meets_in_few_settings(sizes, at_most):
    settings = _product(**{f"p{i}": [str(v) for v in range(n)] for i, n in enumerate(sizes)})
    chosen = [settings[place] for place in covering(settings, 2)]
    assert _meetings(chosen) == _meetings(settings)
    assert len(chosen) <= at_most


def test_every_three_values_meet_beside_the_pairs():
    settings = _product(**dict.fromkeys("pqrst", "abc"))
    pairs = covering(settings, 2)
    threes = covering(settings, 3, pairs)
    assert set(pairs) < set(threes)
    assert len(threes) <= 70
    assert _meetings((settings[place] for place in threes), 3) == _meetings(settings, 3)


def test_only_pairs_that_occur_are_asked_for():
    """As where a solver takes the linear kernel alone."""
    settings = [
        setting
        for setting in _product(solver="ab", kernel="lgm", weighted="01", shape="xyz")
        if setting["solver"] == "a" or setting["kernel"] == "l"
    ]
    assert _meetings(settings[place] for place in covering(settings, 2)) == _meetings(settings)


@pytest.mark.parametrize("names", [["p"], ["p", "q"]])
def test_one_or_two_parameters_keep_every_setting(names):
    settings = _product(**dict.fromkeys(names, "abc"))
    assert covering(settings, 2) == list(range(len(settings)))


def test_a_test_without_parameters_stays():
    assert covering([], 2) == []


@pytest.mark.parametrize("a", [0, 1])
@pytest.mark.parametrize("b", ["x", "y"])
@pytest.mark.parametrize("c", [None, object()])
def test_marks(a, b, c, request):
    """Four of the eight hold every pair: those with an even number of second values."""
    seconds = (a == 1) + (b == "y") + (c is not None)
    assert (request.node.get_closest_marker("thorough") is not None) == (seconds % 2 == 1)


def test_every_value_is_seen_once_where_cases_take_long():
    settings = [{"solver": s, "rows": n, "weighted": w} for s in "abcd" for n in "67" for w in "01"]
    places = each_value(settings)
    assert len(places) == 4
    seen = {pair for place in places for pair in settings[place].items()}
    assert seen == {pair for setting in settings for pair in setting.items()}
