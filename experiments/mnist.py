"""MNIST digits with more and more rows, until memory is refused.

``python -m experiments.mnist --rows 10000 20000 40000``
"""

import numpy as np

from experiments.data import Rows, load_split
from experiments.report import Report, parser
from experiments.rlsc import judge
from squareone.errors import MemoryLimitError
from squareone.planning.available_memory import readable

ROWS = [1_000, 2_000, 5_000, 10_000]
QUICK_ROWS = [200, 400]
QUICK_TEST_ROWS = 500
HEADER = ("rows", "test error", "leave-one-out error", "σ", "λ", "fit", "memory", "remark")
NOTES = """\
`RLSClassifier()` with nothing set, on the first rows of the training part in float32, judged on the
whole test part. Errors are in per cent, **fit** is the time of `fit` alone. **memory** is what the
plan counted beforehand; the first size that it refuses ends the table."""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--rows", nargs="+", type=int, help=f"sizes, instead of {ROWS}")
    arguments.add_argument("--memory-limit", help='instead of what is free, such as "2GiB"')
    options = arguments.parse_args()
    sizes = sorted(options.rows or (QUICK_ROWS if options.quick else ROWS))
    train, test = (_single(part) for part in load_split("mnist"))
    if not 200 <= sizes[0] <= sizes[-1] <= len(train.y):
        arguments.error(f"--rows: from 200 to {len(train.y):,}, got {sizes}")
    if options.quick:
        test = test.sample(QUICK_TEST_ROWS)
    report = Report("mnist", "MNIST", HEADER, NOTES, quick=options.quick)
    for n in sizes:
        first = Rows(train.X[:n], train.y[:n])
        try:
            judged = judge(first, test, memory_limit=options.memory_limit)
        except MemoryLimitError as error:
            report.add(f"{n:,}", *[""] * 6, f"refused: {error}")
            return
        report.add(
            f"{n:,}",
            f"{judged.test_error:.2f}",
            f"{judged.loo_error:.2f}",
            f"{judged.sigma:.4g}",
            f"{judged.alpha:.2g}",
            f"{judged.seconds:.1f} s",
            readable(judged.planned_bytes),
        )


def _single(rows: Rows) -> Rows:
    """Half the memory; the pixels are integers from 0 to 255, so nothing is lost."""
    return Rows(rows.X.astype(np.float32), rows.y)


if __name__ == "__main__":
    main()
