"""Which combinations of a test's parameters `make test` runs: every two values meet at least once.

A law under all conditions is a product: solvers × kernels × weights × intercepts × shapes. A fault
that shows in one combination nearly always shows in all that share two of its values, so that the
whole product finds little that such a part of it does not. The part is chosen here for every test;
the other combinations carry the mark ``thorough``, and `make test-all` runs them. Of a test that is
marked ``costly``, since each of its cases takes long, every value is seen once.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations

import pytest
from sklearn.base import BaseEstimator


def mark_thorough(items: Iterable[pytest.Item]) -> None:
    """Mark the combinations of each parametrised test that add no pair of values."""
    tests: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        given = item.get_closest_marker("thorough")
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not given:
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        settings = [_values(case.callspec.params) for case in cases]
        costly = any(case.get_closest_marker("costly") for case in cases)
        kept = set(each_value(settings) if costly else pairwise(settings))
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("thorough")


def pairwise(settings: Sequence[Mapping[str, object]]) -> list[int]:
    """Places of settings that hold every pair of values there is among all settings.

    The one with most of the missing pairs comes next, the same one in every run. With two
    parameters every setting is a pair of its own and stays, and with one parameter every value.

    >>> product = [
    ...     {"solver": s, "rows": n, "weighted": w} for s in "abc" for n in "678" for w in "01"
    ... ]
    >>> len(product), len(pairwise(product))
    (18, 9)
    """
    names = {name for setting in settings for name in setting}
    varied = [name for name in sorted(names) if len({s.get(name) for s in settings}) > 1]
    pairs = [_pairs([(n, s[n]) for n in varied if n in s]) for s in settings]
    places = defaultdict(list)
    for place, of_setting in enumerate(pairs):
        for pair in of_setting:
            places[pair].append(place)
    missing = [len(of_setting) for of_setting in pairs]
    chosen = []
    # Among equals by lot: values that need not meet are spread over the others all the same.
    order = random.Random(0).sample(range(len(settings)), len(settings))
    while any(missing):
        best = max(order, key=missing.__getitem__)
        chosen.append(best)
        for pair in pairs[best]:
            for place in places.pop(pair, ()):
                missing[place] -= 1
    return sorted(chosen)


def each_value(settings: Sequence[Mapping[str, object]]) -> list[int]:
    """Places of settings that hold every value of every parameter, where a test takes seconds.

    >>> len(each_value([{"solver": s, "rows": n} for s in "abc" for n in "67"]))
    3
    """
    missing = {(name, value) for setting in settings for name, value in setting.items()}
    chosen = []
    while missing:
        new = [len(missing & set(setting.items())) for setting in settings]
        chosen.append(new.index(max(new)))
        missing -= set(settings[chosen[-1]].items())
    return sorted(chosen)


def _pairs(values: list[tuple[str, object]]) -> list[tuple]:
    """Pairs of parameters of the test, and pairs of parameters of the same estimator."""
    if len(values) < 2:
        return [tuple(values)]
    return [
        (one, other)
        for one, other in combinations(values, 2)
        if one[0].rpartition(".")[0] == other[0].rpartition(".")[0]
    ]


def _values(parameters: Mapping[str, object]) -> dict[str, object]:
    """Parameters by what is equal for equal values; those of an estimator are parameters too."""
    values: dict[str, object] = {}
    for name, value in parameters.items():
        if isinstance(value, BaseEstimator):
            values[name] = type(value)
            for own, given in value.get_params(deep=False).items():
                values[f"{name}.{own}"] = repr(given)
        elif isinstance(value, partial):  # a check of scikit-learn with its arguments
            values[name] = repr((value.func, value.args, value.keywords))
        else:
            values[name] = _value(value)
    return values


def _value(value: object) -> object:
    """Names, numbers and tuples of them are themselves, any other object is equal to none."""
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    plain = value is None or isinstance(value, str | int | float)
    return type(value), value if plain else id(value)
