"""Which combinations of a test's parameters are run: those in which every few values meet.

A law under all conditions is a product: solvers × kernels × weights × intercepts × shapes. A fault
that shows in one combination nearly always shows in all that share two of its values, so that the
whole product finds little that such a part of it does not. The parts are chosen here for every
test. `make test` runs one in which every two values meet at least once; the other combinations
carry the mark ``thorough``. `make test-all` runs those too in which every three values meet, and
all checks of scikit-learn; what is left, marked ``exhaustive`` besides, is for
`make test-exhaustive`. Of a test that is marked ``costly``, since each of its cases takes long,
`make test` sees every value once.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations

import pytest
from sklearn.base import BaseEstimator


def mark_combinations(items: Iterable[pytest.Item]) -> None:
    """Mark the combinations of each parametrised test that add no pair, or no three, of values."""
    tests: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        given = item.get_closest_marker("thorough")
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not given:
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        settings = [_values(case.callspec.params) for case in cases]
        costly = any(case.get_closest_marker("costly") for case in cases)
        kept = set(each_value(settings) if costly else covering(settings, 2))
        more = kept | set(covering(settings, 3, sorted(kept)))
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("thorough")
            if place not in more and not _is_check(case):
                case.add_marker("exhaustive")


def covering(
    settings: Sequence[Mapping[str, object]], together: int, first: Iterable[int] = ()
) -> list[int]:
    """Places of settings that hold every few values which meet anywhere among all settings.

    The one with most of what is missing comes next, the same one in every run. Where there are no
    more parameters than have to meet, every setting is one of its own and stays.

    Parameters
    ----------
    settings : sequence of mappings
        Values by the names of their parameters.
    together : int
        How many values meet: 2 for every pair.
    first : iterable of int
        Places that are taken before.

    >>> product = [
    ...     {"solver": s, "rows": n, "weighted": w} for s in "abc" for n in "678" for w in "01"
    ... ]
    >>> len(product), len(covering(product, 2)), len(covering(product, 3))
    (18, 9, 18)
    """
    names = {name for setting in settings for name in setting}
    varied = [name for name in sorted(names) if len({s.get(name) for s in settings}) > 1]
    meetings = [_meetings([(n, s[n]) for n in varied if n in s], together) for s in settings]
    places = defaultdict(list)
    for place, of_setting in enumerate(meetings):
        for meeting in of_setting:
            places[meeting].append(place)
    missing = [len(of_setting) for of_setting in meetings]
    chosen: list[int] = []

    def take(place: int) -> None:
        chosen.append(place)
        for meeting in meetings[place]:
            for other in places.pop(meeting, ()):
                missing[other] -= 1

    for place in first:
        take(place)
    # Among equals by lot: values that need not meet are spread over the others all the same.
    order = random.Random(0).sample(range(len(settings)), len(settings))
    while any(missing):
        take(max(order, key=missing.__getitem__))
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


def _meetings(values: list[tuple[str, object]], together: int) -> list[tuple]:
    """Values of so many parameters of the test, and of so many parameters of an estimator."""
    owners: dict[str, list[tuple[str, object]]] = defaultdict(list)
    for name, value in values:
        owners[name.rpartition(".")[0]].append((name, value))
    return [
        meeting for own in owners.values() for meeting in combinations(own, min(together, len(own)))
    ]


def _is_check(case: pytest.Function) -> bool:
    """Whether it is a check of scikit-learn, which every estimator has to pass as it is set."""
    return any(isinstance(value, partial) for value in case.callspec.params.values())


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
