"""The comparison on tables, on made-up ones: reading, splits, features, the store, the report."""

import gzip
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from experiments import report, table_data, table_report, tables
from experiments.data import VARIABLE, DataNotFoundError
from experiments.table_contestants import (
    CONTESTANTS,
    Mean,
    Prediction,
    _as_people_have_it,
    numeric_features,
    tree_codes,
)
from experiments.table_data import Columns, load_table, split, table_names

N = 120


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one table for regression and one with classes, of every kind of column."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N).round(3)
    rooms, zone = rng.integers(1, 9, N), rng.choice(["north", "south", "west"], N)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.uniform(size=N) < 0.1, np.nan, x),
            "rooms": rooms,
            "zone": pd.Series(zone).where(rng.uniform(size=N) > 0.1),
            "sold": pd.date_range("2021-03-01 12:30", periods=N).astype(str),
            "target": x + rooms + (zone == "west"),
        }
    )
    folder = tmp_path / "data"
    (folder / "tables").mkdir(parents=True)
    frame.to_csv(folder / "tables" / "houses.csv.gz", index=False)
    frame["target"] = np.where(frame["target"] > 4.5, 2.0, 1.0)
    frame.to_csv(folder / "tables" / "dear.csv.gz", index=False)
    index = "name,task\nhouses,regression\ndear,classification\n"
    (folder / "tables" / "index.csv").write_text(index)
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setattr(table_data, "CACHE", tmp_path / "kept")
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    return folder


def test_a_table_is_what_pandas_reads(folder):
    table = load_table("houses")
    read = pd.read_csv(folder / "tables" / "houses.csv.gz")
    assert_array_equal(table.y, read.pop("target"))
    pd.testing.assert_frame_equal(table.columns.frame(), read)  # up to the last digits
    objects = table.columns.objects()
    assert_array_equal(pd.isna(objects), read.isna())
    assert [type(value) for value in objects[0]] == [float, int, str, str]


def test_numbers_of_classes_are_whole(folder):
    y = load_table("dear").y
    assert y.dtype.kind == "i"
    assert set(y.tolist()) == {1, 2}


def test_what_was_read_is_kept_until_the_file_changes(folder, monkeypatch):
    first = load_table("houses")
    monkeypatch.delenv(VARIABLE)
    assert table_names() == ["houses"]
    kept = load_table("houses")
    assert_array_equal(kept.y, first.y)
    pd.testing.assert_frame_equal(kept.columns.frame(), first.columns.frame())
    with pytest.raises(DataNotFoundError, match=f"no table 'dear' .* set {VARIABLE}"):
        load_table("dear")
    monkeypatch.setenv(VARIABLE, str(folder))
    with gzip.open(folder / "tables" / "houses.csv.gz", "wt") as file:
        file.write("a,target\n1,2.5\n3,4\n")
    assert_array_equal(load_table("houses").y, [2.5, 4.0])


def test_archives_are_tables_too(folder):
    X, sex = np.arange(6.0).reshape(3, 2), np.array(["M", "F", "I"])
    names = np.array(["length", "weight"])
    np.savez(folder / "abalone.npz", X=X, y=[3, 4, 5], feature_names=names, sex=sex)
    assert table_names() == ["abalone", "dear", "houses"]
    table = load_table("abalone")
    assert [*table.columns.words] == ["sex"]
    assert_array_equal(table.columns.numbers["weight"], X[:, 1])
    assert table.y.dtype == np.float64


def test_splits_are_those_of_the_protocol(folder):
    table = load_table("houses")
    order = np.random.RandomState(3).permutation(N)
    train, test, available = split(table, 3, at_most=20)
    assert_array_equal(train, order[:20])
    assert_array_equal(test, order[90:])
    assert available == 90
    for seed in range(2):
        in_time, later, _ = split(table._replace(name="chicago"), seed)
        assert_array_equal(in_time, np.arange(90))
        assert_array_equal(later, np.arange(90, N))


def columns(**of):
    return Columns({name: np.array(values) for name, values in of.items()})


def test_features_of_numbers_gaps_and_words():
    train = columns(a=[1.0, np.nan, 3.0, 2.0], w=["u", "v", "", "u"])
    test = columns(a=[np.nan, 5.0], w=["new", "v"])
    X, X_test = numeric_features(train, test)
    s = np.sqrt(0.5)
    # a standardised, its gaps, and the words "", u and v
    assert_allclose(X[:, 0], (np.array([1, 2, 3, 2]) - 2) / s)
    assert_array_equal(X[:, 1], [0, 1, 0, 0])
    assert_allclose(X[:, 2:], [[0, s, 0], [0, 0, s], [s, 0, 0], [0, s, 0]])
    assert_allclose(X_test, [[0, 1, 0, 0, 0], [3 / s, 0, 0, 0, s]], atol=1e-15)


def test_dates_are_parts_to_those_who_cannot_read_them():
    train = columns(when=["2024-01-01 06:30", "", "1970-01-02"])
    test = columns(when=["2024-12-31T00:00", "2024-01-01"])  # a Tuesday, which is not in train
    X, X_test, categorical = tree_codes(train, test)
    assert categorical == [False, False, False, True]
    days = 19_723  # from 1970 to 2024
    assert_allclose(X, [[days + 6.5 / 24, 1, 6.5, 0], [np.nan] * 4, [1, 2, 0, 1]])
    assert_allclose(X_test, [[days + 365, 366, 0, np.nan], [days, 1, 0, 0]])


def test_trees_are_those_of_pandas_categories(folder):
    table = load_table("houses")
    words = Columns({key: c for key, c in table.columns.columns.items() if key != "sold"})
    train, test, _ = split(table, 0)
    zones = words.columns["zone"].astype("U10")
    zones[test[:3]] = "elsewhere"  # not among the training rows
    words.columns["zone"] = zones
    frames = [words.take(rows).frame() for rows in (train, test)]
    for frame in frames:
        known = frame["zone"].where(frame["zone"] != "elsewhere")
        frame["zone"] = pd.Categorical(known, ["north", "south", "west"])
    native = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
    expected = native.fit(frames[0], table.y[train]).predict(frames[1])
    found = CONTESTANTS["trees"](words.take(train), table.y[train], words.take(test), 0)
    assert_array_equal(found.values, expected)


def test_figures_of_a_regression():
    y = np.arange(20.0)
    half = np.repeat([1.0, 2.0], 10)  # the widest intervals are those of the last rows
    values = y + np.where(y < 3, 1.5, 0.5)
    intervals = np.column_stack([values - half, values + half])
    found = tables.figures(Prediction(values, intervals=intervals), y)
    assert_allclose(found["error"], np.sqrt((3 * 1.5**2 + 17 * 0.5**2) / 20) / y.std())
    assert found["coverage"] == 17 / 20
    assert found["coverage_by_width"] == [0.0, 0.5] + [1.0] * 8
    assert_allclose(found["width"], 3 / y.std())


def test_figures_of_classes():
    y = np.array(["a", "b", "c", "b"])  # nobody has seen a c
    P = np.array([[0.5, 0.5], [0.25, 0.75], [1, 0], [1, 0]])
    prediction = Prediction(np.array(["a", "b", "a", "a"]), P, np.array(["a", "b"]))
    found = tables.figures(prediction, y)
    assert found["error"] == 50.0
    never = np.log(np.finfo(float).eps)
    assert_allclose(found["log_loss"], -(np.log(0.5) + np.log(0.75) + 2 * never) / 4)


def test_the_error_by_folds_is_compared_in_one_unit():
    y = np.array([0.0, 2.0, 4.0, 6.0])
    found = tables.figures(Prediction(y + np.array([1, -1, 1, 3]), by_folds=Mean(10.0, 2.0)), y)
    assert_allclose([found["square_by_folds"], found["square_by_folds_noise"]], [2.0, 0.4])
    assert_allclose([found["square"], found["square_noise"]], [3 / 5, 2 / 5])
    two = Prediction(
        np.array(["b", "a"]),
        classes=np.array(["a", "b"]),
        decisions=np.array([0.5, -0.2]),
        by_folds=Mean(0.3, 0.1),
    )
    found = tables.figures(two, np.array(["b", "b"]))
    assert_allclose([found["square"], found["square_by_folds"]], [(0.25 + 1.44) / 2, 0.3])
    more = Prediction(
        np.array([3, 1]),
        classes=np.array([1, 2, 3]),
        decisions=np.array([[-1, -1, 0.7], [1, 0, -1]]),
        by_folds=Mean(0.3, 0.1),
    )
    assert_allclose(tables.figures(more, np.array([3, 1]))["square"], (0.03 + 1 / 3) / 2)


@pytest.mark.parametrize("name", ["houses", pytest.param("dear", marks=pytest.mark.thorough)])
def test_auto_says_what_its_folds_promise(folder, name):
    table = load_table(name)
    train, test, _ = split(table, 0)
    parts = table.columns.take(train), table.y[train], table.columns.take(test)
    found = CONTESTANTS["auto"](*parts, 0)
    assert 0 < found.by_folds.noise < found.by_folds.value
    figures = tables.figures(found, table.y[test])
    apart = figures["square_by_folds"] - figures["square"]
    noises = figures["square_noise"], figures["square_by_folds_noise"]
    assert abs(apart) < 3 * np.hypot(*noises) < 1


@pytest.fixture
def program(folder, tmp_path, monkeypatch):
    """Run the experiment with threads for workers; return its store."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(
        tables, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(workers)
    )
    store = tmp_path / "store.jsonl"

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tables", "--store", str(store), *arguments])
        tables.main()
        return tables.read_store(store)

    return run


def test_the_store_gets_what_it_lacks(program, monkeypatch, capsys):
    some = ("--contestants", "trees", "trees_early", "--seeds", "0", "1")
    first = program(*some, "--tables", "houses")
    assert [(r["contestant"], r["seed"]) for r in first] == [
        ("trees", 0),
        ("trees_early", 0),
        ("trees", 1),
        ("trees_early", 1),
    ]
    assert {r["rows"] for r in first} == {90}
    assert max(r["error"] for r in first) < 0.9
    both = program(*some, "--rows", "all")  # of houses these are the same rows
    assert [r["table"] for r in both[4:]] == ["dear"] * 4
    assert all(r["log_loss"] > 0 for r in both[4:])
    assert len(program(*some, "--rows", "40")) == 16
    monkeypatch.setitem(CONTESTANTS, "xrfm", lambda *_: __import__("squareone.absent"))
    assert len(program("--contestants", "xrfm", "--seeds", "0")) == 16
    assert capsys.readouterr().out.count("xrfm is left out: No module named") == 1


def test_a_failure_is_tried_again(program, monkeypatch, capsys):
    def fails(*_):
        raise ValueError("no luck")

    monkeypatch.setitem(CONTESTANTS, "svm", fails)
    for _ in range(2):
        with pytest.raises(SystemExit, match="1 of 1 could not be measured"):
            program("--contestants", "svm", "--seeds", "0", "--tables", "dear")
    assert capsys.readouterr().out.count("ValueError: no luck") == 2


def _no_pandas(self):
    raise ModuleNotFoundError("No module named 'pandas'")


@pytest.mark.parametrize("name", ["houses", "dear"])
def test_everybody_predicts_without_pandas(folder, monkeypatch, name):
    monkeypatch.setattr("experiments.table_contestants.SETTINGS", 2)
    monkeypatch.setattr(Columns, "frame", _no_pandas)
    table = load_table(name)
    assert _as_people_have_it(table.columns).shape == (N, 4)
    chance = 1.0 if name == "houses" else 50.0
    train, test, _ = split(table, 0)
    for contestant in ("gauss", "svm", "trees_search"):
        predict = CONTESTANTS[contestant]
        parts = table.columns.take(train), table.y[train], table.columns.take(test)
        found = tables.figures(predict(*parts, 0), table.y[test])
        assert found["error"] < 0.8 * chance, contestant


def test_how_many_splits(folder):
    table = load_table("houses")
    everybody = ["trees", "auto_calibrated"]
    assert {job.contestant for job in tables.jobs_of(table, everybody, None, None)} == {"trees"}
    for other, seeds in (
        (table, 5),
        (table._replace(y=np.zeros(20_001)), 3),
        (table._replace(name="chicago"), 1),
    ):
        assert len([*tables.jobs_of(other, ["trees"], None, None)]) == seeds
    assert len([*tables.jobs_of(load_table("dear"), everybody, [7], None)]) == 2


def record(table, contestant, seed, error, rows=6_000, available=6_000, **more):
    return {
        "table": table,
        "contestant": contestant,
        "seed": seed,
        "rows": rows,
        "available": available,
        "test_rows": 2_000,
        "regression": True,
        "error": error,
        "date": "2020-01-01T00:00:00+00:00",
        "python": "3.12.0",
        "versions": {"numpy": "2.0.0"},
        **more,
    }


def made_up():
    """Auto is better on a, within the noise on b and worse on c; early stopping is worse always."""
    errors = {"a": (0.40, 0.39, 0.41), "b": (0.48, 0.53, 0.50), "c": (0.60, 0.61, 0.62)}
    for table, own in errors.items():
        for seed, error in enumerate(own):
            yield record(table, "auto", seed, error, coverage=0.9)
            yield record(table, "trees", seed, 0.5)
            yield record(table, "trees_early", seed, 0.55)


def test_differences_from_the_better_tree():
    results = table_report.Results(made_up(), 6_000)
    assert results.better_tree("a") == "trees"
    found = {table: results.against_trees(table, "auto") for table in "abc"}
    assert [found[table].verdict for table in "abc"] == ["better", "equal", "worse"]
    assert_allclose(found["a"].mean, -0.1)
    assert_allclose(found["a"].noise, 0.01 / np.sqrt(3))
    assert results.against_trees("a", "svm") is None
    ranks, tables = results.mean_ranks()
    assert tables == 3
    assert ranks == pytest.approx({"auto": 2, "trees": 4 / 3, "trees_early": 8 / 3})


def test_one_split_is_never_equal():
    both = [record("chicago", "auto", 0, 0.3), record("chicago", "trees", 0, 0.2999)]
    found = table_report.Results([*both, record("chicago", "trees_early", 0, 0.4)], None)
    assert found.against_trees("chicago", "auto").verdict == "worse"


def test_other_numbers_of_rows_are_another_report():
    records = [
        record("a", "trees", 0, 0.5, rows=6_000, available=9_000),
        record("a", "trees", 0, 0.4, rows=9_000, available=9_000),
        record("b", "trees", 0, 0.3, rows=70, available=70),
    ]
    means = {
        at_most: [table_report.Results(records, at_most).mean(t, "trees") for t in "ab"]
        for at_most in (6_000, None, 50)
    }
    assert means == {6_000: [0.5, 0.3], None: [0.4, 0.3], 50: [None, None]}


def test_goals_are_judged_where_there_is_something_to_judge():
    tenths = [0.9] * 9 + [0.95]
    records = [
        *made_up(),
        record("diamonds", "auto", 0, 0.15, coverage=0.905, coverage_by_width=tenths),
        record("california", "auto", 0, 0.41, 15_480, 15_480, coverage=0.8),
        record("california", "trees", 0, 0.40, 15_480, 15_480),
        record("california", "trees_early", 0, 0.5, 15_480, 15_480),
        *(record("spam", "auto", seed, 4.5, regression=False, log_loss=0.2) for seed in (0, 1)),
        *(
            record("spam", "auto_calibrated", s, 4.5, regression=False, log_loss=0.1)
            for s in (0, 1)
        ),
    ]
    found = {goal.what: goal for goal in table_report.goals(records)}
    assert len(found) == 16
    assert found["tables: auto no worse than the better tree"][2:] == ("2 of 3", None)
    of_wins = found["tables: the same without those that are equal"]
    assert of_wins.seen == "1 of 3 (smaller mean error on 1)"
    ratio = next(goal for what, goal in found.items() if what.startswith("california, all"))
    assert ratio[2:] == ("1.0250", False)
    assert found["diamonds: error of auto"].cells == (
        "diamonds: error of auto",
        "≤ 0.155",
        "0.15",
        "yes",
    )
    assert found["california: error of auto"].cells[2:] == ("–", "–")  # not at 6,000 rows
    by_width = next(goal for what, goal in found.items() if what.startswith("diamonds: share"))
    assert by_width[2:] == ("0.900 to 0.950", False)
    intervals = next(goal for what, goal in found.items() if what.startswith("share of 90 %"))
    assert intervals[2:] == ("90.0 to 90.5 % of 4 tables", True)
    loss = next(goal for what, goal in found.items() if what.startswith("log loss"))
    assert loss[2:] == ("0 of 1; worse: spam", False)


def test_folds_are_honest_within_two_standard_errors():
    def one(table, promised, **more):
        squares = {"square": 0.5, "square_noise": 0.03, "square_by_folds_noise": 0.04}
        return [
            record(
                table,
                "auto",
                seed,
                0.7,
                square_by_folds=promised + 0.02 * seed,
                **squares,
                **more,
            )
            for seed in (0, 1)
        ]

    def judged(*records):
        goals = table_report.goals([line for lines in records for line in lines])
        return next(goal for goal in goals if "by folds" in goal.what)

    few = one("vowel", 0.1, rows=1_500, available=1_500, test_rows=500)
    later = one("chicago", 0.1)
    assert judged(few, later).met is None
    fine = one("spam", 0.54), one("ames", 0.42)
    assert judged(*fine, few, later)[2:] == ("-1.4 to +1.0 of 2 tables", True)
    hopeful = judged(*fine, one("adult", 0.33))
    assert hopeful[2:] == ("-3.2 to +1.0 of 3 tables; outside: adult -3.2", False)


def test_the_report(folder, program, tmp_path):
    store = tmp_path / "store.jsonl"
    store.write_text("".join(json.dumps(line) + "\n" for line in made_up()))
    program("--report")
    text = (tmp_path / "results" / "tables.md").read_text(encoding="utf-8")
    assert "| a | RMSE/sd | 6,000 | 3 | – | 0.400 ± 0.006 | 0.500 ± 0.000 |" in text
    assert "| -0.100 ± 0.006: better |" in text
    assert "| auto | 3 | 2 | 1 | 1 | 1 | 1 | 2.00 |" in text
    assert "2020-01-01 with Python 3.12.0, numpy 2.0.0" in text
    assert (tmp_path / "results" / "tables-points.png").stat().st_size > 10_000
    program("--report", "--tables", "a")
    part = (tmp_path / "results" / "tables-partial.md").read_text(encoding="utf-8")
    assert "| b |" not in part
    with pytest.raises(SystemExit, match="nothing of these tables"):
        program("--report", "--tables", "elsewhere")
