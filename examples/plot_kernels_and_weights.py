"""
Kernels that are built, and rows that count differently
=======================================================

Kernels are added and multiplied like numbers, rows have weights, and a kernel matrix computed
elsewhere can be brought along.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from squareone import RLSRegressor
from squareone.kernels import Gaussian, Linear
from squareone.report import summary

BLUE, ORANGE = "#0072B2", "#D55E00"

# %%
# **Sums and products.** A trend with a wave of growing size on it: a Gaussian kernel alone falls
# back to the mean outside the data; a sum with a linear kernel follows the trend; the product of
# the two lets the size of the wave grow.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 90))
y = 0.6 * x + 0.15 * x * np.sin(2.5 * x) + rng.normal(0, 0.15, x.size)
grid = np.linspace(-1, 14, 400)
wave = Gaussian(sigma=0.8)
kernels = {
    "Gaussian": wave,
    "Gaussian + 0.1 * Linear": wave + 0.1 * Linear(),
    "(1 + Linear) * Gaussian + Linear": (1 + Linear()) * wave + Linear(),
}
figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained", sharey=True)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    model = RLSRegressor(kernel).fit(x[:, None], y)
    ax.plot(x, y, "o", color="0.6", markersize=3.5, label="data")
    ax.plot(grid, model.predict(grid[:, None]), color=BLUE, label="fit")
    ax.axvspan(10, 14, color="0.93", zorder=0, label="no data")
    error = np.sqrt(-model.best_score_)
    ax.set(xlabel="x", title=f"{name}\nleave-one-out error {error:.3f}", xlim=(-1, 14))
axes[0].set_ylabel("y")
axes[0].legend(loc="upper left", framealpha=0.85, edgecolor="none")
plt.show()

# %%
# **Weights.** Where some rows are noisier than others, weights of one over the variance tell the
# fit which ones to believe. With equal weights the noise on the right decides how smooth the fit is
# on the left, too.

x = np.sort(rng.uniform(0, 1, 150))
noise = np.where(x < 0.6, 0.05, 1.0)
truth = np.sin(16 * x)
y = truth + noise * rng.normal(size=x.size)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(x, y, "o", color="0.7", markersize=3.5, label="data")
ax.plot(x, truth, color="black", linestyle=":", label="truth")
for weights, name, colour in ((None, "equal weights", ORANGE), (noise**-2, "1 / variance", BLUE)):
    model = RLSRegressor(Gaussian(sigma=0.12)).fit(x[:, None], y, sample_weight=weights)
    fit = model.predict(x[:, None])
    error = np.sqrt(np.mean((fit - truth) ** 2))
    ax.plot(x, fit, color=colour, label=f"{name}: {error:.3f} from the truth")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="lower left", framealpha=0.85, edgecolor="none")
plt.show()

# %%
# **Precomputed.** Any positive semidefinite matrix will do; in ``predict`` it is the matrix between
# new rows and training rows. Here it comes from the library, so that the answer can be compared.

X, y = load_diabetes(return_X_y=True)
direct = RLSRegressor(Gaussian(sigma=0.2)).fit(X, y)
brought = RLSRegressor("precomputed").fit(Gaussian(sigma=0.2)(X), y)
difference = direct.predict(X[:5]) - brought.predict(Gaussian(sigma=0.2)(X[:5], X))
print(f"largest difference: {np.abs(difference).max():.1e}")
print(summary(brought))
