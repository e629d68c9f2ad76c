"""
Few centers for many rows
=========================

With all rows as centers a kernel model has a matrix of n² numbers behind it. With a few centers it
has a rectangle, and can still learn from every row. Here is what three ways of doing that cost in
accuracy, and why a row that is a center has to take it along when it is left out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_friedman1
from sklearn.model_selection import train_test_split

from squareone import RLSRegressor
from squareone.centers import Given
from squareone.kernels import Gaussian

X, y = make_friedman1(4000, noise=1.0, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=2000, random_state=0)


def test_error(model):
    return np.sqrt(np.mean((y_test - model.predict(X_test)) ** 2))


exact = RLSRegressor(random_state=0).fit(X, y)
print(f"all {len(X):,} rows: {exact.kernel_}, test error {test_error(exact):.3f}")

# %%
# The kernel is that of the exact fit, and the centers are random rows, three draws of them. Each
# fit chooses its own λ by its own leave-one-out error. ``subset`` forgets the other rows,
# ``rectangle`` fits all of them with the functions of the centers, ``nystrom`` puts an approximate
# matrix in place of the kernel matrix and predicts with all rows.

COUNTS = [25, 50, 100, 200, 400]
COLOURS = {"subset": "#D55E00", "rectangle": "#0072B2", "nystrom": "#009E73"}
found = {
    solver: [
        [
            RLSRegressor(exact.kernel_, centers=m, solver=solver, random_state=seed).fit(X, y)
            for seed in range(3)
        ]
        for m in COUNTS
    ]
    for solver in COLOURS
}

tested = {
    solver: [np.mean([test_error(model) for model in models]) for models in found[solver]]
    for solver in COLOURS
}

print(f"{'centers':>8}{'explained':>11}" + "".join(f"{solver:>11}" for solver in COLOURS))
for i, m in enumerate(COUNTS):
    explained = found["rectangle"][i][0].explained_trace_
    print(f"{m:>8}{explained:>11.6f}" + "".join(f"{tested[s][i]:>11.3f}" for s in COLOURS))

# %%
# Full lines are the test error, dots the leave-one-out error that each fit reports of itself
# without having seen a test row. That of ``subset`` rests on few rows, and scatters. The other two
# reach the exact fit with a fifth of the rows as centers.

figure, ax = plt.subplots(figsize=(7.6, 4.8), layout="constrained")
for solver, colour in COLOURS.items():
    ax.plot(COUNTS, tested[solver], "-", color=colour, linewidth=2, label=solver)
    for m, models in zip(COUNTS, found[solver], strict=True):
        own = [(-model.best_score_) ** 0.5 for model in models]
        ax.plot([m] * len(own), own, "o", color=colour, markersize=5, alpha=0.6, zorder=3)
ax.axhline(
    test_error(exact), color="0.3", linestyle="--", linewidth=1.4, label=f"all {len(X):,} rows"
)
ax.plot([], [], "o", color="0.5", markersize=5, label="leave-one-out error of a draw")
ax.set(xscale="log", xlabel="centers", ylabel="root mean square error")
ax.set_xticks(COUNTS, labels=[str(m) for m in COUNTS])
ax.minorticks_off()
ax.grid(alpha=0.25)
ax.legend(framealpha=0.85, edgecolor="none")
ax.set_title(f"Friedman's function, {len(X):,} training and {len(X_test):,} test rows")
plt.show()

# %%
# A row that is a center shapes the basis. If it is left out of the sum of squares only, its center
# still stands where the question will be asked, and its error is not that of a new row. Points that
# are equal to rows are known to be these rows; points a hair beside them are not, and show it: the
# fit at each λ is the same, but nothing is taken along. Half of the rows below are centers. The
# honest error has the shape of that of the test rows, whose noise is a little larger; the other is
# far too large where λ is small, too small where λ is large, and has its minimum elsewhere.

X, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
y = np.where(labels % 2 == 0, 1.0, -1.0) + 0.3 * rng.standard_normal(len(X))  # even or odd
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
own = np.sort(rng.choice(len(X), len(X) // 2, replace=False))
kernel, alphas = Gaussian(18.0), np.geomspace(1e-3, 1e1, 17)

honest = RLSRegressor(kernel, alphas, centers=Given(X[own], indices=own)).fit(X, y)
naive = RLSRegressor(kernel, alphas, centers=X[own] + 1e-6).fit(X, y)
each = [RLSRegressor(kernel, alpha, centers=X[own]).fit(X, y) for alpha in alphas]
errors = {
    "naive": np.sqrt(-naive.path_["score"]),
    "honest": np.sqrt(-honest.path_["score"]),
    "test": np.array([test_error(model) for model in each]),
}
print(f"{'λ':>10}" + "".join(f"{name:>10}" for name in errors))
for i in range(0, len(alphas), 4):
    print(f"{alphas[i]:>10.2g}" + "".join(f"{values[i]:>10.3f}" for values in errors.values()))

# %%
# All λ of a curve of leave-one-out errors come from one factorisation; for the test error each of
# them is fitted by itself.

figure, ax = plt.subplots(figsize=(7.6, 4.8), layout="constrained")
for name, style, colour, label in (
    ("naive", "-", "#D55E00", "leave-one-out, centers stay: naive"),
    ("honest", "-", "#0072B2", "leave-one-out, centers go too: honest"),
    ("test", "--", "0.3", f"{len(X_test)} test rows"),
):
    values = errors[name]
    best = int(values.argmin())
    ax.plot(alphas, values, style, color=colour, linewidth=2, label=label)
    ax.plot(alphas[best], values[best], "D", color=colour, markeredgecolor="black", markersize=8)
ax.plot(
    [], [], "D", color="white", markeredgecolor="black", markersize=8, label="the least of each"
)
ax.set(xscale="log", xlabel="λ", ylabel="root mean square error")
ax.grid(alpha=0.25)
ax.legend(framealpha=0.85, edgecolor="none")
ax.set_title(f"Digits, even or odd, with noise: {len(X):,} rows, {len(own)} of them centers")
plt.show()
