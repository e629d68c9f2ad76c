"""One model entered twice into a comparison, with different seeds: how often it is "cannot tell".

``python -m experiments.twins``
"""

from collections import Counter
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import ExtraTreeRegressor

from experiments.report import Report, parser
from squareone.report.comparison import LEVEL, Rival, compare
from squareone.tables import TableEncoder, TableRegressor

RUNS, QUICK_RUNS, ROWS = 50, 3, 80
HEADER = ("model", "runs", "cannot tell", "better", "worse", "to reach")
NOTES = f"""
`squareone.report.comparison.compare` on {ROWS} rows of three normal features, y the first of them
plus normal noise of half its size, drawn anew in every run: three times five folds, and the
corrected resampled t test at a level of {LEVEL:.0%}. Both entries are the same model, with another
seed each.
"""


def _centers(seed: int) -> TableRegressor:
    """Twenty random centers, in which two fits differ."""
    return TableRegressor(
        "gaussian", centers=20, random_state=seed, encoder=TableEncoder(random_state=0)
    )


MODELS: dict[str, Any] = {
    "a tree with random splits, five rows in a leaf": lambda seed: ExtraTreeRegressor(
        min_samples_leaf=5, random_state=seed
    ),
    "a forest of ten trees": lambda seed: RandomForestRegressor(10, random_state=seed),
    "TableRegressor with 20 random centers": _centers,
}


def verdict_on_twins(model: Any, run: int) -> str:
    """What a comparison of a model with itself says, ``model`` being called with a seed."""
    rng = np.random.default_rng(run)
    X = rng.standard_normal((ROWS, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(ROWS)
    rivals = [
        Rival(f"seed {seed}", "", model(seed), isinstance(model(seed), TableRegressor))
        for seed in (0, 1)
    ]
    return compare(rivals, X, y, "regression", seed=run).verdict(1)


def main() -> None:
    """Write the table."""
    options = parser(__doc__ or "").parse_args()
    runs = QUICK_RUNS if options.quick else RUNS
    report = Report("twins", "One model twice", HEADER, NOTES, quick=options.quick, data="no file")
    for name, model in MODELS.items():
        told = Counter(verdict_on_twins(model, run) for run in range(runs))
        counts = [str(told[verdict]) for verdict in ("cannot tell", "better", "worse")]
        least = 0.9 * runs
        met = "–" if options.quick else "yes" if told["cannot tell"] >= least else "no"
        report.add(name, str(runs), *counts, f"≥ {least:.0f}: {met}")


if __name__ == "__main__":
    main()
