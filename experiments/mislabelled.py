"""Do the rows with flipped labels come first in the list of suspicious rows?

``python -m experiments.mislabelled``
"""

import numpy as np
from numpy.typing import NDArray

from experiments.data import Rows, load_split
from experiments.measure import timed_fit
from experiments.report import Report, parser
from squareone import RLSClassifier

SETS = ("usps", "letter", "optdigits", "pendigits", "satimage")
FLIPPED, LOOKED_AT, TO_REACH = 0.02, 0.04, 0.8
QUICK_ROWS = 400
HEADER = ("set", "rows", "flipped", "found in the first 4 %", "in the first 2 %", "fit", "to reach")
NOTES = """\
Two in a hundred training labels, at random, are replaced by another class; then
`RLSClassifier().fit(X, y).suspicious_rows()`. **found** is the share of the flipped rows among the
first of that list, in per cent."""


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    partial = set(options.only) != set(SETS)
    report = Report(
        "mislabelled", "Mislabelled rows", HEADER, NOTES, quick=options.quick, partial=partial
    )
    for name in options.only:
        rows = load_split(name).train
        if options.quick:
            rows = rows.sample(QUICK_ROWS)
        y, flipped = _flip(rows.y)
        model, seconds = timed_fit(RLSClassifier(), Rows(rows.X, y))
        suspects = model.suspicious_rows()
        found, early = (
            np.isin(flipped, suspects[: round(share * len(y))]).mean()
            for share in (LOOKED_AT, FLIPPED)
        )
        verdict = "yes" if found >= TO_REACH else "no"
        report.add(
            name,
            f"{len(y):,}",
            f"{flipped.size:,}",
            f"{100 * found:.1f}",
            f"{100 * early:.1f}",
            f"{seconds:.1f} s",
            f"≥ {100 * TO_REACH:.0f}: {'–' if options.quick else verdict}",
        )


def _flip(y: NDArray) -> tuple[NDArray, NDArray]:
    """Return labels with some replaced by another class, and which rows these are."""
    rng = np.random.default_rng(0)
    classes, codes = np.unique(y, return_inverse=True)
    flipped = rng.choice(len(y), round(FLIPPED * len(y)), replace=False)
    codes[flipped] = (codes[flipped] + rng.integers(1, classes.size, flipped.size)) % classes.size
    return classes[codes], flipped


if __name__ == "__main__":
    main()
