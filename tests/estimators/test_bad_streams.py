"""Streams that are not what they say."""

import os

import numpy as np
import pandas as pd
import pytest

from squareone import RLSRegressor
from squareone.rows import ArrayRows, GeneratedRows, open_rows
from tests.estimators.data import refused
from tests.estimators.stream_cases import (
    X,
    d,
    every_solver,
    every_solver_with_centers,
    n,
    regressor,
    weights,
    y,
)
from tests.rows.streams import STREAMS

pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


# --- what is wrong with a stream ---


@every_solver
def test_wrong_features(solver, tmp_path):
    stream = STREAMS["parquet"](X, tmp_path)
    model = regressor(solver, alpha=0.1).fit(stream, y)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    with refused(ValueError, "3 features", "expecting 4 features"):
        model.predict(open_rows(tmp_path / "rows.parquet", columns=["x0", "x1", "x2"]))
    with refused(ValueError, "feature names", "order", "columns=['x0', 'x1', 'x2', 'x3']"):
        model.predict(open_rows(tmp_path / "rows.parquet", columns=["x3", "x2", "x1", "x0"]))
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / "others.parquet")
    with refused(ValueError, "feature names", "['a', 'b', 'c', 'd'] were not seen", "columns="):
        model.predict(open_rows(tmp_path / "others.parquet"))
    with refused(ValueError, "3 features", "expecting 4 features"):
        model.predict_file(ArrayRows(X[:, :3]), tmp_path / "out.npy")


@every_solver
@pytest.mark.parametrize("kind", ["npy", "parquet", "svmlight"])
def test_missing_in_the_middle(solver, kind, tmp_path):
    holes = X.copy()
    holes[77, 2] = np.nan
    stream = STREAMS[kind](holes, tmp_path)
    model = regressor(solver, alpha=0.1)
    with refused(ValueError, "row 77", "column", "NaN", "SimpleImputer"):
        model.fit(stream, y)
    assert not hasattr(model, "n_features_in_")
    fitted = regressor(solver, alpha=0.1).fit(X, y)
    with refused(ValueError, "row 77", "column", "NaN"):
        fitted.predict(stream)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "gram", "cholesky"])
def test_as_many_targets_as_rows(solver, tmp_path):
    with refused(ValueError, "120", "100"):
        regressor(solver).fit(STREAMS["npy"](X, tmp_path), y[:100])
    with refused(ValueError, "(100,)", "(120,)"):
        regressor(solver).fit(STREAMS["npy"](X, tmp_path), y, weights[:100])


def test_a_kernel_matrix_is_no_stream(tmp_path):
    with refused(TypeError, "precomputed", "X[:]"):
        RLSRegressor("precomputed").fit(STREAMS["npy"](np.eye(5) + 1.0, tmp_path), y[:5])


@every_solver_with_centers
@pytest.mark.parametrize("kind", ["csv", "svmlight", "parquet"])
def test_a_file_that_shrank(solver, kind, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    STREAMS[kind](X[:60], tmp_path)
    with pytest.raises((ValueError, OSError)) as said:
        regressor(solver, alpha=0.1).fit(stream, y)
    assert "rows" in str(said.value) or "open" in str(said.value).lower()


@every_solver_with_centers
def test_a_mapped_file_that_shrank(solver, tmp_path):
    """Reading on would end the process."""
    stream = STREAMS["npy"](X, tmp_path)
    os.truncate(tmp_path / "rows.npy", 1000)
    with refused(ValueError, "'rows.npy' has 1,000 bytes", "120 rows", "open it again"):
        regressor(solver, alpha=0.1).fit(stream, y)


@every_solver_with_centers
def test_a_generator_that_gives_less_in_its_second_pass(solver):
    passes = []

    def blocks():
        passes.append(len(passes))
        return iter([X[:60], X[60 : n if len(passes) < 3 else 100]])

    with refused(ValueError, "100 rows", "120 were expected", "every pass"):
        regressor(solver, alpha=0.1, tol=1e-8).fit(GeneratedRows(blocks, (n, d)), y).predict(X)
        regressor(solver, alpha=0.1).fit(GeneratedRows(blocks, (n, d)), y)
