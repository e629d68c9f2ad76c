"""Few centers, shared by the classes: chosen greedily, by the largest residual, or at random.

``python -m experiments.few_centers``
"""

import numpy as np

from experiments.data import Split, load_split
from experiments.measure import per_cent_wrong
from experiments.report import Report, parser
from squareone import OROLSClassifier, RLSClassifier

SETS = ("optdigits", "pendigits", "satimage", "usps", "letter")
COUNTS, QUICK_COUNTS = (10, 20, 50, 100, 200, 400), (10, 20)
DRAWS, QUICK_ROWS = 3, 400
HEADER = ("set", "centers", '"sampled"', '"residual"', "random rows", "no worse than random")
NOTES = """\
Test errors in per cent, means of three draws. **"sampled"**, the default, and **"residual"** are
`OROLSClassifier(stopping=m, shared_centers=True)` with that `selection`; **random rows** is
`RLSClassifier(centers=m)`. All three choose their widths, and their λ or ε, by themselves, on raw
features. **no worse than random** compares the first with the last."""


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    report = Report(
        "few_centers",
        "Few centers",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(SETS),
    )
    for name in options.only:
        split = load_split(name)
        if options.quick:
            split = Split(*(part.sample(QUICK_ROWS) for part in split))
        for m in QUICK_COUNTS if options.quick else COUNTS:
            _compare(name, m, split, 1 if options.quick else DRAWS, report)


def _compare(name: str, m: int, split: Split, draws: int, report: Report) -> None:
    def error(model: OROLSClassifier | RLSClassifier) -> float:
        wrong = []
        for seed in range(draws):
            model.set_params(random_state=seed).fit(split.train.X, split.train.y)
            wrong.append(per_cent_wrong(model.predict(split.test.X), split.test.y))
        return float(np.mean(wrong))

    greedy = {"stopping": m, "shared_centers": True}
    sampled = error(OROLSClassifier(**greedy))
    residual = error(OROLSClassifier(**greedy, selection="residual"))
    random = error(RLSClassifier(centers=m))
    report.add(
        name,
        str(m),
        f"{sampled:.2f}",
        f"{residual:.2f}",
        f"{random:.2f}",
        "yes" if sampled <= random else "no",
    )


if __name__ == "__main__":
    main()
