"""The two tasks of section 7.6.2 of Rifkin, Yeo & Poggio (2003), and how its figures are drawn.

Digits: USPS, 4 against the rest, pixels in [−1, 1], σ = 5. Faces: CBCL face database #1, 19 × 19
pixels, σ = 2. Its published files for training had the histogram of each image equalised; the
images do not, so each pixel is replaced by its rank among those of its image, in [0, 1].
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score, roc_curve

from experiments.data import Rows, load_split
from squareone.kernels import Gaussian, Kernel

QUICK_ROWS = 400
QUICK_SIZES = (20, 40)


class Task(NamedTuple):
    """Two classes, 1 and 0, and the numbers of centers to try."""

    title: str
    kernel: Kernel
    sizes: Sequence[int]
    train: Rows
    test: Rows


class Outcome(NamedTuple):
    """Of one model on the test rows: the area, the error at the threshold zero in per cent."""

    area: float
    error: float
    curve: NDArray


class _Source(NamedTuple):
    title: str
    sigma: float
    sizes: Sequence[int]
    positive: int
    pixels: Callable[[NDArray], NDArray]


def equalised(images: NDArray) -> NDArray:
    """Return the ranks of the pixels (n, p) within their image, in [0, 1]; ties share theirs."""
    return (rankdata(images, axis=1) - 0.5) / images.shape[1]


_SOURCES = {
    "usps": _Source(
        "USPS, 4 against the rest", 5.0, (128, 256, 512, 1024), 4, lambda X: X.astype(np.float64)
    ),
    "cbcl_faces": _Source("CBCL faces", 2.0, (125, 250, 500, 1000), 1, equalised),
}
SETS = tuple(_SOURCES)
# Rates of false positives at which curves are averaged.
FALSE_RATES = np.geomspace(1e-3, 1.0, 200)


def load_task(name: str, *, quick: bool) -> Task:
    """Return a task; in a quick one a few rows and centers."""
    source = _SOURCES[name]
    parts = load_split(name)
    if quick:
        parts = [part.sample(QUICK_ROWS) for part in parts]
    train, test = (
        Rows(source.pixels(part.X), (part.y == source.positive).astype(int)) for part in parts
    )
    sizes = QUICK_SIZES if quick else source.sizes
    return Task(source.title, Gaussian(source.sigma), sizes, train, test)


def judge(values: NDArray, y: NDArray) -> Outcome:
    """Judge decision values (n,) against classes 1 and 0."""
    false, true, _ = roc_curve(y, values, drop_intermediate=False)
    # the highest rate of true positives with no more than that rate of false ones
    curve = true[np.searchsorted(false, FALSE_RATES, side="right") - 1]
    return Outcome(roc_auc_score(y, values), 100 * float(np.mean((values > 0) != y)), curve)


def spread(numbers: Sequence[float], digits: int) -> str:
    """Return the mean, and ± the standard deviation where there are several."""
    mean = f"{np.mean(numbers):.{digits}f}"
    return mean if len(numbers) < 2 else f"{mean} ± {np.std(numbers, ddof=1):.{digits}f}"


class Panels:
    """A figure with a panel of mean ROC curves for each number of centers."""

    def __init__(self, task: Task, lowest: float) -> None:
        self._figure = Figure(figsize=(8.5, 7.5), layout="constrained")
        self._figure.suptitle(f"{task.title}: test rows, mean curves")
        rows = -(-len(task.sizes) // 2)
        grid = self._figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
        self._panels: dict[int, Axes] = dict(zip(task.sizes, grid.flat, strict=False))
        for size, axes in self._panels.items():
            axes.set(title=f"m = {size:,}", xscale="log", ylim=(lowest, 1.005))
            axes.set(xlim=(FALSE_RATES[0], FALSE_RATES[-1]))
            axes.grid(alpha=0.3)
        for axes in grid[-1]:
            axes.set_xlabel("rate of false positives")
        for axes in grid[:, 0]:
            axes.set_ylabel("rate of true positives")

    def draw(self, size: int, outcomes: Sequence[Outcome], label: str, **style: object) -> None:
        """Add the mean of some curves to the panel of a size."""
        mean = np.mean([outcome.curve for outcome in outcomes], axis=0)
        self._panels[size].plot(FALSE_RATES, mean, label=label, **style)

    def finished(self) -> Figure:
        """Return the figure, with one legend below all panels."""
        handles, labels = next(iter(self._panels.values())).get_legend_handles_labels()
        self._figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return self._figure
