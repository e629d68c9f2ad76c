"""Row identity: labels stay with their rows, whatever is done to the table."""

import numpy as np
import pyarrow
import pytest

from squareone.errors import TableFileError
from squareone.labelling.row_identity import identities_of


def rows_of(cells, **more):
    table = pyarrow.table({"text": cells, **more})
    return identities_of(table, None)


def test_rows_are_known_by_their_cells_and_which_of_them_it_is():
    rows = rows_of(["a", "b", "a", None, "a"])
    assert rows.occurrences.tolist() == [0, 0, 1, 0, 2]
    assert rows.row(0)[0] == rows.row(2)[0] != rows.row(1)[0]
    assert len({rows.row(place) for place in range(5)}) == 5


def test_sorting_changes_nothing():
    cells = [f"text {i % 40}" for i in range(100)]
    rows, order = rows_of(cells), np.random.default_rng(0).permutation(100)
    other = rows_of([cells[i] for i in order])
    assert {rows.row(p) for p in range(100)} == {other.row(p) for p in range(100)}
    assert not other.changes_since(rows.packed())
    numbers = dict(zip(map(rows.row, range(100)), rows.random_numbers(3), strict=True))
    again = dict(zip(map(other.row, range(100)), other.random_numbers(3), strict=True))
    assert numbers == again


def test_what_is_new_missing_and_changed_is_counted():
    before = pyarrow.table({"id": [1, 2, 3, 4], "text": ["a", "b", "c", "d"]})
    after = pyarrow.table({"id": [4, 3, 2, 9], "text": ["d", "C", "b", "x"]})
    known = identities_of(before, "id")
    changes = identities_of(after, "id").changes_since(known.packed())
    assert (changes.new, changes.missing, changes.changed) == (1, 1, 1)
    changes = identities_of(after, None).changes_since(identities_of(before, None).packed())
    assert (changes.new, changes.missing, changes.changed) == (2, 2, 0)


@pytest.mark.parametrize("seed", range(5))
def test_changes_are_those_of_sets(seed):
    rng = np.random.default_rng(seed)
    texts = [f"t{i}" for i in range(60)]
    first, second = (rng.choice(texts, 80).tolist() for _ in range(2))
    one, two = rows_of(first), rows_of(second)
    sets = [{rows.row(place) for place in range(80)} for rows in (one, two)]
    changes = two.changes_since(one.packed())
    assert (changes.new, changes.missing) == (len(sets[1] - sets[0]), len(sets[0] - sets[1]))
    found = two.places_of(list(sets[0]))
    assert set(found) == sets[0] & sets[1]
    assert all(two.row(place) == row for row, place in found.items())


def test_cells_do_not_run_into_each_other():
    columns = [["ab", "a"], ["c", "bc"]]
    rows = identities_of(pyarrow.table({"x": columns[0], "y": columns[1]}), None)
    assert rows.row(0)[0] != rows.row(1)[0]
    numbers, texts = pyarrow.table({"x": [1]}), pyarrow.table({"x": ["1"]})
    assert identities_of(numbers, None).row(0) != identities_of(texts, None).row(0)
    # whole numbers become fractions where a gap turns up in the column
    with_gap = pyarrow.table({"x": pyarrow.array([1.0, None])})
    assert identities_of(numbers, None).row(0) == identities_of(with_gap, None).row(0)


def test_a_column_of_labels_does_not_count():
    table = pyarrow.table({"text": ["a", "b"], "label": [None, "x"]})
    other = pyarrow.table({"text": ["a", "b"], "label": ["y", "x"]})
    first, second = (identities_of(t, None, without=["label"]) for t in (table, other))
    assert first.row(0) == second.row(0)


def test_identifiers_that_are_none_are_refused():
    table = pyarrow.table({"id": [1, 2, 1], "gap": [1, None, 3]})
    with pytest.raises(TableFileError, match=r"row 3.*comes twice"):
        identities_of(table, "id")
    with pytest.raises(TableFileError, match=r"row 2.*missing"):
        identities_of(table, "gap")


def test_random_numbers_are_even_and_of_the_seed():
    rows = rows_of([f"text {i}" for i in range(4000)] + ["twin"] * 1000)
    numbers = rows.random_numbers(0)
    assert abs(numbers.mean() - 0.5) < 0.02
    assert np.histogram(numbers, 10, (0, 1))[0].min() > 400
    assert abs(np.corrcoef(numbers, rows.random_numbers(1))[0, 1]) < 0.06
    assert np.unique(numbers).size == 5000
