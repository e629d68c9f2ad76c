"""How often prediction intervals contain new targets, over many draws of hard data.

``python -m experiments.intervals``
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.data import Rows
from experiments.report import Report, parser
from squareone import RLSRegressor
from squareone.kernels import Gaussian

METHODS = ("jackknife+", "minmax", "jackknife", "gaussian")
COVERAGE = 0.9
DRAWS, QUICK_DRAWS = 300, 10
TRAIN_ROWS, NEW_ROWS = 100, 500
HEADER = ("noise", "σ and λ", "draws", *METHODS, "jackknife+ ≥ 80 %, minmax ≥ 90 %")
NOTES = f"""\
Share of {NEW_ROWS} new targets inside their intervals, in per cent, and in brackets the mean
width, for `coverage={COVERAGE}` and {TRAIN_ROWS} training rows of a smooth function of three
features plus noise. Means over the draws; the standard error of a share is below half a per cent.
**given**: σ and λ are those that another draw has chosen. **chosen**: on the training rows
themselves, where nothing is guaranteed. The guarantee of `"jackknife+"` is {
    100 * (2 * COVERAGE - 1):.0f} %, that of `"minmax"` {
    100 * COVERAGE:.0f} %, for given σ and λ; the others have none."""

Noise = Callable[[np.random.Generator, NDArray], NDArray]


def _heteroscedastic(rng: np.random.Generator, X: NDArray) -> NDArray:
    return np.exp(1.5 * X[:, 0]) * rng.standard_normal(len(X))


def _outliers(rng: np.random.Generator, X: NDArray) -> NDArray:
    return np.where(rng.uniform(size=len(X)) < 0.05, 20.0, 0.5) * rng.standard_normal(len(X))


NOISES: dict[str, Noise] = {
    "normal": lambda rng, X: rng.standard_normal(len(X)),
    "heavy-tailed (Student, 2 degrees)": lambda rng, X: rng.standard_t(2, len(X)),
    "skewed (log-normal)": lambda rng, X: rng.lognormal(0.0, 1.0, len(X)) - np.exp(0.5),
    "heteroscedastic (grows with a feature)": _heteroscedastic,
    "one row in twenty an outlier": _outliers,
}


def main() -> None:
    options = parser(__doc__, NOISES).parse_args()
    partial = set(options.only) != set(NOISES)
    report = Report("intervals", "Coverage", HEADER, NOTES, quick=options.quick, partial=partial)
    draws = QUICK_DRAWS if options.quick else DRAWS
    for name in options.only:
        rng = np.random.default_rng(0)
        chosen = _fit(RLSRegressor(), _draw(rng, NOISES[name], TRAIN_ROWS))
        given = RLSRegressor(Gaussian(sigma=chosen.kernel_.sigma), chosen.alpha_)
        for how, model in (("given", given), ("chosen", RLSRegressor())):
            inside, width = _over_draws(model, rng, NOISES[name], draws)
            kept = inside["jackknife+"] >= 2 * COVERAGE - 1 and inside["minmax"] >= COVERAGE
            report.add(
                name,
                how,
                str(draws),
                *(f"{100 * inside[method]:.1f} ({width[method]:.2f})" for method in METHODS),
                "–" if options.quick else "yes" if kept else "no",
            )


def _over_draws(
    model: RLSRegressor, rng: np.random.Generator, noise: Noise, draws: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Mean coverage and mean width of every method."""
    inside = dict.fromkeys(METHODS, 0.0)
    width = dict.fromkeys(METHODS, 0.0)
    for _ in range(draws):
        train, new = (_draw(rng, noise, rows) for rows in (TRAIN_ROWS, NEW_ROWS))
        _fit(model, train)
        for method in METHODS:
            low, high = model.predict_interval(new.X, COVERAGE, method).T
            inside[method] += float(np.mean((low <= new.y) & (new.y <= high))) / draws
            width[method] += float(np.mean(high - low)) / draws
    return inside, width


def _fit(model: RLSRegressor, rows: Rows) -> RLSRegressor:
    return model.fit(rows.X, rows.y)


def _draw(rng: np.random.Generator, noise: Noise, rows: int) -> Rows:
    X = rng.uniform(-1.0, 1.0, (rows, 3))
    signal = 3.0 * np.sin(3.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2]
    return Rows(X, signal + noise(rng, X))


if __name__ == "__main__":
    main()
