"""
The search for the kernel width
===============================

A Gaussian kernel has a width σ, and the best λ depends on it. By default both are chosen together,
by the leave-one-out error. Here is where the search looks, and what it finds.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier
from squareone.kernels import Gaussian
from squareone.report import WidthMapDisplay, summary

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = RLSClassifier(random_state=0).fit(X, y)
print(summary(model, y))

# %%
# The looks come first in ``path_``, and the path over λ at the chosen width last. A look on up to
# 1,000 rows is an eigendecomposition, which knows every λ; its best one is what the path shows.

path = model.path_
looks = path["sigma"] != model.kernel_.sigma
print(f"{'rows':>6}{'σ':>9}{'λ':>11}{'error':>9}")
for i in np.flatnonzero(looks):
    error = -path["score"][i]
    print(f"{path['rows'][i]:>6}{path['sigma'][i]:>9.3g}{path['alpha'][i]:>11.2g}{error:>9.4f}")

# %%
# To see how good that is, here is the whole plane: the leave-one-out error of all rows for 31
# widths and 61 λ, from 31 eigendecompositions. The search took as many as there are lines above,
# nine of them on 500 rows only: octaves first (circles), each at its best λ; then all rows, again
# by octaves and at the end by parabolas (squares). A narrow kernel is bad at every λ, and the three
# narrowest octaves lie to the left of the figure.

sigmas, alphas = np.geomspace(1.2, 64.0, 31), np.geomspace(1e-4, 10.0, 61)
errors = np.array(
    [-RLSClassifier(Gaussian(sigma), alphas).fit(X, y).path_["score"] for sigma in sigmas]
)

figure, ax = plt.subplots(figsize=(7.6, 4.8), layout="constrained")
colours = {"norm": LogNorm(0.12, 0.5), "cmap": "viridis"}
levels = np.geomspace(0.12, 0.5, 25)
plane = ax.contourf(sigmas, alphas, errors.T, levels=levels, extend="max", **colours)
ax.contour(sigmas, alphas, errors.T, levels=levels[:3], colors="white", linewidths=0.7)
for rows, marker in ((500, "o"), (y.size, "s")):
    at = looks & (path["rows"] == rows)
    ax.scatter(
        path["sigma"][at],
        path["alpha"][at],
        c=-path["score"][at],
        marker=marker,
        s=60,
        edgecolors="white",
        linewidths=1.3,
        label=f"looks on {rows} rows",
        **colours,
    )
ax.plot(
    model.kernel_.sigma,
    model.alpha_,
    "D",
    color="#E69F00",
    markeredgecolor="black",
    markersize=9,
    label=f"chosen: σ = {model.kernel_.sigma:.3g}, λ = {model.alpha_:.2g}",
)
ax.set(xscale="log", yscale="log", xlabel="σ", ylabel="λ")
ax.set(xlim=(sigmas[0], sigmas[-1]), ylim=(alphas[0], alphas[-1]))
ax.set_xticks([2, 4, 8, 16, 32, 64], labels=["2", "4", "8", "16", "32", "64"])
ax.minorticks_off()
bar = figure.colorbar(plane, ax=ax, label="leave-one-out mean square error")
bar.set_ticks([0.12, 0.15, 0.2, 0.3, 0.5], labels=["0.12", "0.15", "0.2", "0.3", "0.5"])
bar.minorticks_off()
ax.legend(loc="lower left", facecolor="0.25", labelcolor="white", framealpha=0.9)
plt.show()
print(f"best of the plane: {errors.min():.4f}, of the search: {-model.best_score_:.4f}")

# %%
# With more rows most of the work is still done on few of them. Beyond 1,000 rows a look at all of
# them is one Cholesky factorisation in float32 at one λ; ``bits`` tells. The last line is the
# answer, in float64.

X, y = load_digits(return_X_y=True)
model = RLSClassifier(random_state=0).fit(X, y)
path = model.path_
print(f"{'rows':>6}{'bits':>6}{'σ':>9}{'λ':>11}{'error':>9}")
for rows, bits, sigma, alpha, score in zip(
    *(path[name] for name in ("rows", "bits", "sigma", "alpha", "score")), strict=True
):
    print(f"{rows:>6}{bits:>6}{sigma:>9.3g}{alpha:>11.2g}{-score:>9.4f}")

# %%
# ``WidthMapDisplay`` draws these looks, each compared with the best one on as many rows. On few
# rows the error may not depend on λ any more below some value: arrows say that the look was at a λ
# far below the figure.

WidthMapDisplay.from_estimator(model)
plt.show()
