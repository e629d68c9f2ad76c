"""
Three losses: who counts, and what one outlier does
====================================================

The square loss charges every row that is not at its margin, on either side. The hinge losses charge
only rows inside of it: the others have no coefficient. The hinge loss grows linearly, so that a
far row counts no more than a near one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from squareone import RLSClassifier, SVMClassifier
from squareone.report import HingePathDisplay, MarginDisplay

X, y = make_moons(200, noise=0.25, random_state=3)
MODELS = {
    "square": RLSClassifier(),
    "hinge": SVMClassifier(),
    "squared hinge": SVMClassifier(loss="squared_hinge"),
}

# %%
# Each chooses its width and λ by its own leave-one-out error. Rows with a circle have a
# coefficient. All do for the square loss; for the hinge losses those on the margin (dashed) and
# inside of it.

across, up = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.3, 1.8, 120))
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained", sharey=True)
for (name, model), ax in zip(MODELS.items(), axes, strict=True):
    model.fit(X, y)
    values = model.decision_function(grid).reshape(across.shape)
    ax.contourf(
        across, up, values, levels=np.linspace(-2, 2, 17), cmap="RdBu_r", extend="both", alpha=0.55
    )
    ax.contour(
        across, up, values, [-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=1
    )
    support = getattr(model, "support_", np.arange(y.size))
    ax.scatter(*X[support].T, s=46, facecolors="none", edgecolors="black", linewidths=0.7)
    ax.scatter(*X.T, c=y, s=14, cmap="RdBu_r", vmin=0, vmax=1, edgecolors="white", linewidths=0.4)
    wrong = np.mean((model.loo_predictions_ > 0) != y)
    ax.set_title(f"{name}: {support.size} rows count, {wrong:.1%} wrong when left out", fontsize=10)
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Of the support vector machine every λ has a certificate: the duality gap says how far its
# objective can be above the optimum. The leave-one-out error is estimated for each, and exact at
# the best one and its neighbours. The margins of the fit and those of the rows when they are left
# out differ by what a row's own label has given to its margin.

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.2), layout="constrained")
model = SVMClassifier(MODELS["hinge"].kernel_, C=np.logspace(-2, 3, 20)).fit(X, y)
HingePathDisplay.from_estimator(model, ax=left)
MarginDisplay.from_estimator(model, ax=right)
plt.show()
low, high = model.loo_error_interval_
print(f"certain leave-one-out error: from {low:.3f} to {high:.3f}")

# %%
# One row is moved away, step by step, to the far side that is right for it. A straight line that
# is fitted by the square loss follows it; the hinge losses leave it alone as soon as it is beyond
# the margin.

x = np.r_[np.linspace(-2.0, -0.5, 20), np.linspace(0.5, 2.0, 20)]
signs = x > 0
distances = np.geomspace(1.0, 300.0, 25)
losses = {
    "square": RLSClassifier("linear", alpha=1.0),
    "hinge": SVMClassifier("linear", alpha=1.0, calibration=None),
    "squared hinge": SVMClassifier("linear", alpha=1.0, loss="squared_hinge", calibration=None),
}
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, model in losses.items():
    crossings = []
    for distance in distances:
        model.fit(np.r_[x, distance][:, None], np.r_[signs, True])
        crossings.append(-model.intercept_[0] / model.coef_[0, 0])
    ax.plot(distances, crossings, label=name)
ax.axhspan(-0.5, 0.5, color="0.9", zorder=0, label="between the classes")
ax.set(xscale="log", xlabel="where the far row is", ylabel="where f is zero")
ax.legend(frameon=False)
plt.show()
