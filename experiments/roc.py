"""ROC curves of RLSC and an SVM for the digit 4 of USPS against the rest.

``python -m experiments.roc``

After Figure 7.1 of Rifkin, Yeo & Poggio (2003), "Regularized least-squares classification". There σ
was that of the tuned SVM and only λ was RLSC's own; here RLSC chooses both.
"""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from experiments.data import Rows, load_split
from experiments.measure import per_cent_wrong, timed_fit
from experiments.report import RESULTS, Report, parser
from experiments.rlsc import warm_up
from experiments.svm import tuned_classifier
from squareone import RLSClassifier

DIGIT = 4
TITLE = f"ROC curves: USPS, {DIGIT} against the rest"
FALSE_RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
QUICK_ROWS = 600
HEADER = (
    "method",
    "chosen",
    "area under the curve",
    *(f"at {rate:.1%}" for rate in FALSE_RATES),
    "test error",
    "seconds",
)
NOTES = """\
The columns **at …** give the rate of true positives where the rate of false positives is at most
that. **test error** is in per cent, at the threshold zero. **seconds** are those of the fit, and of
the grid search for the SVM, as in the classification experiment. The curves are in the figure of
the same name; its left edge is the rate of half a false positive, and stands for none."""


class Contestant(NamedTuple):
    """A fitted classifier and what to say about it."""

    name: str
    model: Any
    chosen: str
    seconds: float
    colour: str


def main() -> None:
    options = parser(__doc__).parse_args()
    train, test = (_against_the_rest(part) for part in load_split("usps"))
    if options.quick:
        train, test = train.sample(QUICK_ROWS), test.sample(QUICK_ROWS)
    report = Report("roc", TITLE, HEADER, NOTES, quick=options.quick)
    figure, axes = _empty_figure()
    for contestant in _contestants(train):
        values = contestant.model.decision_function(test.X)
        false, true, _ = roc_curve(test.y, values, drop_intermediate=False)
        # On a logarithmic axis, no false positive at all is drawn as half of one.
        drawn = np.maximum(false, 0.5 / np.sum(test.y == 0))
        axes.step(drawn, true, where="post", color=contestant.colour, label=contestant.name)
        report.add(
            contestant.name,
            contestant.chosen,
            f"{roc_auc_score(test.y, values):.5f}",
            *(f"{_true_rate(false, true, rate):.3f}" for rate in FALSE_RATES),
            f"{per_cent_wrong(contestant.model.predict(test.X), test.y):.2f}",
            f"{contestant.seconds:.2f}",
        )
    axes.legend(loc="lower right")
    figure.savefig(RESULTS / f"{report.stem}.png", dpi=150)


def _empty_figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.0, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set(title=TITLE, xlabel="rate of false positives", ylabel="rate of true positives")
    axes.set(xscale="log", ylim=(0.5, 1.01))
    axes.margins(x=0)
    axes.grid(alpha=0.3)
    return figure, axes


def _against_the_rest(rows: Rows) -> Rows:
    return Rows(rows.X, (rows.y == DIGIT).astype(int))


def _contestants(train: Rows) -> list[Contestant]:
    warm_up(train)
    rlsc, seconds = timed_fit(RLSClassifier(), train)
    svm = tuned_classifier(train)
    chosen = f"σ = {rlsc.kernel_.sigma:.3g}, λ = {rlsc.alpha_:.2g}"
    return [
        Contestant("RLSC", rlsc, chosen, seconds, "#0072B2"),
        Contestant("SVM", svm.search, f"{svm.features}, {svm.chosen}", svm.seconds, "#D55E00"),
    ]


def _true_rate(false: NDArray, true: NDArray, at_most: float) -> float:
    """The highest rate of true positives with no more than that rate of false ones."""
    return float(true[false <= at_most].max())


if __name__ == "__main__":
    main()
