"""predict --intervals jackknife+: models of folds, fitted again from the training table."""

import csv
import io

import numpy as np
import pytest
from sklearn.base import clone

from squareone.report.outer_errors import outer_folds
from squareone.rows.table_reader import read_table
from squareone.tables.table_model import TableModel

from .conftest import houses, run, text_of


@pytest.fixture
def linear(table):
    arguments = ["--target", "price", "--drop", "dear", "--kernel", "linear", "--quick"]
    done = run("fit", "houses.csv", *arguments, "--no-report")
    assert done.exit_code == 0, done.output
    return table.parent


def ends_of(done):
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return np.array([[float(row["low"]), float(row["high"])] for row in rows])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ends_are_the_order_statistics_over_all_folds(linear):
    new = text_of(*houses(30, seed=1))
    asked = ["--intervals", "jackknife+", "--data", "houses.csv", "--coverage", "0.8"]
    done = run("predict", "houses.squareone", "-", *asked, stdin=new)
    found = ends_of(done)
    assert "fits 5 models again" in done.stderr
    assert "too narrow" not in done.stderr
    # by hand: each training row's own model, its error, and sorting
    model = TableModel.load("houses.squareone")
    table = read_table("houses.csv").table
    y = table.column("price").to_numpy()
    X, rows = table.select(model.needed), read_table(io.BytesIO(new.encode())).table
    low, high = [], []
    for train, test in outer_folds(y, "regression")[0]:
        again = clone(model.estimator).fit(X.take(train), y[train])
        there = again.predict(rows)
        for i, predicted in zip(test, again.predict(X.take(test)), strict=True):
            low.append(there - abs(y[i] - predicted))
            high.append(there + abs(y[i] - predicted))
    rank = int(np.ceil(0.8 * 81))
    np.testing.assert_allclose(found[:, 1], np.sort(high, axis=0)[rank - 1], rtol=1e-9)
    np.testing.assert_allclose(found[:, 0], np.sort(low, axis=0)[80 - rank], rtol=1e-9)
    truth = rows.column("price").to_numpy()
    assert np.mean((found[:, 0] <= truth) & (truth <= found[:, 1])) >= 0.6  # 2 · 0.8 − 1


def test_what_is_needed_is_said(linear):
    done = run("predict", "houses.squareone", "houses.csv", "--intervals", "jackknife+")
    assert done.exit_code == 2
    assert "--data TRAINING" in done.stderr
    (linear / "other.csv").write_text(text_of(*houses(90)))
    asked = ["--intervals", "jackknife+", "--data", "other.csv"]
    done = run("predict", "houses.squareone", "houses.csv", *asked)
    assert done.exit_code == 1
    assert "not the table that the model was fitted to" in done.stderr
    done = run("predict", "houses.squareone", "houses.csv", "--intervals", "adaptive")
    assert done.exit_code == 1  # a hyperplane has no training rows
    assert "jackknife+ with --data" in done.stderr


def test_intervals_that_depend_on_the_row(models):
    plain = run("predict", models / "price.squareone", models / "houses.csv")
    done = run(
        "predict", models / "price.squareone", models / "houses.csv", "--intervals", "adaptive"
    )
    widths = np.diff(ends_of(done), axis=1)[:, 0]
    assert widths.std() > 1e-6 * widths.mean()
    assert 0.3 < np.median(widths) / np.median(np.diff(ends_of(plain), axis=1)) < 3
