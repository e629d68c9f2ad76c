"""The encoder of tables: every kind of column against its definition, and the laws they share."""

import pickle
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from squareone.errors import (
    EmptyColumnWarning,
    IdentifierWarning,
    ScaleError,
    UnseenValuesWarning,
)
from squareone.tables import TableEncoder
from tests.estimators.data import refused
from tests.reference import table_encoding as reference

rng = np.random.default_rng(0)
n = 60
people = pd.DataFrame(
    {
        "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(18, 80, n)),
        "income": np.exp(rng.normal(size=n)),
        "city": rng.choice(["Bern", "Oslo", "Rome", "Zürich"], n, p=[0.4, 0.3, 0.28, 0.02]),
        "street": [f"s{k}" for k in rng.integers(0, 40, n)],
        "member": rng.random(n) < 0.3,
        "since": pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="h"),
    }
)
y = rng.normal(size=n) + people["member"]


def column(values):
    """A table of one column, of Python's objects."""
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


def encoded(training, new, y=None, **parameters):
    encoder = TableEncoder(random_state=0, **parameters).fit(column(training), y)
    return encoder.transform(column(new))


# --- every kind, by its definition ---

numbers = [3.0, None, 1.0, 4.0, 1.0, 5.0, np.nan, 9.0, 2.0, 6.0]
ties = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 5.0, 5.0, 7.0, 9.0]
letters = list("aaaabbbbccccddef")
when = [datetime(2019, 12, 30, 23, 15) + timedelta(hours=31 * k, minutes=7 * k) for k in range(40)]


@pytest.mark.parametrize("training", [numbers, [v for v in numbers if v == v and v is not None]])
def test_standard_numbers(training):
    new = [0.5, 9.0, 100.0, None]
    assert_allclose(encoded(training, new), reference.standard(training, new), rtol=1e-13)


def test_quantiles():
    new = [-3.0, 0.0, 0.5, 1.0, 1.9, 2.0, 3.0, 5.0, 8.0, 9.0, 11.0]
    found = encoded(ties, new, scaling="quantile")
    assert_allclose(found, reference.quantile(ties, new), atol=1e-13)


spike = [0.0] * 30 + [0.5 * k**1.5 for k in range(1, 14)]


@pytest.mark.parametrize("most", [1, 2, 4, 64])
@pytest.mark.parametrize("training", [numbers, ties, spike, [*spike[29:], None, None]])
def test_pieces(training, most):
    new = [-3.0, 0.0, 0.3, 1.0, 1.9, 2.0, 5.0, 8.0, 30.0, 1e9, *[None] * (None in training)]
    found = encoded(training, new, scaling="pieces", n_pieces=most)
    assert_allclose(found, reference.pieces(training, new, most), rtol=1e-12, atol=1e-15)


def test_names_of_pieces():
    names = TableEncoder(scaling="pieces").fit([[0.0], [0.25], [7.0]]).get_feature_names_out()
    assert names.tolist() == ["x0:0 to 0.25", "x0:0.25 to 7"]
    large = [[1_000_001.0], [1_000_002.0], [1_000_003.0]]
    names = TableEncoder(scaling="pieces").fit(large).get_feature_names_out()
    assert names.tolist() == ["x0:1000001 to 1000002", "x0:1000002 to 1000003"]


def test_the_sum_of_pieces_rises_with_the_number():
    values = np.sort(rng.lognormal(0, 3, (500, 1)), axis=0)
    sums = TableEncoder(scaling="pieces").fit(values).transform(values).sum(axis=1)
    assert (np.diff(sums) > 0).all()


@pytest.mark.parametrize("training", [[0.0, 5e-324], [0.0, 1e-310, 1.0], [-1e120, 1e120, 0.0]])
def test_pieces_of_any_size(training):
    found = encoded(training, training, scaling="pieces")
    assert np.isfinite(found).all()
    assert_allclose(found.var(axis=0).sum(), 1.0)


@pytest.mark.parametrize("training", [[True, False, True], [True, None, False, np.bool_(True)]])
def test_booleans(training):
    new = [True, False, None, 1, 0.0, "true"]
    plain = [True, False, None, True, False, True]
    assert_array_equal(encoded(training, new), reference.booleans(training, plain))


@pytest.mark.parametrize("rare", [1, 3, 5])
@pytest.mark.parametrize("gaps", [[], [None, "", "  "]])
@pytest.mark.parametrize("training", [letters, list("aab"), list("abc"), list("aaabbbc")])
def test_words(training, gaps, rare):
    new = ["a", "b", "c", "f", "new", None, " "]
    found = encoded(training + gaps, new, rare=rare)
    assert_allclose(found, reference.words(training + gaps, new, rare), rtol=1e-15)


@pytest.mark.parametrize("gaps", [[], [None] * 5])
@pytest.mark.parametrize("smoothing", [0.0, 2.5])
def test_target_means(gaps, smoothing):
    training, targets = letters + gaps, rng.normal(size=16 + len(gaps))
    new = ["a", "f", "new", None]
    found = encoded(training, new, targets, max_levels=4, smoothing=smoothing)
    expected = reference.target_means(training, targets.tolist(), new, smoothing)
    if not gaps:
        expected[-1] = [0.0]
    assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_dates():
    new = [datetime(2020, 2, 29, 12), datetime(2020, 12, 31), datetime(1969, 5, 1, 6, 30)]
    found = encoded(when, new)
    assert_allclose(found, reference.dates(when, new), rtol=1e-12, atol=1e-12)
    names = TableEncoder().fit(column(when)).get_feature_names_out().tolist()
    assert names[:5] == [
        "x0",
        "x0:season sin",
        "x0:season cos",
        "x0:time of day sin",
        "x0:time of day cos",
    ]
    assert names[5:7] == ["x0:Monday", "x0:Tuesday"]


def test_only_parts_of_dates_that_vary():
    days = [datetime(2020, 1, 6) + timedelta(weeks=k) for k in range(5)]
    names = TableEncoder().fit(column(days)).get_feature_names_out().tolist()
    assert names == ["x0", "x0:season sin", "x0:season cos"]
    gone = encoded([*days, None], [None])
    assert_array_equal(gone[0, 1:], [0.0, 0.0, 1.0])


def test_dates_by_their_ranks():
    found = encoded(when, when, scaling="quantile")[:, 0]
    assert_allclose(found, encoded(np.arange(40.0), np.arange(40.0), scaling="quantile")[:, 0])


def test_ordered_categories():
    sizes = ["small", "medium", "large", "huge"]
    values = pd.Categorical(["small", "large", "medium", "large", None] * 3, sizes, ordered=True)
    encoder = TableEncoder().fit(pd.DataFrame({"size": values}))
    names = encoder.get_feature_names_out().tolist()
    assert names == ["size=large", "size=medium", "size=small", "size=(gap)", "size:order"]
    new = pd.DataFrame({"size": ["small", "medium", "large", "huge", None, "none"]})
    order = encoder.transform(new)[:, -1]
    places = [0.0, 2.0, 1.0, 2.0] * 3
    expected = reference.standard(places, [0.0, 1.0, 2.0, 3.0, 1.5, 1.5])
    assert_allclose(order, np.ravel(expected))
    assert encoder.unseen(new) == {"size": (2, 0)}


def test_hashes():
    levels = [f"level {k}" for k in range(200)]
    encoder = TableEncoder(n_hash=300, drop_identifiers=False).fit(column(levels))
    found = encoder.transform(column([*levels, "new", None]))
    distances = ((found[:201, None] - found[None, :201]) ** 2).sum(axis=2)
    assert_allclose(distances[~np.eye(201, dtype=bool)], 1.0, atol=0.3)
    assert_array_equal(found[-1], 0.0)
    assert encoder.unseen(column(["new", None])) == {"x0": (0, 1)}
    # the same in every process
    assert_array_equal(np.sign(found[0, :8]), np.sign(encoder.transform(column(levels[:1]))[0, :8]))
    gaps = TableEncoder(many_levels="hash", max_levels=5).fit(column([*letters, None]), range(17))
    assert np.abs(gaps.transform(column([None]))).min() > 0


def test_several_targets_and_classes():
    words = column(list("abcdefgh") * 4)
    three = np.array(["x", "y", "z", "y"] * 8)
    encoder = TableEncoder(max_levels=5).fit(words, three)
    assert encoder.get_feature_names_out().tolist() == [f"x0:mean {c}" for c in "xyz"]
    found = encoder.transform(words)
    for k, each in enumerate("xyz"):
        alone = TableEncoder(max_levels=5).fit(words, (three == each).astype(float))
        assert_allclose(found[:, k] * np.sqrt(3), alone.transform(words)[:, 0])
    assert TableEncoder(max_levels=5).fit_transform(words, three == "x").shape == (32, 1)
    two = rng.normal(size=(32, 2))
    assert TableEncoder(max_levels=5).fit(words, two).get_feature_names_out().size == 2
    whole = np.arange(32) % 25
    assert TableEncoder(max_levels=5).fit_transform(words, whole).shape == (32, 1)
    classes = TableEncoder(max_levels=5, task="classification")
    assert classes.fit_transform(words, whole).shape == (32, 25)
    for wrong in (["u", "v"] * 16, [*range(31), np.nan], np.ones((2, 2, 8))):
        with pytest.raises(ValueError, match=r"numeric|NaN|shape"):
            TableEncoder(task="regression").fit(words, wrong)
    with refused(ValueError, "inconsistent numbers of samples", "32 rows", "(31,)"):
        TableEncoder().fit(words, three[1:])


# --- laws ---


def test_means_never_use_the_own_target():
    words = column([f"level {k}" for k in rng.integers(0, 12, n)])
    targets = rng.normal(size=n)
    encoder = TableEncoder(max_levels=5, random_state=3)
    before = encoder.fit_transform(words, targets)
    for row in range(n):
        changed = targets.copy()
        changed[row] += 100.0
        after = encoder.fit_transform(words, changed)
        assert_array_equal(after[row], before[row])
    assert np.abs(after - before).max() > 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_those_of_an_encoder_of_the_other_folds(weighted):
    words = column([f"level {k}" for k in rng.integers(0, 8, n)])
    targets = rng.normal(size=n)
    weights = rng.random(n) if weighted else None
    encoder = TableEncoder(max_levels=5, n_folds=3, random_state=0)
    found = encoder.fit_transform(words, targets, weights)
    folds = np.random.RandomState(0).permutation(n) % 3
    for fold in range(3):
        rest = folds != fold
        other = clone(encoder).fit(words[rest], targets[rest], weights[rest] if weighted else None)
        assert_allclose(found[~rest], other.transform(words[~rest]))


def test_all_rows_are_what_new_rows_get():
    encoder = TableEncoder(max_levels=5, random_state=0)
    first = encoder.fit_transform(people, y)
    means = encoder.get_feature_names_out().tolist().index("street:mean")
    later = encoder.transform(people)
    others = np.arange(first.shape[1]) != means
    assert_array_equal(first[:, others], later[:, others])
    assert np.abs(first[:, means] - later[:, means]).max() > 0.1
    assert_array_equal(encoder.fit(people, y).transform(people), later)


def test_permuted_columns_permute_outputs():
    encoder = TableEncoder(max_levels=20, random_state=0)
    first = pd.DataFrame(encoder.fit_transform(people, y), columns=encoder.get_feature_names_out())
    order = ["street", "since", "age", "city", "member", "income"]
    second = encoder.fit_transform(people[order], y)
    assert_array_equal(first[encoder.get_feature_names_out()], second)
    assert_array_equal(encoder.transform(people), encoder.transform(people[order]))


@pytest.mark.parametrize("rows", [200, 5000])
@pytest.mark.parametrize("change", [np.exp, np.cbrt, lambda x: 1e-9 * x - 5])
def test_quantiles_do_not_change_with_an_increasing_map(change, rows):
    values = np.random.default_rng(1).normal(size=(rows, 1)).round(2 if rows == 200 else 9)
    encoder = TableEncoder(scaling="quantile")
    expected = encoder.fit_transform(values)
    most = 1e-9 if rows == 200 else 0.01
    assert_allclose(encoder.fit_transform(change(values)), expected, atol=most)


def test_quantiles_are_normal_and_have_ends():
    values = rng.exponential(size=(20_000, 1))
    found = TableEncoder(scaling="quantile").fit(values)
    scores = found.transform(values)[:, 0]
    assert abs(scores.mean()) < 0.01
    assert abs(scores.std() - 1) < 0.01
    ends = found.transform([[-1e9], [values.min()], [values.max()], [1e9]])[:, 0]
    assert ends[0] == ends[1]
    assert ends[2] == ends[3]
    assert_allclose(-ends[:2], ends[2:])


@pytest.mark.parametrize("scaling", ["standard", "quantile", "pieces"])
def test_a_weight_is_so_many_rows(scaling):
    weights = rng.integers(0, 4, n)
    repeated = people.loc[np.repeat(np.arange(n), weights)]
    encoder = TableEncoder(scaling=scaling, max_levels=10, drop_identifiers=False)
    weighted = encoder.fit(people, y, weights).transform(people)
    again = encoder.fit(repeated, np.repeat(y, weights)).transform(people)
    assert_allclose(weighted, again, rtol=1e-9, atol=1e-12)
    some = weights > 0
    dropped = encoder.fit(people[some], y[some], weights[some]).transform(people)
    assert_array_equal(weighted, dropped)
    first = encoder.set_params(random_state=0).fit_transform(people, y, weights)
    assert_array_equal(first[some], encoder.fit_transform(people[some], y[some], weights[some]))


@pytest.mark.parametrize("scaling", ["standard", "quantile", "pieces"])
def test_what_is_kept(scaling):
    encoder = TableEncoder(scaling=scaling, random_state=0, max_levels=30).fit(people, y)
    again = pickle.loads(pickle.dumps(encoder))
    assert_array_equal(again.transform(people), encoder.transform(people))
    assert encoder.n_features_in_ == 6
    assert encoder.feature_names_in_.tolist() == list(people)
    assert not hasattr(clone(encoder), "columns_")
    narrow = clone(encoder).set_params(dtype="float32").fit(people, y).transform(people)
    assert narrow.dtype == np.float32
    assert_allclose(narrow, encoder.transform(people), rtol=1e-6, atol=1e-6)
    assert encoder.output_columns_.size == encoder.get_feature_names_out().size
    for name, source in zip(encoder.get_feature_names_out(), encoder.output_columns_, strict=True):
        assert name.startswith(source)
    assert list(dict.fromkeys(encoder.output_columns_)) == list(people)
    with pytest.raises(NotFittedError):
        TableEncoder().transform(people)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_come_out(kind):
    encoder = TableEncoder(random_state=0).set_output(transform=kind)
    found = encoder.fit_transform(people, y)
    assert list(found.columns) == encoder.get_feature_names_out().tolist()
    plain = TableEncoder(random_state=0).fit_transform(people, y)
    assert_array_equal(found.to_numpy(), plain)


# --- what a column is taken for ---

KINDS = {
    "numbers as text": (["1.5", "2e3", " 7 ", "", "nan", "1"], "number"),
    "not plain numbers": (["1,234", "12", "7", "9"], "words"),
    "digits with underscores": (["1_000", "12", "7", "9"], "words"),
    "codes": (["02139", "10115", "10115", "8001"], "words"),
    "dates as text": (["2020-01-31", "2020-02-01T10:00", "2021-01-01 08:00:01.5", None], "date"),
    "no such date": (["2020-02-30", "2020-02-01", "2020-02-02"], "words"),
    "dates with a zone": (["2020-01-31T00:00Z", "2020-02-01T10:00+05:30"], "date"),
    "words and numbers": (["a", 1, 2.5, "a", None], "words"),
    "booleans and numbers": ([True, 2.5, 0.0], "number"),
    "durations": ([timedelta(seconds=3), None, timedelta(days=1)], "number"),
    "years, each once": (list(range(1990, 2020)), "number"),
    "prices, each once": ([100 + 37 * k * k for k in range(20)], "number"),
    "measurements, each once": (np.arange(20.0).tolist(), "number"),
    "measurements without repeats": (rng.permutation(24)[:12].tolist(), "number"),
    "steps of two": (list(range(0, 100, 2)), "number"),
    "consecutive, from five on": (list(range(5, 55)), "number"),
    "consecutive years": (list(range(1971, 2021)), "number"),
    "integers that float64 merges": ([2**62 + k % 4 for k in range(20)], "words"),
    "the same as text": ([str(2**62 + k % 4) for k in range(20)], "words"),
    "large integers, each once": ([2**63 + k for k in range(20)], "identifier"),
    "large integers far apart": ([2**62 + 10**12 * k * k for k in range(20)], "number"),
    "texts, each once": ([f"name {k}" for k in range(20)], "identifier"),
    "few rows": ([f"name {k}" for k in range(6)], "words"),
    "a value or none": ([5, None, 5, 5], "presence"),
    "a word or none": (["x", None, "x"], "presence"),
    "constant": (["x", "x", "x"], "constant"),
    "few numbers": ([1, 2, 1, 2, 3], "number"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name):
    values, kind = KINDS[name]
    table = np.column_stack([column(values), column(rng.normal(size=len(values)).tolist())])
    encoder = TableEncoder().fit(table)
    assert encoder.columns_[0].kind == kind
    assert (kind in ("constant", "identifier")) == ("x0" in encoder.dropped_)
    found = encoder.transform(table)
    assert np.isfinite(found).all()
    assert found.shape[1] == sum(len(c.outputs) for c in encoder.columns_)
    assert f"x0      {kind}" in encoder.summary()


@pytest.mark.parametrize(
    "values",
    [
        rng.permutation(20).tolist(),
        list(range(1, 21)),
        list(map(str, range(1, 21))),
        np.arange(400)[rng.permutation(400)[:300]].tolist(),
    ],
    ids=["from 0", "from 1", "as text", "a random part"],
)
def test_running_numbers_are_dropped_with_a_warning(values):
    frame = pd.DataFrame({"place": values, "x": rng.normal(size=len(values))})
    with pytest.warns(IdentifierWarning, match="column 'place' of X looks like a running number"):
        encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0].kind == "identifier"
    assert TableEncoder(drop_identifiers=False).fit(frame).dropped_ == {}
    assert TableEncoder().fit(frame.rename(columns={"place": "row id"})).dropped_.keys() == {
        "row id"
    }


LARGE = [2**62, 2**62 + 1, 2**62 + 5, 2**62 + 7] * 5


FRAMES_OF_LARGE = {
    "pandas": lambda: pd.DataFrame({"x0": LARGE}),
    "unsigned": lambda: pd.DataFrame({"x0": np.array(LARGE, np.uint64)}),
    "nullable": lambda: pd.DataFrame({"x0": pd.array(LARGE, dtype="Int64")}),
    "polars": lambda: polars.DataFrame({"x0": LARGE}),
    "arrow": lambda: pytest.importorskip("pyarrow").table({"x0": LARGE}),
    "array": lambda: np.array(LARGE)[:, None],
    "lists": lambda: [[value] for value in LARGE],
}


@pytest.mark.parametrize("kind", FRAMES_OF_LARGE)
def test_integers_that_float64_does_not_tell_apart(kind):
    frame = FRAMES_OF_LARGE[kind]()
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0].outputs == tuple(f"x0={value}" for value in LARGE[:4])
    found = encoder.transform(frame)
    assert_allclose(found[:4], np.eye(4) / np.sqrt(2))
    later = [[LARGE[1]], [2**62 + 2]]
    if hasattr(encoder, "feature_names_in_"):
        later = pd.DataFrame(later, columns=["x0"])
    assert_allclose(encoder.transform(later), [found[1], np.zeros(4)])


def test_large_numbers_are_scaled_as_others():
    values = 1e15 + rng.uniform(0.1, 1, 50)
    scaled = TableEncoder().fit_transform(column(values.tolist()))
    assert_allclose(scaled.std(), 1.0)


def test_identifiers_by_name():
    values = [3 + 17 * k for k in range(20)]
    for name in ("PassengerId", "user_id", "ID", "order key", "uuid"):
        frame = pd.DataFrame({name: values, "x": rng.normal(size=20)})
        assert "called" in TableEncoder().fit(frame).dropped_[name]
        kept = TableEncoder(drop_identifiers=False).fit(frame)
        assert kept.dropped_ == {}
    for name in ("width", "humidity", "idle"):
        assert TableEncoder().fit(pd.DataFrame({name: values})).dropped_ == {}


def test_what_does_not_vary():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "none": [None] * 3, "nan": np.nan, "one": 1})
    with pytest.warns(EmptyColumnWarning, match="'none', 'nan' of X have no value"):
        encoder = TableEncoder().fit(frame)
    assert list(encoder.dropped_) == ["none", "nan", "one"]
    assert encoder.dropped_["one"] == "constant: 1 in each of 3 rows"
    assert_array_equal(encoder.transform(frame[["a"]]), encoder.transform(frame))
    with refused(ValueError, "no column to encode in 1 sample", "'x0' (constant"):
        TableEncoder().fit([[1.0]])


# --- later rows ---


def test_what_is_unseen():
    frame = pd.DataFrame({"city": list("aaabbbccc"), "x": np.arange(9.0) ** 2})
    encoder = TableEncoder(random_state=0).fit(frame)
    new = pd.DataFrame({"city": [*"abcd", None] * 10, "x": [1.0, None] * 25})
    assert encoder.unseen(new) == {"city": (10, 10), "x": (0, 25)}
    assert encoder.unseen(frame) == {}
    state = pickle.dumps(encoder)
    with pytest.warns(UnseenValuesWarning) as caught:
        found = encoder.transform(new)
    assert pickle.dumps(encoder) == state
    for text in ("'city' (10 rows with levels", "10 with gaps", "'x' (0 rows", "25 with gaps"):
        assert text in str(caught[0].message)
    assert_array_equal(found[3:5, :3], 0.0)
    assert found[1, 3] == encoder.transform(frame)[4, 3]  # the median
    encoder.transform(new[:9])  # of a few rows nothing is said


def test_missing_and_other_columns():
    encoder = TableEncoder(random_state=0).fit(people, y)
    wider = people.assign(target=y)[["target", *reversed(list(people))]]
    assert_array_equal(encoder.transform(wider), encoder.transform(people))
    with refused(ValueError, "X has no column 'city' (is 'City' meant?)"):
        encoder.transform(people.rename(columns={"city": "City"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = encoder.transform(people.to_numpy(dtype=object))
    assert_array_equal(found, encoder.transform(people))
    with refused(ValueError, "X has 5 features, but TableEncoder is expecting 6"):
        encoder.transform(people.to_numpy(dtype=object)[:, 1:])


CHANGED = {
    "words among numbers": ([1.5, 2.5, 3.5], [2.0, "x"], ["had numbers", "'x' in row 1"]),
    "a date": ([1.5, 2.5, 3.5], [datetime(2020, 1, 1)], ["had numbers", "2020", "row 0"]),
    "no boolean": ([True, False], [None, 2], ["had booleans", "2 in row 1"]),
    "no date": (["2020-01-01", "2020-01-02"], ["2020-01-01", "soon"], ["times", "'soon' in row 1"]),
    "a zone": ([datetime(2020, 1, 1), datetime(2020, 1, 2)], ["2020-01-01T00:00Z"], ["time zone"]),
    "infinite": ([1.5, 2.5], [2.0, np.inf], ["'x0' holds inf in row 1", "finite"]),
    "huge": ([1, 2], [2, 10**400], ["'x0' holds a number beyond", "row 1"]),
    "dates among words": (["a", "b"], [datetime(2020, 1, 1)], ["had words", "row 0"]),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_column_that_changed(case):
    training, new, message = CHANGED[case]
    encoder = TableEncoder(drop_identifiers=False).fit(column(training))
    with refused(ValueError, *message):
        encoder.transform(column(new))


def test_too_far_from_the_training_rows():
    encoder = TableEncoder(dtype=np.float32).fit([[1.0], [1.5]])
    with refused(ScaleError, "'x0' in row 1", "float32"):
        encoder.transform([[1.0], [1e200]])
    assert_allclose(TableEncoder().fit_transform([[-1e300], [1e300]])[:, 0], [-1, 1])
    assert_allclose(TableEncoder().fit_transform([[0.0], [1e-300]])[:, 0], [-1, 1])


def test_words_written_as_numbers_later():
    encoder = TableEncoder().fit(column(["a", 1, "2", "a", 1, "2"]), None)
    found = encoder.transform(column([1, 2.0, "1"]))
    assert_array_equal(found, encoder.transform(column(["1", "2", 1.0])))


def test_parameters_are_checked():
    for name, value in {
        "scaling": "minmax",
        "max_levels": 1,
        "rare": 0,
        "many_levels": "drop",
        "n_hash": 1000,
        "smoothing": -1,
        "task": "ranking",
        "n_folds": 1,
        "dtype": "int",
    }.items():
        with pytest.raises(ValueError, match=name):
            TableEncoder(**{name: value}).fit([[1.0], [2.0]])
    with refused(TypeError, "max_level", "did you mean 'max_levels'?"):
        TableEncoder(max_level=3)
