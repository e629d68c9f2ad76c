"""
Intervals: how far off a prediction may be
==========================================

A fit knows the errors of all leave-one-out models, and how each of them would predict a new row.
From these come intervals that contain a new target with the probability that is asked for, without
a test set and without any fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import IntervalDisplay, LeaveOneOutDisplay

# %%
# **One feature.** A wave with noise, and a gap without rows. ``"jackknife+"`` knows the errors of
# the rows there are, and how much the fit would change without each of them; ``"gaussian"`` is
# unsure wherever no row is near.

rng = np.random.default_rng(0)
x = np.sort(np.concatenate([rng.uniform(0, 3.5, 70), rng.uniform(6, 10, 70)]))
y = np.sin(2 * x) + 0.25 * rng.normal(size=x.size)
model = RLSRegressor(Gaussian(sigma=0.6)).fit(x[:, None], y)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
grid = np.linspace(-1, 11, 400)[:, None]
for method, ax in zip(("jackknife+", "gaussian"), axes, strict=True):
    IntervalDisplay.from_estimator(model, grid, method=method, ax=ax)
    ax.plot(x, y, "o", color="0.25", markersize=3.2)
    ax.set_ylabel("y")
plt.show()

# %%
# **Is the promise kept?** Rows of the diabetes data that were not in the fit, sorted by their
# prediction: nine targets in ten should lie in the band.

X, y = load_diabetes(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
model = RLSRegressor(random_state=0).fit(X, y)
display = IntervalDisplay.from_estimator(model, X_test, y_test, coverage=0.9)
display.ax_.set_ylabel("disease progression")
plt.show()

# %%
# The four methods at several levels. ``"minmax"`` promises the most, on average over data sets, and
# is the widest; ``"gaussian"`` relies on normal noise of equal size everywhere.

print(f"{'':<12}{'coverage on 177 test rows':^36}{'mean width':>12}")
print(f"{'method':<12}{'50 %':>9}{'80 %':>9}{'90 %':>9}{'95 %':>9}{'at 90 %':>12}")
for method in ("jackknife+", "jackknife", "minmax", "gaussian"):
    shares = []
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = model.predict_interval(X_test, coverage, method).T
        shares.append(np.mean((low <= y_test) & (y_test <= high)))
    low, high = model.predict_interval(X_test, 0.9, method).T
    figures = "".join(f"{share:>9.1%}" for share in shares)
    print(f"{method:<12}{figures}{np.mean(high - low):>12.1f}")

# %%
# The same errors, row by row: each training row against the prediction of the model without it.

display = LeaveOneOutDisplay.from_estimator(model)
display.ax_.set(xlabel="disease progression", ylabel="predicted without the row")
plt.show()
