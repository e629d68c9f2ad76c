"""What ``benchmarks.cluster`` measures, and what it writes."""

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

from benchmarks import cluster


def test_cases_that_share_a_folder_have_the_same_rows(tmp_path):
    """The file of all rows is no part of the collection that the second of them opens."""
    first = cluster._parquet(400, tmp_path)
    again = cluster._parquet(400, tmp_path)
    assert len(first.frame) == len(again.frame) == len(again.y) == len(again.stream) == 400
    np.testing.assert_array_equal(again.frame.compute().to_numpy(), again.stream[:])


def test_what_was_measured_is_a_page(tmp_path, monkeypatch):
    """With a section for each case, which another run of this case replaces."""
    seconds = iter([3.0, 5.0, 7.0])

    def case(n, workers, folder):
        cluster._line("work", next(seconds), 2.0, 1.25, "a note")
        cluster._line("other work", 3.0, 2.0, None, "no target")

    monkeypatch.setattr(cluster, "CASES", {"first": case, "second": case})
    output = ["--output", str(tmp_path / "cluster.md")]
    cluster.main(["--rows", "100", *output])
    cluster.main(["--rows", "200", "--only", "first", *output])
    page = (tmp_path / "cluster.md").read_text()
    first, second = page.split("\n## ")[1:]
    assert "`python -m benchmarks.cluster --rows 200 --workers 2 --only first`" in first
    assert "`python -m benchmarks.cluster --rows 100 --workers 2 --only second`" in second
    assert "| work | 7.00 | 2.00 | 3.50 | 1.25 | no | a note |\n" in first
    assert "| work | 5.00 | 2.00 | 2.50 | 1.25 | no | a note |\n" in second
    assert page.count("| other work | 3.00 | 2.00 | 1.50 |  |  | no target |") == 2
    assert f"numpy {np.__version__}" in first
    assert str(tmp_path) not in page
