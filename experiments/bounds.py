"""Bounds on the error beside the exact leave-one-out error and the test error.

``python -m experiments.bounds``
"""

import numpy as np

from experiments.data import load_split
from experiments.measure import per_cent_wrong
from experiments.report import Report, parser
from squareone import RLSClassifier
from squareone.kernels import Gaussian

SETS = ("usps", "letter", "optdigits", "pendigits", "satimage")
ROWS, QUICK_ROWS = 3_000, 300
# λ as it was chosen, and larger ones, where bounds begin to tell something
FACTORS = (1, 100, 10_000)
HEADER = (
    "set",
    "rows",
    "λ",
    "test error",
    "leave-one-out error",
    "bound on it",
    "mean square: test",
    "leave-one-out",
    "GACV",
    "stability bound",
)
NOTES = f"""\
`RLSClassifier(fit_intercept=False)` on at most {ROWS:,} random training rows: at the λ it chose,
with the chosen width, and at {FACTORS[1]} and {FACTORS[2]:,} times that λ. Errors in per cent; the
leave-one-out error and its bound (Rifkin, Yeo & Poggio 2003, section 7.7) are for the largest
value among the classes. The bound is `loo_error_bound_`. Mean squares are over all columns of ±1;
GACV is `gacv_`. The stability bound (Bousquet & Elisseeff 2002) is that of the first column, on
its mean square, for δ = 0.05; it counts on a λ and σ that were not chosen on these rows, so here
it is only shown for its size."""


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    partial = set(options.only) != set(SETS)
    report = Report("bounds", "Bounds", HEADER, NOTES, quick=options.quick, partial=partial)
    for name in options.only:
        train, test = load_split(name)
        train = train.sample(QUICK_ROWS if options.quick else ROWS)
        chosen = RLSClassifier(fit_intercept=False, alpha="auto").fit(train.X, train.y)
        for factor in FACTORS:
            model = RLSClassifier(
                Gaussian(sigma=chosen.kernel_.sigma), factor * chosen.alpha_, fit_intercept=False
            ).fit(train.X, train.y)
            left_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
            columns = np.where(test.y[:, None] == model.classes_, 1.0, -1.0)
            report.add(
                name if factor == 1 else "",
                f"{len(train.y):,}" if factor == 1 else "",
                f"{model.alpha_:.3g}",
                f"{per_cent_wrong(model.predict(test.X), test.y):.2f}",
                f"{per_cent_wrong(left_out, train.y):.2f}",
                f"{100 * model.loo_error_bound_:.2f}",
                f"{np.mean((columns - model.decision_function(test.X)) ** 2):.4f}",
                f"{-model.best_score_:.4f}",
                f"{np.mean(model.gacv_):.4f}",
                f"{model.stability_bound()[0]:.3g}",
            )


if __name__ == "__main__":
    main()
