"""Dask collections as X: the same fit, to the bit, wherever their blocks are."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone import (
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SVMClassifier,
)
from squareone.errors import (
    CheckpointError,
    MemoryLimitError,
    RechunkWarning,
    UnrecoverableWarning,
)
from squareone.estimators.fit_request import check_place
from squareone.kernels import Gaussian
from squareone.persistence import checkpoint as checkpoints
from squareone.planning.available_memory import readable
from squareone.planning.worker_memory import on_workers, worker_bytes
from squareone.rows import GeneratedRows, block_sums, open_rows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

rng = np.random.default_rng(3)
n, d, m = 1100, 5, 25
GROUP = 128
X = rng.standard_normal((n, d))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
two = np.where(y > 0, "high", "low")
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 500, 1099]] = 0.0
names = [f"x{i}" for i in range(d)]
new = rng.standard_normal((70, d))

SETTINGS = {
    "rectangle": {"kernel": Gaussian(1.5), "solver": "rectangle", "centers": m},
    "gram": {"kernel": "linear", "solver": "gram"},
    "krylov": {"kernel": "linear", "solver": "krylov", "tol": 1e-4},
    "pcg": {"kernel": Gaussian(1.5), "solver": "pcg", "centers": m, "tol": 1e-3},
    "subset": {"kernel": Gaussian(1.5), "solver": "subset", "centers": m},
}
ONE_PASS = ["rectangle", "gram"]
every_solver = pytest.mark.parametrize("solver", SETTINGS)
pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    """Nine groups: a node of eight, and one above it."""
    for name in ("_MOST_ROWS", "_FEWEST_ROWS", "_SPARSE_ROWS"):
        monkeypatch.setattr(block_sums, name, GROUP)


@pytest.fixture(scope="module")
def cluster():
    """Two workers with a thread each, in this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as found,
        distributed.Client(found, set_as_default=False) as client,
    ):
        yield client


def stream():
    return GeneratedRows(lambda: iter(np.array_split(X, 13)), X.shape, X.dtype)


def array(chunks=170):
    return da.from_array(X, chunks=(chunks, d))


def frame(parts=6):
    return dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=parts)


#: Shapes of the blocks that were read, also by workers in this process: a name of a module, since
#: what a function encloses is copied on its way to them.
READS = []


def counted(block):
    READS.append(block.shape)
    return block


def read_in_parts(rows, length=30):
    """A Dask array of ``rows`` (m, d) in chunks, and a list that fills as these are read."""
    READS.clear()
    parts = da.from_array(rows, chunks=(length, rows.shape[1]))
    return parts.map_blocks(counted, meta=rows[:0]), READS


def fitted(solver, rows, y=y, w=None, estimator=RLSRegressor, **more):
    return estimator(**{**SETTINGS[solver], **more}).fit(rows, y, w)


def learned(model):
    return model.coef_ if hasattr(model, "coef_") else model.dual_coef_


def assert_equal_bits(found, expected):
    assert_array_equal(learned(found), learned(expected))
    assert_array_equal(found.intercept_, expected.intercept_)
    assert found.alpha_ == expected.alpha_
    assert found.best_score_ == expected.best_score_
    assert_array_equal(found.loo_predictions_, expected.loo_predictions_)


# --- the law: one fit, wherever the rows are ---


@pytest.mark.costly
@every_solver
@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
def test_threads_find_what_a_stream_finds(solver, w):
    expected = fitted(solver, stream(), w=w)
    assert_equal_bits(fitted(solver, array(), w=w), expected)
    memory = fitted(solver, X, w=w)
    tolerance = 0.05 if SETTINGS[solver].get("tol") else 1e-6
    assert_allclose(expected.predict(new), memory.predict(new), rtol=0, atol=tolerance)


@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
def test_sums_of_arrays_in_memory_are_the_same_bits(w):
    assert_equal_bits(fitted("rectangle", array(), w=w), fitted("rectangle", X, w=w))


@pytest.mark.parametrize("chunks", [1, 7, 64, 100, n])
def test_chunks_do_not_matter(chunks):
    if chunks == 1:
        chunks = (1, 0, 500, 1, 598)
    rows = da.from_array(X, chunks=((chunks, d) if isinstance(chunks, int) else (chunks, (d,))))
    assert_equal_bits(fitted("gram", rows), fitted("gram", stream()))


@pytest.mark.parametrize(
    "solver",
    [
        *ONE_PASS,
        "subset",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("krylov", "pcg")),
    ],
)
def test_a_cluster_finds_the_same(solver, cluster):
    expected = fitted(solver, array(), w=weights)
    with dask.config.set(scheduler=cluster):
        assert_equal_bits(fitted(solver, array(90), da.from_array(y), weights), expected)


@pytest.mark.parametrize("solver", ONE_PASS)
def test_classes(solver):
    expected = fitted(solver, stream(), two, estimator=RLSClassifier)
    found = fitted(solver, array(), da.from_array(two), estimator=RLSClassifier)
    assert_equal_bits(found, expected)
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(found, method)(array(100))
        assert isinstance(lazy, da.Array)
        assert_array_equal(
            lazy.compute(),
            np.concatenate([getattr(expected, method)(X[i : i + 100]) for i in range(0, n, 100)]),
        )


@pytest.mark.parametrize("solver", [*ONE_PASS, "krylov"])
def test_sparse_chunks(solver):
    thin = np.where(rng.uniform(size=X.shape) < 0.4, X, 0.0)
    rows = da.from_array(thin, chunks=(150, d)).map_blocks(csr_array, meta=csr_array((0, d)))
    blocks = [csr_array(part) for part in np.array_split(thin, 5)]
    expected = fitted(solver, GeneratedRows(lambda: iter(blocks), X.shape, sparse=True))
    assert_equal_bits(fitted(solver, rows), expected)


def thin_rows(kind=csr_array):
    """Sparse chunks of rows, and the same as a stream; weights may be given for them."""
    thin = np.where(rng.uniform(size=X.shape) < 0.4, X, 0.0)
    rows = da.from_array(thin, chunks=(150, d)).map_blocks(kind, meta=kind((0, d)))
    blocks = [kind(part) for part in np.array_split(thin, 5)]
    return thin, rows, GeneratedRows(lambda: iter(blocks), X.shape, sparse=True)


@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
def test_products_of_krylov_in_one_pass(w):
    thin, rows, blocks = thin_rows()
    settings = {"w": w, "alpha": 0.3, "tol": 1e-9}
    expected = fitted("krylov", blocks, **settings)
    assert_equal_bits(fitted("krylov", rows, **settings), expected)
    exact = fitted("gram", thin, w=w, alpha=0.3)
    assert_allclose(expected.coef_, exact.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    "scheduler", ["threads", pytest.param("distributed", marks=pytest.mark.thorough)]
)
def test_rows_are_not_read_for_every_product(scheduler, cluster):
    """Workers hold them as they are multiplied; a chunk is read by the first passes alone."""
    wide = np.random.default_rng(0).standard_normal((n, 40)) * np.logspace(0, -2, 40)
    rows, reads = read_in_parts(wide, 110)
    passes = []
    with dask.config.set(scheduler=cluster if scheduler == "distributed" else "threads"):
        for alpha in (10.0, 1e-3):
            model = fitted("krylov", rows, alpha=alpha, tol=1e-8)
            passes.append((model.n_iter_, len(reads) / 10))
            reads.clear()
    (few, first), (many, second) = passes
    assert many > 2 * few
    assert 0 < second == first < few


def test_what_leave_one_out_needs_of_a_linear_model_is_made_once(cluster):
    """Rows along the axes: for every look at λ and the errors in the end."""
    rows, reads = read_in_parts(X, 110)
    expected = fitted("gram", stream())
    with dask.config.set(scheduler="threads"):
        fitted("gram", rows)
        one_by_one = len(reads)
    reads.clear()
    with dask.config.set(scheduler=cluster):
        assert_equal_bits(fitted("gram", rows), expected)
    assert 0 < len(reads) <= one_by_one - 10


def test_what_is_kept_is_counted(cluster):
    task = replace(RLSRegressor("linear").plan(X, y).task, n=10**6, d=100)
    plan = replace(RLSRegressor("linear", solver="gram").plan(X, y), task=task)
    bare = worker_bytes(task, "gram", 1, 0.0)
    with_room = readable(bare + 8.0 * task.n * task.d / 2)  # half of them on each of two
    assert f"at most {with_room} on each" in on_workers(plan, [(1, 4e9)] * 2, 0.0).reason
    assert f"at most {readable(bare)} on each" in on_workers(plan, [(1, 4e8)] * 2, 0.0).reason


def test_rows_that_do_not_fit_are_read_for_every_product(monkeypatch):
    from squareone.rows.held_groups import HeldGroups

    expected = fitted("krylov", array(), alpha=0.1)
    monkeypatch.setattr(HeldGroups, "room", staticmethod(lambda budget: 0.0))
    assert_equal_bits(fitted("krylov", array(), alpha=0.1), expected)


def test_float32_stays():
    rows = array().astype(np.float32)
    found = fitted("rectangle", rows)
    assert learned(found).dtype == np.float32
    assert_equal_bits(found, fitted("rectangle", X.astype(np.float32)))
    assert found.predict(rows).dtype == np.float32


@pytest.mark.thorough
def test_a_width_and_other_selectors():
    from squareone.centers import KMeans, LeverageScores, PivotedCholesky

    for selector in (KMeans(10), LeverageScores(10), PivotedCholesky(10, pool=100)):
        settings = {"kernel": "gaussian", "centers": selector, "random_state": 0}
        assert_equal_bits(
            fitted("rectangle", array(), **settings), fitted("rectangle", stream(), **settings)
        )


def test_folds_and_scorers():
    more = {"cv": 3, "scoring": "neg_mean_absolute_error"}
    assert_equal_bits(fitted("rectangle", array(), **more), fitted("rectangle", X, **more))


# --- data frames ---


@pytest.mark.parametrize("solver", ONE_PASS)
def test_a_data_frame_is_its_rows(solver):
    """Its lengths are not known; empty partitions, integers and pandas' own types are there."""
    table = pd.DataFrame(X, columns=names)
    table["x1"] = (10.0 * X[:, 1]).astype(int)
    expected = fitted(solver, table)
    table["x1"] = table["x1"].astype("Int64")
    table["y"], table["w"] = y, weights
    rows = dd.concat([dd.from_pandas(part, npartitions=2) for part in (table[:0], table[:400])])
    rows = dd.concat([rows, dd.from_pandas(table[400:], npartitions=3)])
    assert np.isnan(rows[names].to_dask_array().chunks[0]).all()
    found = fitted(solver, rows[names], rows["y"])
    assert list(found.feature_names_in_) == names
    assert_allclose(found.predict(table[names]), expected.predict(table[names]), rtol=1e-9)
    expected = fitted(solver, table[names].astype(float), w=weights)
    found = fitted(solver, rows[names], rows["y"], rows["w"])
    lazy = found.predict(rows[names])
    assert np.isnan(lazy.shape[0])
    assert_allclose(lazy.compute(), expected.predict(table[names].astype(float)), rtol=1e-9)


def test_parquet_in_parts(tmp_path):
    table = pd.DataFrame(X, columns=names)
    (tmp_path / "rows").mkdir()
    for i, part in enumerate(np.array_split(np.arange(n), 5)):
        table.assign(y=y).iloc[part].to_parquet(tmp_path / "rows" / f"part{i}.parquet")
    rows = dd.read_parquet(tmp_path / "rows")
    table.to_parquet(tmp_path / "rows.parquet")
    expected = fitted("rectangle", open_rows(tmp_path / "rows.parquet"))
    assert_equal_bits(fitted("rectangle", rows[names], rows["y"]), expected)


def test_columns_by_name():
    model = fitted("gram", frame())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame()[names[::-1]]).compute()


# --- predictions ---


def test_predictions_are_lazy_and_keep_their_model():
    model = fitted("rectangle", X)
    lazy, interval = model.predict(array()), model.predict_interval(array())
    values, deviations = model.predict(array(), return_std=True)
    assert lazy.chunks == ((170,) * 6 + (80,),)
    assert interval.shape == (n, 2)
    expected = model.predict(X), model.predict_interval(X), model.predict(X, return_std=True)[1]
    model.fit(X, -y)
    assert_allclose(lazy.compute(), expected[0], rtol=1e-10)
    assert_allclose(values.compute(), expected[0], rtol=1e-10)
    assert_allclose(interval.compute(), expected[1], rtol=1e-8)
    assert_allclose(deviations.compute(), expected[2], rtol=1e-6)


@pytest.mark.costly
@pytest.mark.parametrize("solver", [*SETTINGS, "spectral", "cholesky", "svd"])
@pytest.mark.parametrize("method", ["jackknife+", "minmax", "jackknife", "adaptive"])
@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("t", [1, 2])
def test_intervals_are_lazy(solver, method, w, t):
    """The models without each row are written out, so that nobody needs the factorisation."""
    settings = dict(SETTINGS.get(solver, {"kernel": "linear", "solver": solver}))
    settings |= {"alpha": 0.1, "tol": 1e-10} if "tol" in settings else {}
    target = y if t == 1 else np.column_stack([y, X[:, 2] - 2.0 * y])
    model = RLSRegressor(**settings).fit(X, target, w)
    rows, reads = read_in_parts(new)
    asked = {"method": method, "coverage": 0.8, "loo_rows": 200, "bounds": (-30.0, 30.0)}
    lazy = model.predict_interval(rows, **asked)
    assert reads == []
    assert lazy.shape == ((70, 2) if t == 1 else (70, 2, 2))
    expected = model.predict_interval(new, **asked)
    assert_allclose(lazy.compute(), expected, rtol=1e-6, atol=1e-7)
    assert reads


def test_intervals_of_rows_that_are_centers():
    """These take their centers with them: here every row that is left out does."""
    model = RLSRegressor(Gaussian(1.5), 0.1, solver="rectangle", centers=X[:60]).fit(X[:80], y[:80])
    rows, reads = read_in_parts(new)
    lazy = model.predict_interval(rows)
    assert reads == []
    assert_allclose(lazy.compute(), model.predict_interval(new), rtol=1e-7)


def test_intervals_whose_models_are_too_large_are_made_here(monkeypatch):
    monkeypatch.setattr("squareone.fitting.intervals._MOST_FUNCTION_BYTES", 100.0)
    model = fitted("gram", X)
    rows, reads = read_in_parts(new)
    made = model.predict_interval(rows)
    assert len(reads) == 3
    assert_allclose(made.compute(), model.predict_interval(new), rtol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_what_goes_to_workers_knows_none_of_the_rows(method):
    many = np.tile(X, (20, 1))
    found = []
    for rows in (X, many):
        labels = np.resize(two, len(rows))
        model = RLSClassifier("linear", solver="gram").fit(rows, labels)
        graph = dict(getattr(model, method)(array()).__dask_graph__())
        found.append(len(cloudpickle.dumps(graph)))
    assert abs(found[1] - found[0]) < 1000


def test_bounds_of_intervals_are_checked_here():
    model = fitted("gram", X)
    with pytest.raises(ValueError, match="targets the model was fitted to lie outside"):
        model.predict_interval(array(), bounds=(0.0, 0.1))
    with pytest.raises(ValueError, match="coverage=2"):
        model.predict_interval(array(), 2)


# --- what there is of every row of the fit ---


@pytest.mark.parametrize("solver", ONE_PASS)
@pytest.mark.parametrize("w", [None, np.abs(weights) + 0.1], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_left_out_predictions_are_computed_where_rows_are(
    solver, w, scheduler, monkeypatch, cluster
):
    """In the chunks of X, once they are asked for; rows that are centers take these along."""
    monkeypatch.setattr("squareone.solvers.few_centers.rectangle.KEPT_BYTES", 0)
    target = np.column_stack([y, X[:, 2] - 2.0 * y])
    settings = {"alpha": [0.01, 1.0], "alpha_per_target": True}
    monkeypatch.setattr("squareone.fitting.result._needs_left_out", lambda problem: False)
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    expected = fitted(solver, X, target, w, **settings).loo_predictions_
    rows, reads = read_in_parts(X)
    with dask.config.set(scheduler=cluster if scheduler == "distributed" else "threads"):
        model = fitted(solver, rows, target, w, **settings)
        vars(model._record).pop("leave_one_out_values", None)
        reads.clear()
        lazy = model.loo_predictions_
        assert reads == []
        assert lazy.chunks == (rows.chunks[0], (2,))
        assert_allclose(lazy.compute(), expected, rtol=1e-8)
        assert reads
        assert_allclose(model.loo_residuals_, target - expected, rtol=0, atol=1e-8)


def test_left_out_predictions_that_are_known_are_lazy_too():
    expected = fitted("gram", X, two, weights, estimator=RLSClassifier)
    found = fitted("gram", array(), two, weights, estimator=RLSClassifier)
    assert found.loo_predictions_.chunks == array().chunks[:1]
    assert_allclose(found.loo_predictions_.compute(), expected.loo_predictions_, rtol=1e-9)
    assert isinstance(found.fit(X, two).loo_predictions_, np.ndarray)


def test_predictions_of_unknown_and_empty_chunks():
    model = fitted("gram", X)
    rows = array()[da.from_array(X[:, 0], chunks=170) > 0]
    assert_allclose(model.predict(rows).compute(), model.predict(X[X[:, 0] > 0]), rtol=1e-10)
    none = array()[da.from_array(np.arange(n) < 200, chunks=170)]
    assert_allclose(model.predict(none).compute(), model.predict(X[:200]), rtol=1e-10)


def test_predictions_of_a_model_that_is_not_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RLSRegressor().predict(array())


# --- what cannot be fitted says where ---


@pytest.mark.parametrize("known", [True, False])
def test_a_missing_number_has_a_block_and_a_row(known, cluster):
    wrong = X.copy()
    wrong[37 * 25 + 4, 2] = np.nan
    rows = da.from_array(wrong, chunks=(25, d))
    if not known:
        rows = rows[da.ones(n, chunks=25) > 0]
    model = RLSRegressor(**SETTINGS["gram"])
    where = "row 929, column 2 of block 37" if known else "row 4, column 2 of block 37"
    for scheduler in (None, cluster):
        with dask.config.set(scheduler=scheduler), pytest.raises(ValueError, match=where):
            model.fit(rows, y)
        assert not hasattr(model, "coef_")


def test_text_in_one_block():
    def spoiled(block, block_info=None):
        block = block.astype(object)
        if block_info[0]["chunk-location"][0] == 4:
            block[3, 1] = "seven"
        return block

    rows = array().map_blocks(spoiled, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="column 1 of block 4 of a Dask array is not numeric"):
        fitted("gram", rows)


@pytest.mark.parametrize("known", [True, False])
def test_text_in_one_partition(known):
    """Whatever Dask was told of the types of columns."""

    def spoiled(part, partition_info=None):
        if partition_info is not None and partition_info["number"] == 2:
            part = part.assign(x1=part["x1"].astype(object))
            part.iloc[5, 1] = "seven"
        return part

    rows = frame(6).map_partitions(spoiled, meta=pd.DataFrame(X[:0], columns=names))
    if known:  # then the first pass does not count the rows
        rows = rows.to_dask_array(lengths=[len(part) for part in frame(6).partitions])
        where = r"column 1 of block 2 of a Dask array.*'seven'"
    else:
        where = r"'x1' of block 2 of a Dask data frame is not numeric.*row 5 has 'seven'"
    with pytest.raises(ValueError, match=where):
        fitted("gram", rows)


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_an_error_of_the_users_own_names_its_block(scheduler, cluster):
    def spoiled(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 4:
            raise ZeroDivisionError
        return block

    rows = array().map_blocks(spoiled, dtype=float, meta=X[:0])
    for known in (True, False):
        with (
            dask.config.set(scheduler=cluster if scheduler == "distributed" else "threads"),
            pytest.raises(ZeroDivisionError) as caught,
        ):
            fitted("gram", rows if known else rows[da.ones(n, chunks=170) > 0])
        assert "block 4 of X" in caught.value.__notes__[0]


def test_columns_that_are_no_numbers():
    table = dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 50, "b": np.arange(100.0)}), 2)
    with pytest.raises(ValueError, match="column 'a' of a Dask data frame is not numeric"):
        fitted("gram", table, np.arange(100.0))


def test_what_is_no_table():
    with pytest.raises(ValueError, match="one column"):
        fitted("gram", frame()["x0"])
    with pytest.raises(ValueError, match="shape"):
        fitted("gram", array()[:, 0])
    with pytest.raises(ValueError, match="no rows"):
        fitted("gram", array()[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted("gram", array(), y[:-1])


def test_a_block_of_another_length():
    lie = da.from_delayed(dask.delayed(X[:90].copy)(), (100, d), dtype=float)
    with pytest.raises(ValueError, match=r"block 1 of a Dask array gave 90 rows where 100"):
        fitted("gram", da.concatenate([array(100)[:100], lie]), y[:200])


def test_columns_in_chunks_are_put_into_one():
    with pytest.warns(RechunkWarning, match="3 chunks"):
        found = fitted("gram", da.from_array(X, chunks=(200, 2)))
    assert_equal_bits(found, fitted("gram", array()))


# --- learners of streams ---


def test_learners_of_streams_read_their_rows_in_order():
    expected = IncrementalRLSRegressor("linear", 0.1).fit(X, y)
    found = IncrementalRLSRegressor("linear", 0.1).fit(array(), da.from_array(y, chunks=170))
    lazy = found.predict(array())
    assert_array_equal(lazy.compute(), expected.predict(X))
    lazy = found.predict(array())
    found.partial_fit(array()[:100], -10.0 * y[:100])
    assert_array_equal(lazy.compute(), expected.predict(X))
    classes = IncrementalRLSClassifier("linear", 0.1).fit(array(), two)
    expected = IncrementalRLSClassifier("linear", 0.1).fit(X, two)
    assert_array_equal(classes.predict(array()).compute(), expected.predict(X))
    assert_allclose(classes.predict_proba(array()).compute(), expected.predict_proba(X))


def test_tables_are_predicted_anywhere():
    from squareone import TableRegressor
    from squareone.tables import TableEncoder

    kinds = rng.choice(["elm", "oak", "yew"], 200)
    table = pd.DataFrame({"age": rng.uniform(1, 9, 200)})
    heights = table["age"] + (kinds == "oak")
    kinds[:90] = np.where(kinds[:90] == "yew", "elm", kinds[:90])
    table["kind"] = kinds
    # each knows its own categories alone
    parts = [part.assign(kind=part["kind"].astype("category")) for part in (table[:90], table[90:])]
    rows = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    encoder = TableEncoder().fit(table[:150])
    assert_array_equal(encoder.transform(rows).compute(), encoder.transform(table))
    whole = fitted("gram", encoder.transform(rows), heights, alpha=0.1)
    expected = fitted("gram", encoder.transform(table), heights, alpha=0.1)
    assert_allclose(whole.coef_, expected.coef_, rtol=1e-9)
    model = TableRegressor("linear").fit(table, heights)
    assert_allclose(model.predict(rows).compute(), model.predict(table), rtol=1e-12)


# --- what may happen to a cluster ---


def test_what_was_scattered_is_warned_about(cluster):
    with dask.config.set(scheduler=cluster):
        parts = cluster.scatter(np.array_split(X, 4))
        rows = da.concatenate([da.from_delayed(part, (275, d), dtype=float) for part in parts])
        with pytest.warns(UnrecoverableWarning, match="4 chunks"):
            found = fitted("gram", rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kept = array().persist()
            assert_equal_bits(fitted("gram", kept), found)


#: Lengths of blocks that were read; of this module, since functions travel without what they hold.
READ = []


def interrupting(block):
    """The fourth block that is read interrupts the fit, while those after it take their time."""
    READ.append(len(block))
    if len(READ) == 4:
        os.kill(os.getpid(), signal.SIGINT)
    if len(READ) >= 4:
        time.sleep(0.2)
    return block


def test_an_interrupt_leaves_nothing(cluster):
    """No task is left to do, and nothing is half fitted."""
    model = fitted("gram", X)
    rows = array(10).map_blocks(interrupting, meta=X[:0])
    READ.clear()
    with dask.config.set(scheduler=cluster):
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows, y)
        assert not hasattr(model, "coef_")
        until = time.monotonic() + 5.0
        while any(cluster.processing().values()) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(cluster.processing().values())


def test_targets_may_be_large(cluster):
    """They are sent with the tasks, as they have to be for tasks to be made again."""
    small = {"distributed.admin.large-graph-warning-threshold": "1kB"}
    with dask.config.set(scheduler=cluster), dask.config.set(small):
        found = fitted("rectangle", array())
    assert_equal_bits(found, fitted("rectangle", X))


def test_two_fits_at_once(cluster):
    found = {}

    def fit(solver):
        found[solver] = fitted(solver, array())

    fits = [threading.Thread(target=fit, args=(solver,)) for solver in ONE_PASS]
    with dask.config.set(scheduler=cluster):
        for each in fits:
            each.start()
        for each in fits:
            each.join()
    for solver in ONE_PASS:
        assert_equal_bits(found[solver], fitted(solver, array()))


# --- the plan knows the workers ---


def test_the_plan_says_what_workers_need(cluster):
    model = RLSRegressor(**SETTINGS["rectangle"])
    with dask.config.set(scheduler=cluster):
        plan = model.plan(array(), y)
    assert "2 workers of Dask with 2 threads together, at most" in plan.reason
    assert "workers" not in model.plan(array(), y).reason


def test_a_support_vector_machine_holds_its_features_here():
    """The plan says so, and refuses what a fit refuses."""
    model = SVMClassifier(Gaussian(1.0), alpha=0.1, centers=20)
    assert "held here on the client" in model.plan(array(), two).reason
    assert "client" not in model.plan(X, two).reason
    model.set_params(memory_limit="500kB")
    for ask in (model.plan, model.fit):
        with pytest.raises(MemoryLimitError, match="features of 20 centers"):
            ask(array(), two)


def test_a_sum_is_added_as_soon_as_those_before_it_are(monkeypatch):
    """And does not wait for seven others: nine groups are a node of eight, and one more."""
    from squareone.rows import dask_tasks

    together, added = [], dask_tasks.added

    def counted(totals):
        together.append(len(totals))
        return added(totals)

    monkeypatch.setattr(dask_tasks, "added", counted)
    monkeypatch.setattr(dask_tasks, "_NODES", 2)
    assert_equal_bits(fitted("rectangle", array()), fitted("rectangle", X))
    assert together == 7 * [2]


@pytest.mark.parametrize(("m", "threads"), [(1000, 1), (1000, 4), (5000, 2)])
def test_sums_are_counted_for_threads_and_two_more(m, threads):
    task = RLSRegressor(Gaussian(1.0), centers=20).plan(X, y).task
    task = replace(task, n=10**7, centers=m)
    counted = worker_bytes(task, "rectangle", threads, 0.0)
    rows = 8.0 * threads * GROUP * (d + m + 2)
    assert counted == pytest.approx(8.0 * (m + 2) ** 2 * (threads + 2) + rows)


def test_what_does_not_fit_is_refused_with_what_would():
    task = RLSRegressor(Gaussian(1.0), centers=20).plan(X, y).task
    plan = replace(RLSRegressor(Gaussian(1.0), centers=20).plan(X, y), task=task)
    large = replace(plan, task=replace(task, n=10**7, centers=10_000))
    on_workers(large, [(2, 4e9), (2, 4e9)], 1e6)
    with pytest.raises(MemoryLimitError, match=r"on a worker with 4 threads.* 2 GiB") as caught:
        on_workers(large, [(2, 4e9), (4, 2.0**31)], 1e6)
    fits = int(re.search(r"centers=([\d_]+)", str(caught.value))[1])
    on_workers(replace(large, task=replace(large.task, centers=fits)), [(4, 2.0**31)], 1e6)
    more = replace(large, task=replace(large.task, centers=fits + 100))
    with pytest.raises(MemoryLimitError):
        on_workers(more, [(4, 2.0**31)], 1e6)


def test_a_worker_without_a_limit_refuses_nothing():
    plan = RLSRegressor(Gaussian(1.0), centers=20).plan(X, y)
    huge = replace(plan, task=replace(plan.task, n=10**9, centers=10**6))
    assert "on each" in on_workers(huge, [(8, 0.0)], 1e12).reason


class StoppedError(Exception):
    """Raised in the middle of a fit."""


@pytest.mark.parametrize("interrupted_in", ["stream", "dask"])
def test_a_checkpoint_goes_on_elsewhere(interrupted_in, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (0.0,))
    monkeypatch.setattr("squareone.rows.dask_tasks._NODES", 3)
    path, keep, seen = tmp_path / "fit.npz", checkpoints.Checkpoint.keep, []

    def keep_some(self, stage, state):
        keep(self, stage, state)
        seen.append(int(state()["rows"]))
        if seen[-1] >= 500:
            raise StoppedError

    monkeypatch.setattr(checkpoints.Checkpoint, "keep", keep_some)
    first = stream() if interrupted_in == "stream" else array()
    with pytest.raises(StoppedError):
        fitted("rectangle", first, checkpoint=path)
    monkeypatch.setattr(checkpoints.Checkpoint, "keep", keep)
    assert path.exists()
    expected = fitted("rectangle", X)
    with pytest.raises(CheckpointError, match="another fit"):
        fitted("rectangle", array() + 1.0, checkpoint=path)
    assert_equal_bits(fitted("rectangle", array(), checkpoint=path), expected)
    assert not path.exists()


# --- worker processes, and their ends ---


def made(number, delay, journal=None):
    """A block, and a byte more in the journal."""
    if journal is not None:
        with Path(journal).open("ab") as file:
            file.write(b".")
    time.sleep(delay)
    return np.random.default_rng(number).standard_normal((20, d))


def rows_of_recipe(delay=0.0, blocks=55, journal=None):
    parts = [dask.delayed(made)(i, delay, journal) for i in range(blocks)]
    return da.concatenate([da.from_delayed(each, (20, d), dtype=float) for each in parts])


class Losses(threading.Thread):
    """Calls ``kill`` when blocks have been read as often as ``moments`` say, ascending.

    However fast or slow the machine is, a worker is lost in the middle of the fit.
    """

    def __init__(self, journal, moments, kill):
        super().__init__(daemon=True)
        self._journal, self._moments, self._kill = Path(journal), list(moments), kill
        self._over = threading.Event()

    def run(self):
        for moment in self._moments:
            while self._journal.stat().st_size < moment:
                if self._over.wait(0.005):
                    return
            self._kill()

    def __enter__(self):
        self._journal.write_bytes(b"")
        self.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self.join()


@cache
def blocks_read(solver, journal):
    """By an undisturbed fit on the cluster; one that loses workers reads no fewer."""
    Path(journal).write_bytes(b"")
    fitted(solver, rows_of_recipe(journal=journal), y)
    return Path(journal).stat().st_size


def two_moments(seed, solver, journal):
    """Two of those of a fit."""
    return np.sort(np.random.default_rng(seed).choice(blocks_read(solver, journal), 2)) + 1


def fits_with_losses(seeds, caplog, tmp_path):
    """Fits of which workers are lost, and those that nothing happened to."""
    journal = tmp_path / "blocks"
    expected = {solver: fitted(solver, rows_of_recipe(), y) for solver in ONE_PASS}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as processes,
        distributed.Client(processes) as client,
        reserve(processes.scheduler_address, client),
    ):

        def kill_one():
            # of the nannies: whoever asks workers waits for one that was just lost
            there = [each.pid for each in processes.workers.values() if each.pid]
            if there:
                with suppress(ProcessLookupError):
                    os.kill(there[0], signal.SIGKILL)

        for seed in seeds:
            client.wait_for_workers(2)
            solver = ONE_PASS[seed % 2]
            with (
                caplog.at_level(logging.WARNING, "squareone"),
                Losses(journal, two_moments(seed, solver, journal), kill_one),
            ):
                found = fitted(solver, rows_of_recipe(0.01, journal=journal), y)
            yield found, expected[solver]


@contextmanager
def reserve(scheduler, client):
    """A worker more where fewer than two are there for ten seconds.

    Now and then a nanny whose worker was killed begins no new one.
    """
    over, more = threading.Event(), []

    def look():
        few = 0
        while not over.wait(1.0):
            few = few + 1 if len(client.scheduler_info(n_workers=-1)["workers"]) < 2 else 0
            if few == 10:
                more.append(alone(scheduler))
                few = 0

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for each in more:
            each.kill()
            each.wait()


@pytest.mark.thorough
def test_a_lost_worker_is_no_matter(caplog, tmp_path):
    for found, expected in fits_with_losses(range(2), caplog, tmp_path):
        assert_equal_bits(found, expected)
    assert any("was lost" in record.message for record in caplog.records)


@pytest.mark.slow
def test_workers_that_are_lost_at_ten_random_times(caplog, tmp_path):
    for found, expected in fits_with_losses(range(2, 12), caplog, tmp_path):
        assert_equal_bits(found, expected)


def alone(scheduler):
    """A worker process without a nanny: nobody begins it anew."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny"]
    return subprocess.Popen(
        [*command, "--nthreads", "1", "--no-dashboard"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.thorough
def test_what_workers_keep_is_made_again(monkeypatch):
    """Rows that are kept between the passes of krylov go with the worker that has them."""
    from squareone.rows.held_groups import HeldGroups

    settings = {"alpha": 0.1, "keep_factor": False}
    expected = fitted("krylov", rows_of_recipe(), y, **settings)
    passes, ask = [], HeldGroups._asked

    def asked(self, *what):
        passes.append(what)
        if len(passes) == 3:
            workers[0].kill()
        return ask(self, *what)

    monkeypatch.setattr(HeldGroups, "_asked", asked)
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=":0", silence_logs=60
    ) as scheduler:
        workers = [alone(scheduler.scheduler_address) for _ in range(2)]
        try:
            with distributed.Client(scheduler) as client:
                client.wait_for_workers(2)
                found = fitted("krylov", rows_of_recipe(), y, **settings)
        finally:
            for each in workers:
                each.kill()
                each.wait()
    assert len(passes) > 3
    assert_array_equal(found.coef_, expected.coef_)
    assert_array_equal(found.intercept_, expected.intercept_)


def fits_without_nannies(seeds, caplog, tmp_path):
    """Two of four workers are killed at random times in every fit; then two new ones come."""
    journal = tmp_path / "blocks"
    expected = {solver: fitted(solver, rows_of_recipe(), y) for solver in ONE_PASS}
    workers = []
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=60) as scheduler,
        distributed.Client(scheduler) as client,
    ):
        try:
            for seed in seeds:
                there = [each for each in workers if each.poll() is None]
                new = [alone(scheduler.scheduler_address) for _ in range(4 - len(there))]
                workers = there = [*there, *new]
                client.wait_for_workers(4)
                solver = ONE_PASS[seed % 2]
                lost = np.random.default_rng(seed).choice(there, 2, replace=False)
                victims, moments = list(lost), two_moments(seed, solver, journal)
                with (
                    caplog.at_level(logging.WARNING, "squareone"),
                    Losses(journal, moments, lambda v=victims: v.pop().kill()),
                ):
                    found = fitted(solver, rows_of_recipe(0.01, journal=journal), y)
                for each in lost:  # one that is not waited for may seem to be there
                    each.kill()
                    each.wait()
                yield found, expected[solver]
        finally:
            for each in workers:
                each.kill()
                each.wait()


@pytest.mark.thorough
def test_two_workers_of_four_are_lost_for_good(caplog, tmp_path):
    for found, expected in fits_without_nannies(range(2), caplog, tmp_path):
        assert_equal_bits(found, expected)
    assert any("was lost" in record.message for record in caplog.records)


@pytest.mark.slow
def test_workers_without_a_nanny_are_lost_at_ten_random_times(caplog, tmp_path):
    for found, expected in fits_without_nannies(range(2, 12), caplog, tmp_path):
        assert_equal_bits(found, expected)


def _peak_bytes(reset=False):
    """The most memory that this process has had since it was reset (Linux)."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * float(next(each.split()[1] for each in lines if each.startswith("VmHWM")))


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has had")
def test_a_worker_holds_what_the_plan_counts(monkeypatch):
    """Sums of 1,002² numbers: the plan counts three of them, and the rows of a group."""
    monkeypatch.undo()  # groups of their own length

    def part(seed):
        return np.random.default_rng(seed).standard_normal((32_768, d))

    blocks = [dask.delayed(part)(seed) for seed in range(4)]
    rows = da.concatenate([da.from_delayed(b, (32_768, d), dtype=float) for b in blocks])
    target = np.random.default_rng(0).standard_normal(4 * 32_768)
    model = RLSRegressor(Gaussian(1.0), 1.0, centers=1000, solver="rectangle", keep_factor=False)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as processes,
        distributed.Client(processes) as client,
    ):
        model.fit(rows[:32_768], target[:32_768])
        (idle,) = client.run(_peak_bytes, reset=True).values()
        model.fit(rows, target)
        (peak,) = client.run(_peak_bytes).values()
    counted = worker_bytes(model.plan_.task, "rectangle", 1, 8.0 * 32_768 * d)
    assert peak - idle <= 1.1 * counted


@pytest.mark.thorough
def test_workers_without_a_nanny(caplog, tmp_path):
    """One is lost for good, and another is stopped for a while: it is slow, and no more."""
    expected = fitted("rectangle", rows_of_recipe(), y)
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=":0", silence_logs=60
    ) as scheduler:
        workers = [alone(scheduler.scheduler_address) for _ in range(3)]
        try:
            with distributed.Client(scheduler) as client:
                client.wait_for_workers(3)

                def kill_and_stop():
                    workers[0].kill()
                    workers[1].send_signal(signal.SIGSTOP)
                    threading.Timer(1.5, workers[1].send_signal, [signal.SIGCONT]).start()

                journal = tmp_path / "blocks"
                with (
                    caplog.at_level(logging.WARNING, "squareone"),
                    Losses(journal, [15], kill_and_stop),
                ):
                    found = fitted("rectangle", rows_of_recipe(0.02, journal=journal), y)
                assert_equal_bits(found, expected)
            assert "was lost" in caplog.text
        finally:
            for each in workers:
                each.kill()
                each.wait()


@pytest.mark.thorough
def test_losses_are_told_when_they_are_seen(caplog):
    """And that nobody is left, while the fit waits: a new worker ends it."""
    expected = fitted("gram", rows_of_recipe(), y)
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=":0", silence_logs=60
    ) as scheduler:
        workers = [alone(scheduler.scheduler_address)]
        try:
            with (
                distributed.Client(scheduler) as client,
                caplog.at_level(logging.WARNING, "squareone"),
            ):
                client.wait_for_workers(1)
                found = []
                fit = threading.Thread(
                    target=lambda: found.append(fitted("gram", rows_of_recipe(0.1), y))
                )
                fit.start()
                time.sleep(0.5)
                workers[0].kill()
                until = time.monotonic() + 20.0
                while "no workers are left" not in caplog.text and time.monotonic() < until:
                    time.sleep(0.1)
                assert "was lost" in caplog.text
                assert "no workers are left" in caplog.text
                assert not found
                workers.append(alone(scheduler.scheduler_address))
                fit.join()
                assert_equal_bits(found[0], expected)
        finally:
            for each in workers:
                each.kill()
                each.wait()


@pytest.mark.thorough
def test_chunks_may_be_spilled_to_the_disk(monkeypatch):
    """Workers with room for few of the chunks: the others are written, and read again."""
    for name in ("_MOST_ROWS", "_FEWEST_ROWS"):
        monkeypatch.setattr(block_sums, name, 8192)
    rng = np.random.default_rng(0)
    many = rng.standard_normal((60_000, 20))
    target = many[:, 0] + 0.1 * rng.standard_normal(60_000)
    expected = fitted("gram", GeneratedRows(lambda: iter([many]), many.shape), target)
    # what counts is what Dask holds, not the memory of this process
    only = {"target": 0.6, "spill": False, "pause": False, "terminate": False}
    with (
        dask.config.set({f"distributed.worker.memory.{key}": value for key, value in only.items()}),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            memory_limit="8MB",
            dashboard_address=":0",
            silence_logs=60,
        ) as processes,
        distributed.Client(processes),
    ):
        kept = da.from_array(many, chunks=(3000, 20)).persist()
        distributed.wait(kept)
        (held,) = processes.workers.values()
        assert len(held.data.disk) > 0
        assert_equal_bits(fitted("gram", kept, target), expected)


def test_a_gpu_is_here_and_the_rows_are_not():
    place = SimpleNamespace(name="cuda:0")
    with pytest.raises(TypeError, match=r"Dask.*device=None"):
        check_place(RLSRegressor(device="cuda"), place, Gaussian(1.0), da.ones((5, 2)))
