"""What "From a CSV to a model you can trust" reads and shows: ``python -m tools.from_csv``.

The table is made up, so that what is true of it is known. The picture is the figure that the page
draws, which is run for it.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "from_csv"
PAGE = ROOT / "docs" / "from_csv.rst"


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Flats to let: words, numbers, dates, gaps, an identifier, and three rents that are wrong."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(28, 140, n).round(1)
    district = rng.choice(["harbour", "hill", "north", "old town", "station"], n)
    floor = rng.integers(0, 8, n)
    lift = rng.random(n) < 0.5
    listed = pd.Timestamp("2023-01-02") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    built = rng.integers(1900, 2024, n)
    years = np.asarray((listed - listed.min()).days) / 365
    extra = pd.Series(district).map(
        {"harbour": 3.0, "hill": 1.0, "north": 0.0, "old town": 5.0, "station": -1.0}
    )
    per_metre = 11 + extra.to_numpy() - 0.5 * floor * ~lift + 0.9 * years
    per_metre = per_metre + 2.0 * ((built < 1919) | (built > 2005))
    rent = 120 + size * per_metre * (1 + 0.06 * rng.standard_normal(n))
    for row, factor in (
        (41, 10.0),
        (187, 0.1),
        (333, 2.5),
    ):  # a digit too many, one too few, a typo
        rent[row] *= factor
    return pd.DataFrame(
        {
            "flat": [f"F-{k:04d}" for k in rng.permutation(9000)[:n]],
            "listed": listed.strftime("%Y-%m-%d"),
            "district": np.where(rng.random(n) < 0.02, "", district),
            "size": np.where(rng.random(n) < 0.03, np.nan, size),
            "floor": floor,
            "lift": np.where(lift, "yes", "no"),
            "built": pd.array(np.where(rng.random(n) < 0.12, np.nan, built)).astype("Int64"),
            "agent": rng.choice(["Adam", "Bea", "Cleo", "Dora"], n),
            "rent": rent.round(0).astype(int),
        }
    )


def main() -> None:
    """Write the table, and the figure of the page."""
    FOLDER.mkdir(exist_ok=True)
    table().to_csv(FOLDER / "flats.csv", index=False)
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        if example.exc_msg is None:
            exec(example.source, names)
    names["figure"].savefig(FOLDER / "intervals.png", dpi=150)


if __name__ == "__main__":
    main()
