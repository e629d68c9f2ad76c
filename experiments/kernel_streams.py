"""USPS and letter as streams: second-order perceptrons and selective sampling with a kernel.

``python -m experiments.kernel_streams``
"""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier

from experiments.data import Rows, Split, load_split
from experiments.measure import per_cent_wrong
from experiments.report import Report, parser
from squareone import (
    IncrementalRLSClassifier,
    RLSClassifier,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian


class Settings(NamedTuple):
    """The width, the ridge, and how many support points a class may have with a budget."""

    sigma: float
    alpha: float
    budget: int


#: σ and λ are those that ``RLSClassifier()`` chooses by the leave-one-out error of all rows.
SETS = {"usps": Settings(7.17, 0.011, 50), "letter": Settings(2.86, 0.057, 100)}
K, B = 1.0, 0.01
QUICK_ROWS = 400
# Rows from one call of scikit-learn's partial_fit to the next.
BLOCK = 10
HEADER = (
    "set",
    "kernel",
    "method",
    "mistakes in one pass",
    "of all rows",
    "test error",
    "support points",
    "of a class",
    "labels",
)
NOTES = """\
One pass over the training rows in one random order, the same for all. Features are raw. The
Gaussian kernel has the σ, and `alpha` is the λ, that `RLSClassifier()` chose by the leave-one-out
error (`results/classification.md`): σ = 7.17 and 0.011 for USPS, 2.86 and 0.057 for letter; the
linear `IncrementalRLSClassifier` has `alpha=1`. Selective sampling has `k=1`, and `b` as it says.

**mistakes in one pass** are rows that were predicted wrong before their label was seen, or could
have been, **of all rows** in per cent, as **test error** is, that of the model after the pass.
**support points** are the rows with which a new one is compared, **of a class** how many of them
one class has in the mean. **labels** is the share that was seen. The perceptron and the
passive-aggressive classifier ("PA-I", C = 1) are those of scikit-learn, which predict ten rows
before they learn them; their models, and all others, have learned row by row. **all rows at once**
is `RLSClassifier` with the same kernel and λ.

- The second-order perceptron with a kernel makes half of the mistakes of the best linear learner on
  USPS, and a quarter on letter, and keeps 12 and 25 % of the rows. After one pass it is 0.8 points
  behind all rows at once on USPS, and 3.5 on letter. The average of its hypotheses is better on
  letter and worse on USPS.
- The deterministic rule makes fewer mistakes still, on a tenth of the labels: it learns every row
  it asks about, and all classes share these.
- The randomised rule asks for much more: with so small a ridge r is large for every row that is
  unlike those before, and the margin counts little. The b it chooses by itself asks nearly always:
  in the figures it lies upon the perceptron with all labels.
- A budget of about half of the points costs much of what the kernel won. Points with the smallest
  weights are the typical ones: dropping these, and not the oldest, is better on the way, but keeps
  the outliers, and has more errors after the pass."""


class Pass(NamedTuple):
    """A model after its pass, and what it had said of every row before it saw the label."""

    model: Any
    predicted: NDArray


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    partial = set(options.only) != set(SETS)
    report = Report(
        "kernel_streams",
        "Streams with a kernel",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=partial,
    )
    for name in options.only:
        train, test = load_split(name)
        if options.quick:
            train, test = Split(train.sample(QUICK_ROWS), test.sample(QUICK_ROWS))
        order = np.random.default_rng(0).permutation(len(train.y))
        report.save(_compare(name, Rows(train.X[order], train.y[order]), test, report), name)


def streams(settings: Settings) -> dict[str, Any]:
    """Return what learns with the kernel, by name."""
    own = {"alpha": settings.alpha, "kernel": Gaussian(settings.sigma)}
    return {
        "second-order perceptron, last": SecondOrderPerceptron(**own),
        "second-order perceptron, average": SecondOrderPerceptron(**own, hypothesis="average"),
        f"second-order perceptron, budget {settings.budget}, smallest": SecondOrderPerceptron(
            **own, budget=settings.budget
        ),
        f"second-order perceptron, budget {settings.budget}, oldest": SecondOrderPerceptron(
            **own, budget=settings.budget, budget_rule="oldest"
        ),
        "selective sampling, deterministic": SelectiveSamplingClassifier(**own, k=K),
        f"selective sampling, randomised, b = {B:g}": SelectiveSamplingClassifier(
            strategy="randomized", **own, b=B
        ),
        "selective sampling, randomised, b by itself": SelectiveSamplingClassifier(
            strategy="randomized", **own
        ),
    }


def linear_streams() -> dict[str, Any]:
    """Return what learns a hyperplane for every class, by name."""
    in_order = {"shuffle": False}
    passive_aggressive = {"learning_rate": "pa1", "eta0": 1.0, "penalty": None, **in_order}
    return {
        "incremental RLS": IncrementalRLSClassifier(),
        "perceptron": Perceptron(**in_order),
        "passive-aggressive": SGDClassifier(loss="hinge", **passive_aggressive),
    }


def one_pass(model: Any, rows: Rows) -> Pass:
    """Learn all rows in their order."""
    if hasattr(model, "learn_one"):
        decisions = model.fit(*rows).online_decisions_
        return Pass(model, model.classes_[decisions.argmax(axis=1)])
    classes = np.unique(rows.y)
    predicted = np.full(len(rows.y), classes[0])  # as ours, which know nothing before the first row
    for first in range(0, len(rows.y), BLOCK):
        part = slice(first, first + BLOCK)
        if first:
            predicted[part] = model.predict(rows.X[part])
        model.partial_fit(rows.X[part], rows.y[part], classes=classes)
    return Pass(model, predicted)


def _compare(name: str, train: Rows, test: Rows, report: Report) -> Any:
    settings = SETS[name]
    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    drawn = 0
    for kernel, models in (("Gaussian", streams(settings)), ("linear", linear_streams())):
        for method, model in models.items():
            done = one_pass(model, train)
            wrong = done.predicted != train.y
            _add(report, name, kernel, method, done, wrong, test)
            if method.endswith("average"):  # the run is that of the last hypothesis
                continue
            style = "-" if kernel == "Gaussian" else "--"
            ax.plot(np.cumsum(wrong), style, color=f"C{drawn}", label=f"{method} ({kernel})")
            drawn += 1
    model = RLSClassifier(Gaussian(settings.sigma), settings.alpha).fit(*train)
    error = per_cent_wrong(model.predict(test.X), test.y)
    count = f"{len(train.y):,}"
    row = ("", "", f"{error:.2f}", count, count, "100.0 %")
    report.add(name, "Gaussian", "all rows at once", *row)
    ax.set(
        xlabel="rows seen",
        ylabel="mistakes so far",
        title=f"{name}, σ = {settings.sigma:g}, alpha = {settings.alpha:g}",
        xlim=(0, len(train.y)),
        ylim=(0, None),
    )
    ax.legend(fontsize="small")
    return figure


def _add(
    report: Report, name: str, kernel: str, method: str, done: Pass, wrong: NDArray, test: Rows
) -> None:
    model = done.model
    points = of_class = ""
    if kernel == "Gaussian":
        points = f"{model.support_.size:,}"
        of_class = f"{np.mean(np.count_nonzero(model.dual_coef_, axis=1)):,.0f}"
    report.add(
        name,
        kernel,
        method,
        f"{np.count_nonzero(wrong):,}",
        f"{100 * wrong.mean():.2f}",
        f"{per_cent_wrong(model.predict(test.X), test.y):.2f}",
        points,
        of_class,
        f"{100 * getattr(model, 'label_rate_', 1.0):.1f} %",
    )


if __name__ == "__main__":
    main()
