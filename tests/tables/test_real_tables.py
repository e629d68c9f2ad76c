"""Tables of people, where the folder named by SQUAREONE_DATA has them."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from squareone.tables import TableEncoder

FOLDER = Path(os.environ.get("SQUAREONE_DATA") or "none") / "tables"
FILES = sorted(FOLDER.glob("*.csv.gz"))
pytestmark = pytest.mark.skipif(not FILES, reason="SQUAREONE_DATA names no folder of tables")


@pytest.mark.parametrize("path", FILES or [FOLDER], ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("scaling", ["standard", "quantile", "pieces"])
def test_every_table(path, scaling):
    rows = pd.read_csv(path, nrows=5000)
    y = rows.pop("target")
    encoder = TableEncoder(scaling=scaling, random_state=0)
    found = encoder.fit_transform(rows, y)
    assert np.isfinite(found).all()
    assert (found.std(axis=0) > 0).all()
    assert encoder.unseen(rows) == {}
    later = encoder.transform(rows)
    columns = {name: [None if v != v else v for v in rows[name].tolist()] for name in rows}
    assert_array_equal(encoder.transform(pl.DataFrame(columns)), later)
    folds = [name for name in encoder.get_feature_names_out() if ":mean" in name]
    assert (found != later).any(axis=0).sum() == len(folds)
    assert set(encoder.dropped_) <= set(rows)
