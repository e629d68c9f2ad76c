"""Reports of tables of unusual shapes stay small."""

import numpy as np
import pytest

from .conftest import run, text_of


@pytest.mark.thorough
def test_the_report_of_two_thousand_columns_is_small(table):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2000)).round(3)
    y = X[:, :5].sum(axis=1) + rng.standard_normal(500)
    rows = [[*map(str, x), f"{v:.3f}"] for x, v in zip(X.tolist(), y, strict=True)]
    table.write_text(text_of([*(f"column {j}" for j in range(2000)), "y"], rows))
    done = run("fit", "houses.csv", "--target", "y", "--kernel", "linear", "--quick")
    assert done.exit_code == 0, done.output
    text = (table.parent / "houses.html").read_text()
    assert len(text.encode()) < 1_000_000
    assert "1,980 more columns, each with less, are left out here" in text
