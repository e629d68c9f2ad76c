"""
Few centers, chosen one by one
==============================

A greedy model begins with a constant and takes one row after the other as a center, where the
residual is largest. Here is where the centers go, which of all models on the way is chosen, and
what it means for a prediction that several classes share their centers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from squareone import OROLSClassifier, OROLSRegressor, RLSRegressor
from squareone.report import GreedyPathDisplay

rng = np.random.default_rng(0)
x = rng.uniform(-10, 10, (200, 1))
y = np.sinc(x[:, 0] / np.pi) + 0.1 * rng.standard_normal(200)
line = np.linspace(-10, 10, 400)[:, None]
truth = np.sinc(line[:, 0] / np.pi)

model = OROLSRegressor().fit(x, y)
exact = RLSRegressor().fit(x, y)
print(f"{model.kernel_}, ε = {model.epsilon_:g}, λ = {model.lambda_:.2g}")


def off(model):
    return np.sqrt(np.mean((model.predict(line) - truth) ** 2))


print(f"{model.n_centers_:>4} greedy centers: {off(model):.3f} from the truth")
print(f"{len(x):>4} rows, RLSRegressor: {off(exact):.3f}")

# %%
# Circles are centers, at the targets of their rows. They are rows of large residuals, and so at the
# edge of the noise. The number ε, which is added to the kernel of a center with itself, is what
# keeps the curve from running through them.

figure, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
ax.plot(x[:, 0], y, ".", color="0.6", markersize=5, label=f"{len(x)} rows")
ax.plot(line, truth, "--", color="0.3", linewidth=1.4, label="sinc")
ax.plot(line, model.predict(line), color="#0072B2", linewidth=2, label="greedy model")
ax.plot(
    x[model.center_indices_, 0],
    y[model.center_indices_],
    "o",
    color="#D55E00",
    markerfacecolor="none",
    markersize=8,
    label=f"its {model.n_centers_} centers",
)
ax.set(xlabel="x", ylabel="y")
ax.grid(alpha=0.25)
ax.legend(framealpha=0.85, edgecolor="none")
plt.show()

# %%
# All models of the path are known. λ is re-estimated at every step; the training error goes on
# falling, which says little; the criterion charges for centers, and is least at the model that was
# chosen. The path goes on for a while, because the criterion may fall again.

GreedyPathDisplay.from_estimator(model)
plt.show()

print(f"{'centers':>8}{'λ':>10}{'from the truth':>16}")
for m in sorted({5, 10, 20, model.n_centers_, int(model.path_["centers"].max())}):
    print(f"{m:>8}{model.path_['lambda'][m]:>10.2g}{off(model.at(m)):>16.3f}")

# %%
# Ten classes are ten columns of ±1. By default each has a path of its own, and a prediction needs a
# kernel value for every center that any of them has; columns that share their centers need only
# one for each center of the path. ``at(m)`` gives the models along both paths.

X, labels = load_digits(return_X_y=True)
X, X_test, labels, labels_test = train_test_split(X, labels, random_state=0)
own = OROLSClassifier().fit(X, labels)
shared = OROLSClassifier(own.kernel_, epsilon=own.epsilon_, shared_centers=True).fit(X, labels)

COUNTS = [5, 10, 20, 30, 50, 70, 100, 150, 200]
COLOURS = {"own centers": "#0072B2", "shared centers": "#D55E00"}
values, errors = {}, {}
for name, fitted in zip(COLOURS, (own, shared), strict=True):
    models = [fitted.at(m) for m in COUNTS]
    values[name] = [len(model.centers_) for model in models]
    errors[name] = [1 - model.score(X_test, labels_test) for model in models]

print(f"{'':>8}{'own centers':>24}{'shared centers':>24}")
print(f"{'m':>8}" + f"{'kernel values':>14}{'error':>10}" * 2)
for i, m in enumerate(COUNTS):
    row = "".join(f"{values[name][i]:>14}{errors[name][i]:>10.1%}" for name in COLOURS)
    print(f"{m:>8}{row}")

# %%
# With as many centers on a path, columns with centers of their own are more accurate. With as many
# kernel values for a prediction, which is what it costs, the shared ones are.

figure, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
for name, colour in COLOURS.items():
    shown = 100 * np.array(errors[name])
    ax.plot(values[name], shown, "o-", color=colour, linewidth=2, markersize=5, label=name)
ax.set(xscale="log", yscale="log", xlabel="kernel values for a prediction", ylabel="test error, %")
ax.set_xticks([10, 30, 100, 300, 1000], labels=["10", "30", "100", "300", "1,000"])
ax.set_yticks([1, 2, 5, 10, 20, 50], labels=["1", "2", "5", "10", "20", "50"])
ax.minorticks_off()
ax.grid(alpha=0.25)
ax.legend(framealpha=0.85, edgecolor="none")
ax.set_title(f"Digits: {len(X):,} training and {len(X_test)} test rows")
plt.show()
