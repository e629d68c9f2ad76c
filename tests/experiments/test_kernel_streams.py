"""Streams with a kernel, the noiseless stream, several ridges: runs from end to end."""

import sys

import numpy as np
import pytest

from experiments import kernel_streams, noiseless_stream, report, stream_ridges
from experiments.data import VARIABLE, Rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Letters that are noise around a row for each, and nowhere else to write."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = rng.uniform(0, 15, (4, 16))[y] + rng.normal(0, 0.5, (240, 16))
    np.savez(
        tmp_path / "letter.npz", X_train=X[:160], y_train=y[:160], X_test=X[160:], y_test=y[160:]
    )
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    return tmp_path


def test_kernel_streams_run(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["kernel_streams", "--quick", "--only", "letter"])
    kernel_streams.main()
    table = (folder / "kernel_streams-quick.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| letter |")]
    assert len(rows) == 7 + 3 + 1
    assert max(float(row[6]) for row in rows if "Gaussian" in row[2]) < 5
    assert (folder / "kernel_streams-quick-letter.png").stat().st_size > 10_000


def test_mistakes_are_counted_before_a_label_is_seen(folder):
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((40, 16)), rng.integers(0, 3, 40))
    for name, model in kernel_streams.streams(kernel_streams.SETS["letter"]).items():
        done = kernel_streams.one_pass(model, rows)
        if name.startswith("second-order"):
            assert np.count_nonzero(done.predicted != rows.y) == model.mistakes_
    for model in kernel_streams.linear_streams().values():
        wrong = kernel_streams.one_pass(model, rows).predicted != rows.y
        assert wrong.mean() > 0.4  # labels by chance cannot be foreseen
        assert model.score(*rows) > 1 - wrong.mean()


def test_the_noiseless_stream_runs(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["noiseless_stream", "--quick"])
    noiseless_stream.main()
    table = (folder / "noiseless_stream-quick.md").read_text(encoding="utf-8")
    assert table.count("feature matters |") == table.count("features matter |") == 3 * 2
    assert (folder / "noiseless_stream-quick-mistakes.png").stat().st_size > 10_000


def test_several_ridges_run(folder, monkeypatch):
    argv = ["stream_ridges", "--quick", "--only", "letter", "diabetes"]
    monkeypatch.setattr(sys, "argv", argv)
    stream_ridges.main()
    table = (folder / "stream_ridges-quick.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in table.splitlines() if "raw" in line or "scaled" in line]
    assert len(rows) >= 4
    found = {(row[1].strip(), row[2].strip()): row for row in rows if len(row) > 6}
    assert float(found["letter", "raw"][4]) < 10
    assert float(found["diabetes", "raw"][4]) < float(found["diabetes", "raw"][3])


def test_labels_of_the_noiseless_stream_are_those_of_a_hyperplane():
    for hyperplane in noiseless_stream.HYPERPLANES:
        X, y = noiseless_stream.draw(2_000, 0, hyperplane)
        np.testing.assert_allclose(X.std(axis=0) * np.arange(1, 51), 1.0, atol=0.1)
        assert set(y.tolist()) == {-1, 1}
        # a perceptron finds a hyperplane that separates them, in the end
        many = Rows(np.tile(X[:60], (300, 1)), np.tile(y[:60], 300))
        assert not noiseless_stream.perceptron(many)[-60:].any()
