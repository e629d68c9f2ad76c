"""Small tables in files, models of them, and the commands in this process."""

import gzip

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

TOWNS = np.array(["Bari", "Oslo", "Rome"])


def houses(n=80, seed=0):
    """Names, and rows (n) of texts; the price follows from the others but for noise."""
    rng = np.random.default_rng(seed)
    area, town = rng.uniform(30, 200, n), rng.choice(TOWNS, n)
    year = rng.integers(1950, 2020, n)
    price = 2 * area * np.where(town == "Rome", 1.5, 1.0) + 8 * rng.standard_normal(n)
    garden = np.where(rng.random(n) < 0.5, "yes", "no")
    names = ["area", "town", "year", "garden", "price", "dear"]
    rows = [
        [f"{a:.1f}", t, str(y), g, f"{p:.1f}", "dear" if p > 250 else "cheap"]
        for a, t, y, g, p in zip(area, town, year, garden, price, strict=True)
    ]
    return names, rows


def text_of(names, rows, delimiter=","):
    return "\n".join(delimiter.join(row) for row in [names, *rows]) + "\n"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """houses.csv in a folder of its own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "houses.csv"
    path.write_text(text_of(*houses()))
    return path


def run(*arguments, stdin=None):
    """A command in this process."""
    from squareone.cli.commands import cli

    return CliRunner().invoke(cli, [str(each) for each in arguments], input=stdin)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Two models of houses: of the price, and of what is dear."""
    folder = tmp_path_factory.mktemp("models")
    path = folder / "houses.csv"
    path.write_text(text_of(*houses()))
    for target, drop in (("price", "dear"), ("dear", "price")):
        done = run(
            "fit", path, "--target", target, "--drop", drop, "--quick", "--no-report",
            "-o", folder / f"{target}.squareone",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    (folder / "houses.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    return folder
