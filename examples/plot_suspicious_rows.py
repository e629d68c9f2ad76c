"""
Suspicious rows: finding wrong labels
=====================================

Each row is judged by the model that was fitted without it. Where all the others prefer another
class, the label may be wrong. Here two per cent of the labels are, and are found again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from squareone import RLSClassifier
from squareone.report import LeverageDisplay

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
flipped = rng.choice(truth.size, truth.size // 50, replace=False)
y = truth.copy()
y[flipped] = (truth[flipped] + rng.integers(1, 10, flipped.size)) % 10

model = RLSClassifier(random_state=0).fit(X, y)

# %%
# ``suspicious_rows`` puts the rows in order, the least believed first. As many as were flipped:

suspects = model.suspicious_rows(flipped.size)
found = np.isin(suspects, flipped)
print(f"{found.sum()} of {flipped.size} wrong labels are among the {suspects.size} first rows")
order = np.isin(model.suspicious_rows(), flipped)
print(f"all of them are among the first {np.flatnonzero(order)[-1] + 1} of {y.size:,}")

# %%
# The leverage of a row says how far the fit follows its label. The wrong ones stand at the top:
# left out, they are taken for another class, by a wide margin.

display = LeverageDisplay.from_estimator(model)
others = np.setdiff1d(flipped, display.suspicious)
display.ax_.plot(
    display.leverages[others],
    display.errors[others],
    "o",
    color="#D55E00",
    markerfacecolor="none",
    label="other wrong labels",
)
display.ax_.legend(loc="center left", framealpha=0.85, edgecolor="none")
plt.show()

# %%
# The twelve most suspicious images, with the label they came with and the one the others give them.

held_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
figure, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, row in zip(axes.flat, suspects, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"row {row}\nlabel {y[row]}, others: {held_out[row]}", fontsize="small")
    ax.axis("off")
plt.show()

# %%
# What do they do to the model? Without the suspects it predicts their true labels.

clean = np.setdiff1d(np.arange(y.size), suspects)
again = RLSClassifier(random_state=0).fit(X[clean], y[clean])
right = np.mean(again.predict(X[suspects]) == truth[suspects])
print(f"fitted without them: {right:.0%} of their true labels are predicted")
