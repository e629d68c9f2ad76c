"""A noiseless stream with features of very different scales: second order against first order.

``python -m experiments.noiseless_stream``
"""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from experiments.data import Rows
from experiments.report import Report, parser
from squareone import IncrementalRLSClassifier, SecondOrderPerceptron

FEATURES = 50
RIDGE = 0.01
#: Of the perceptron's mistakes, those that the second-order one may make.
GOAL = 0.25
LENGTHS, SEEDS = (10_000, 40_000), 20
QUICK_LENGTHS, QUICK_SEEDS = (200, 500), 2
HYPERPLANES = ("every feature matters", "large features matter")
HEADER = ("hyperplane", "method", "rows", "mistakes", "of the perceptron's", "to reach")
NOTES = """\
Rows of 50 independent normal features, the i-th of standard deviation 1/i, with the label of a
hyperplane through the origin; no noise. Its weights are normal numbers w, in two ways. **every
feature matters**: wᵢ stands beside the feature in units of its standard deviation, so that all have
the same part in the label. **large features matter**: wᵢ stands beside the feature itself, and the
first few have nearly all of the label. **mistakes** of one pass, mean ± standard deviation of 20
draws of hyperplane and rows; **of the perceptron's** is the ratio of the means. The perceptron
adds yx to its weights on every mistake. The curves in `noiseless_stream-mistakes.png` are means,
with the range of the draws.

Where every feature matters the second-order perceptron makes less than a sixth of the perceptron's
mistakes after 10,000 rows. Where the large ones do, the perceptron has less to lose: the ratio
falls below a quarter only in longer streams. Learning every row, and not only the mistaken ones,
is no better here, and worse in the long run: least squares on rows that are right anyway moves
weights for nothing."""


def perceptron(rows: Rows) -> NDArray:
    """Return which rows the classical perceptron gets wrong; a margin of zero is a mistake."""
    w, wrong = np.zeros(rows.X.shape[1]), np.zeros(len(rows.y), bool)
    for i, (x, y) in enumerate(zip(rows.X, rows.y, strict=True)):
        if y * (w @ x) <= 0:
            w += y * x
            wrong[i] = True
    return wrong


def _of_stream(make: Callable[[], Any]) -> Callable[[Rows], NDArray]:
    def run(rows: Rows) -> NDArray:
        return make().fit(*rows).online_decisions_ * rows.y <= 0

    return run


METHODS: dict[str, Callable[[Rows], NDArray]] = {
    "perceptron": perceptron,
    "second-order perceptron, alpha = 0.01": _of_stream(lambda: SecondOrderPerceptron(alpha=RIDGE)),
    "incremental RLS on every row, alpha = 0.01": _of_stream(
        lambda: IncrementalRLSClassifier(alpha=RIDGE, fit_intercept=False)
    ),
}


def draw(n: int, seed: int, hyperplane: str) -> Rows:
    """Return rows (n, 50) and labels of ±1."""
    rng = np.random.default_rng(seed)
    deviations = 1.0 / np.arange(1, FEATURES + 1)
    w = rng.standard_normal(FEATURES)
    X = rng.standard_normal((n, FEATURES)) * deviations
    u = w / deviations if hyperplane == HYPERPLANES[0] else w
    return Rows(X, np.where(X @ u > 0, 1, -1))


def main() -> None:
    options = parser(__doc__).parse_args()
    lengths, seeds = (QUICK_LENGTHS, QUICK_SEEDS) if options.quick else (LENGTHS, SEEDS)
    report = Report("noiseless_stream", "A noiseless stream", HEADER, NOTES, quick=options.quick)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for hyperplane, ax in zip(HYPERPLANES, axes, strict=True):
        draws = [draw(lengths[-1], seed, hyperplane) for seed in range(seeds)]
        beside: dict[int, float] = {}
        for method, run in METHODS.items():
            so_far = np.cumsum([run(rows) for rows in draws], axis=1)
            for n in lengths:
                counts = so_far[:, n - 1]
                ratio = counts.mean() / beside.setdefault(n, counts.mean())
                report.add(
                    hyperplane,
                    method,
                    f"{n:,}",
                    f"{counts.mean():.0f} ± {counts.std(ddof=1):.0f}",
                    f"{ratio:.3f}",
                    report.to_reach(ratio, GOAL) if method.startswith("second") else "",
                )
            _plot(ax, so_far, method)
        ax.set(title=hyperplane, xlabel="rows seen", xlim=(0, lengths[-1]), ylim=(0, None))
    axes[0].set_ylabel("mistakes so far")
    axes[0].legend()
    report.save(figure, "mistakes")


def _plot(ax: Any, so_far: NDArray, label: str) -> None:
    (line,) = ax.plot(so_far.mean(axis=0), label=label)
    seen = np.arange(so_far.shape[1])
    low, high = so_far.min(axis=0), so_far.max(axis=0)
    ax.fill_between(seen, low, high, alpha=0.2, color=line.get_color(), linewidth=0)


if __name__ == "__main__":
    main()
