"""Leave-one-out estimated by random probes, against the exact one, on sparse text.

``python -m experiments.probes``
"""

import numpy as np

from benchmarks.text import text
from experiments.report import Report, parser
from squareone import RLSClassifier

ALPHAS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
HEADER = (
    "λ",
    "degrees of freedom",
    "exact error",
    "estimate, mean of the draws",
    "too large by",
    "scatter of the draws",
    "bias it states",
)
NOTES = """
Mean square leave-one-out error of one-against-all columns of ±1, {rows:,} documents in 20 classes
(news20, or made-up documents where that is not to be had), features log(1 + count)·idf of unit
length. Exact by `solver="spectral"`; estimated by `solver="krylov"`, 20 probes, {draws} draws.
*Scatter* is the standard deviation of the draws, *bias it states* the mean of `path_["bias"]`, with
its sign turned: both as shares of the exact error.
"""


def main() -> None:
    """Write the table."""
    options = parser(__doc__ or "").parse_args()
    rows, draws = (400, 2) if options.quick else (4_000, 10)
    documents = text(rows)
    notes = NOTES.format(rows=rows, draws=draws)
    report = Report("probes", "Leave-one-out by probes", HEADER, notes, quick=options.quick)
    exact = RLSClassifier("linear", ALPHAS, solver="spectral").fit(documents.X, documents.y).path_
    paths = [
        RLSClassifier("linear", ALPHAS, solver="krylov", random_state=seed, max_iter=5_000)
        .fit(documents.X, documents.y)
        .path_
        for seed in range(draws)
    ]
    errors = -np.array([path["score"] for path in paths])
    bias = -np.array([path["bias"] for path in paths]).mean(axis=0)
    for i, alpha in enumerate(ALPHAS):
        true = -exact["score"][i]
        report.add(
            f"{alpha:g}",
            f"{exact['effective_dof'][i]:,.0f}",
            f"{true:.4f}",
            f"{errors[:, i].mean():.4f}",
            f"{100 * (errors[:, i].mean() / true - 1):+.1f} %",
            f"{100 * errors[:, i].std(ddof=1) / true:.1f} %",
            f"{100 * bias[i] / true:+.1f} %",
        )


if __name__ == "__main__":
    main()
