"""A forest is the same whatever form it comes in, and what is none is refused."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from squareone.online import Taxonomy
from tests.estimators.data import refused, table
from tests.online.forests import as_parents, random_forest, random_rows
from tests.reference import hierarchy

seeds = pytest.mark.parametrize("seed", range(12))


class Graph:
    """As much of networkx's directed graph as a conversion asks for."""

    def __init__(self, edges, nodes=()):
        self._edges = list(edges)
        self.nodes = list(dict.fromkeys([*nodes, *(node for edge in edges for node in edge)]))

    def __iter__(self):
        return iter(self.nodes)

    def edges(self):
        return iter(self._edges)

    def is_directed(self):
        return True

    def predecessors(self, node):
        return iter([above for above, below in self._edges if below == node])


EXPECTED = {"a": None, "b": "a", "c": "a", "d": "c", "e": None}
FORMS = {
    "nested": {"a": {"b": {}, "c": {"d": None}}, "e": {}},
    "lists of leaves": {"a": {"b": (), "c": ["d"]}, "e": None},
    "paths": [("a", "b"), ("a", "c", "d"), ("e",)],
    "lists as paths": [["a"], ["a", "b"], ["a", "c"], ["a", "c", "d"], ["e"]],
    "node to parent": EXPECTED,
    "children first": dict(reversed(EXPECTED.items())),
    "minus one": {"e": -1, "d": "c", "c": "a", "b": "a", "a": -1},
    "names of NumPy": {np.str_(name): above for name, above in EXPECTED.items()},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_all_forms_mean_the_same(form):
    found = Taxonomy.of(form)
    assert {name: found.parent(name) for name in found.names} == EXPECTED
    assert all(type(name) is str for name in found.names)
    assert set(found.children("a")) == {"b", "c"}
    assert found.ancestors("d") == ("a", "c")
    assert found.children("d") == found.ancestors("e") == ()
    assert found.depths[found.position("d")] == 2
    assert {name for name, leaf in zip(found.names, found.leaves, strict=True) if leaf} == {
        "b",
        "d",
        "e",
    }


def test_a_graph_and_an_array_are_refused_with_what_to_give():
    graph = Graph([("a", "b"), ("c", "d"), ("a", "c")], ["e"])
    conversion = "{node: next(iter(graph.predecessors(node)), None) for node in graph}"
    with refused(TypeError, "a graph", conversion):
        Taxonomy.of(graph)
    found = Taxonomy.of(eval(conversion, {"graph": graph}))
    assert {name: found.parent(name) for name in found.names} == EXPECTED
    parents, conversion = [2, -1, 1], "dict(enumerate(parents))"
    for given in (parents, np.array(parents), [2, None, 1]):
        with refused(TypeError, "an array of parents", conversion):
            Taxonomy.of(given)
    found = Taxonomy.of(eval(conversion, {"parents": parents}))
    assert_array_equal(found.parents, parents)
    assert found.names == (0, 1, 2)


def test_texts_are_named_by_the_whole_way():
    found = Taxonomy.of(["a/x", "b/x", "a/x/y", "a/x"])
    assert found.names == ("a", "a/x", "b", "b/x", "a/x/y")
    assert found.ancestors("a/x/y") == ("a", "a/x")
    assert Taxonomy.of(["a.x", "a/x"], separator=".").names == ("a", "a.x", "a/x")


def test_columns_stay_where_they_were_given():
    found = Taxonomy.of({0: 2, 1: -1, 2: 1})
    assert found.names == (0, 1, 2)
    assert_array_equal(found.parents, [2, -1, 1])
    assert_array_equal(found.order, [1, 2, 0])
    assert Taxonomy.of({0: 2, 1: None, 2: 1}) == found


def test_a_taxonomy_is_its_own_form():
    found = Taxonomy.of(FORMS["paths"])
    assert Taxonomy.of(found) is found


def test_it_is_a_value():
    found, other = Taxonomy.of(FORMS["nested"]), Taxonomy.of(FORMS["children first"])
    assert found == Taxonomy.of(FORMS["lists of leaves"])
    assert found != other  # another order of the columns
    assert found != "taxonomy"
    copies = [
        copy.deepcopy(found),
        pickle.loads(pickle.dumps(found)),
        Taxonomy(**found.get_params()),
    ]
    assert all(same == found and hash(same) == hash(found) for same in copies)
    assert repr(found) == "<Taxonomy of 5 nodes, 2 roots, 3 levels>"
    with pytest.raises(ValueError, match="read-only"):
        found.parents[0] = 3


def test_a_long_chain_is_no_recursion():
    nested = {}
    for i in reversed(range(3000)):
        nested = {i: nested}
    found = Taxonomy.of(nested)
    assert len(found.levels) == 3000
    assert found.closure(np.eye(3000)[-1:]).all()


@seeds
def test_rows_are_closed_upward(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, int(rng.integers(1, 15)))
    taxonomy = Taxonomy.of(as_parents(forest))
    Y = random_rows(rng, 30, len(forest))
    before = Y.copy()
    closed = taxonomy.closure(Y)
    assert_array_equal(Y, before)
    assert_array_equal(closed, [hierarchy.closed(forest, row) for row in Y])
    taxonomy.check(closed)
    for row in Y:
        if hierarchy.contradicts(forest, row):
            with pytest.raises(ValueError, match="row 0 has the label"):
                taxonomy.check(row[None, :])
        else:
            taxonomy.check(row[None, :])


@seeds
def test_parents_come_first(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, 12)
    taxonomy = Taxonomy.of(as_parents(forest))
    places = np.argsort(taxonomy.order)
    assert_array_equal(np.sort(taxonomy.order), np.arange(12))
    assert all(above is None or places[above] < places[i] for i, above in enumerate(forest))
    assert_array_equal(taxonomy.depths, [len(hierarchy.ancestors(forest, i)) for i in range(12)])


@seeds
def test_names_and_indicators_are_the_same(seed):
    rng = np.random.default_rng(seed)
    taxonomy = Taxonomy.of(
        {
            f"n{i}": above if above is None else f"n{above}"
            for i, above in enumerate(random_forest(rng, 9))
        }
    )
    Y = random_rows(rng, 20, 9)
    assert_array_equal(taxonomy.indicator(taxonomy.named(Y)), Y)
    assert_array_equal(taxonomy.indicator(map(set, taxonomy.named(Y))), Y)


BAD = {
    "a cycle of parents": ({"a": "c", "b": "a", "c": "b"}, "cycle", "'a' → 'b' → 'c' → 'a'"),
    "a cycle below nothing": ({0: 1, 1: 0, 2: 1}, "cycle", "0 → 1 → 0"),
    "its own parent": ({0: -1, 1: 1}, "cycle", "1 → 1"),
    "a path that comes back": ([("a", "b", "a")], "('a', 'b', 'a') comes back", "cycle"),
    "an unknown parent": ({"a": None, "b": "x"}, "'x' is the parent of 'b'", "None for a root"),
    "an unknown number": ({0: -1, 1: 0, 2: 7}, "7 is the parent of 2"),
    "a negative number": ({0: -1, 1: -2}, "-2 is the parent of 1"),
    "two parents in paths": ([("a", "x"), ("b", "x")], "'x' is below 'a' and below 'b'", "path"),
    "a root below another": ([("a", "b"), ("b", "c")], "'b' is below 'a' and a root"),
    "named twice": ({"a": ["x"], "b": ["x"]}, "names 'x' twice"),
    "named twice in a list": ({"a": ["x", "x"]}, "names 'x' twice"),
    "no node": ({}, "empty"),
    "no path": ([], "empty"),
    "an empty path": ([("a",), ()], "path without a name"),
    "an empty part": (["a//b"], "'a//b' has a part without letters"),
    "None as a name": ([("a", None)], "None cannot be the name"),
    "NaN as a name": ({"a": [float("nan")]}, "nan cannot be the name"),
    "a list as a name": ([("a", ["b"])], "['b'] cannot be the name"),
    "a set has no order": ({"a": {"b", "c"}}, "cannot be the name"),
    "a child among dictionaries": ({"a": {"b": {}}, "c": "b"}, "'b' below 'c'", "or None"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_what_is_no_forest_is_refused(case):
    given, *message = case
    with refused(ValueError, *message):
        Taxonomy.of(given)


@pytest.mark.parametrize(
    ("given", "message"),
    table(
        {
            "a text": ("a/b", "taxonomy='a/b'"),
            "a number": (3, "taxonomy=3"),
            "mixed": ([("a",), 3], "types int, tuple"),
            "floats": ([0.5, -1.0], "types float"),
            "truth values": ([True, False], "types bool"),
        }
    ),
)
def test_other_things_are_refused(given, message):
    with refused(TypeError, message, "is expected"):
        Taxonomy.of(given)


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        (["a", "b"], [-1], "2 names and 1 parents"),
        (["a", "a"], [-1, -1], "'a' twice"),
        (["a"], [1], "from -1, for a root, to 0"),
        (["a"], [-1.0], "integers"),
        (["a", None], [-1, 0], "None cannot be the name"),
    ],
)
def test_what_comes_from_a_file_is_looked_at(names, parents, message):
    with refused(ValueError, message):
        Taxonomy(names, parents)


def test_unknown_labels_are_refused():
    taxonomy = Taxonomy.of([("a", "b")])
    with refused(ValueError, "'x' is no node", "'a', 'b'"):
        taxonomy.indicator([["b"], ["a", "x"]])
    with refused(ValueError, "['b'] is no node"):
        taxonomy.position(["b"])


@pytest.mark.parametrize("Y", [np.ones((2, 3)), np.ones(2)])
def test_rows_of_another_forest_are_refused(Y):
    taxonomy = Taxonomy.of([("a", "b")])
    for ask in (taxonomy.check, taxonomy.closure):
        with refused(ValueError, "an indicator matrix (n, 2)", str(Y.shape)):
            ask(Y)


def test_the_contradiction_is_named():
    taxonomy = Taxonomy.of([("a", "b", "c")])
    with refused(ValueError, "row 1 has the label 'b' without 'a'", "closure adds them"):
        taxonomy.check([[1, 1, 1], [0, 1, 0]])
