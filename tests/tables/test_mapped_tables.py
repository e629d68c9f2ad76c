"""Tables on the disk: the same values, and fits that read them in passes give the same models."""

import io

import numpy as np
import pytest

import squareone
from squareone import TableClassifier, TableRegressor
from squareone.kernels import Gaussian
from squareone.rows.mapped_table import is_mapped, map_batches, map_rows
from squareone.rows.table_reader import read_table
from squareone.tables import TableEncoder
from squareone.tables.encoded_rows import EncodedTable, rows_of_table, transformed

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LATE = """a;b;c;d;e;f
1;x;;2020-01-01;true;07:30
2;y;;2020-01-02;false;08:30
"""


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    words = rng.choice(["red", "green", "blue"], n)
    size = rng.uniform(0, 1, n)
    size[rng.random(n) < 0.05] = np.nan
    codes = rng.integers(0, 40, n)
    table = pa.table(
        {
            "size": pa.array(size, from_pandas=True),
            "word": words,
            "code": [f"c{i}" for i in codes],
            "count": rng.integers(0, 9, n),
        }
    )
    y = 2 * np.nan_to_num(size) + (words == "red") + codes / 40 + 0.1 * rng.standard_normal(n)
    return table, y


def mapped(table):
    return map_batches(table.schema, table.to_batches(max_chunksize=700))


# --- files ---


def both(content, **more):
    return (read_table(io.BytesIO(content), memory=size, **more) for size in (np.inf, 1))


@pytest.mark.parametrize(
    "later",
    [
        "3;z;;2020-01-03;true;09:30",
        "3.5;z;4;2020-01-03;true;09:30",
        "many;5;word;yesterday;perhaps;later",
        ";;;;;",
    ],
    ids=["alike", "fractions", "words", "gaps"],
)
def test_a_text_on_the_disk_is_read_as_in_memory(monkeypatch, later):
    monkeypatch.setattr("squareone.rows.mapped_table._BYTES", 200)
    lines = LATE + "".join(f"{i};x;;2020-01-01;true;07:30\n" for i in range(30)) + later + "\n"
    memory, disk = both(lines.encode())
    assert is_mapped(disk.table)
    assert not is_mapped(memory.table)
    assert disk.table.column_names == memory.table.column_names
    for name in disk.table.column_names:
        assert disk.table.column(name).to_pylist() == memory.table.column(name).to_pylist(), name
    assert disk.sha256 == memory.sha256
    assert disk.line(31) == memory.line(31)


def test_parquet_and_arrow_on_the_disk(tmp_path):
    table, _ = mixed(300)
    coded = table.set_column(1, "word", table.column("word").dictionary_encode())
    parquet.write_table(coded, tmp_path / "t.parquet", row_group_size=100)
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        found = read_table(tmp_path / name, memory=1).table
        assert is_mapped(found)
        assert found.to_pylist() == table.to_pylist()


def test_a_ragged_text_on_the_disk_is_refused_with_its_line():
    content = "a,b\n" + "1,2\n" * 20 + "1,2,3\n"
    with pytest.raises(ValueError, match="line 22"):
        read_table(io.BytesIO(content.encode()), memory=1)


def test_rows_of_a_mapped_table(monkeypatch):
    table, _ = mixed(1000)
    disk = mapped(table)
    rows = np.flatnonzero(np.random.default_rng(0).random(1000) < 0.3)
    assert map_rows(disk, rows).to_pylist() == table.take(rows).to_pylist()
    assert map_rows(disk, rows[:0]).num_rows == 0
    assert not is_mapped(table.take(rows))
    monkeypatch.setattr("squareone.tables.encoded_rows._IN_MEMORY", 10)
    assert is_mapped(rows_of_table(disk, rows))
    assert rows_of_table(disk, rows).to_pylist() == table.take(rows).to_pylist()


# --- fits ---


def test_encoded_rows_are_those_in_memory():
    table, y = mixed(900)
    taught = np.sort(np.random.default_rng(1).choice(900, 300, replace=False))
    encoder = TableEncoder(random_state=0, many_levels="target")
    learned = encoder.fit_transform(table.take(taught), y[taught])
    stream = EncodedTable(encoder, mapped(table), taught, learned)
    expected = transformed(encoder, table)
    expected[taught] = learned
    assert not np.array_equal(learned, transformed(encoder, table.take(taught)))
    np.testing.assert_array_equal(stream[:], expected)
    np.testing.assert_array_equal(np.concatenate([b for _, b in stream.blocks(77)]), expected)
    some = np.array([5, 3, 700, *taught[:3]])
    np.testing.assert_array_equal(stream[some], expected[some])


@pytest.mark.parametrize(
    "task", ["regression", pytest.param("classification", marks=pytest.mark.thorough)]
)
def test_a_fit_in_passes_is_that_in_memory(monkeypatch, tmp_path, task):
    """The rule of when a table is encoded in passes is set low, so that a small one is."""
    table, y = mixed(900)
    if task == "classification":
        y = np.where(y > np.median(y), "high", "low")
    passes = []
    read = EncodedTable._read
    monkeypatch.setattr(EncodedTable, "_read", lambda *a: passes.append(a) or read(*a))
    for module in ("learned_kernel", "kernel_choice"):
        monkeypatch.setattr(f"squareone.fitting.{module}.POOL_ROWS", 200)
    monkeypatch.setattr("squareone.tables.table_fit.POOL_ROWS", 200)
    monkeypatch.setattr("squareone.tables.table_fit._STREAMED_ROWS", 400)
    monkeypatch.setattr("squareone.tables.table_fit._COPIES", 1e12)
    kind = TableRegressor if task == "regression" else TableClassifier
    encoder = TableEncoder(random_state=0)
    first, second = (
        kind(Gaussian(), centers=15, alpha=0.1, encoder=encoder, random_state=0) for _ in range(2)
    )
    first.fit(table, y)
    assert not passes
    second.fit(mapped(table), y)
    assert passes
    new, _ = mixed(50, seed=1)
    found = [
        m.predict(new) if task == "regression" else m.predict_proba(new) for m in (first, second)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-8)
    second.save(tmp_path / "m")
    np.testing.assert_array_equal(squareone.load(tmp_path / "m").predict(new), second.predict(new))
