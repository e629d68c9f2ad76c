"""
The path of a regression
========================

A fit finds a width for its kernel and looks at every λ there. Here is what it leaves behind: the
error over λ, a prediction of each row by the model that has not seen it, and an intercept that is
not penalised.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from squareone import RLSRegressor
from squareone.report import path_figure, summary

X, y = load_diabetes(return_X_y=True)
model = RLSRegressor(random_state=0).fit(X, y)
print(summary(model))

# %%
# The leave-one-out error over λ, at the chosen width. To the left the fit follows the noise, to the
# right it is too stiff; the axis at the top says how many parameters the fit uses in effect. The
# grid came from the spectrum of the kernel matrix and was refined around its best value.

path_figure(model)
plt.show()

# %%
# Those errors are exact. Refitting without each row in turn, with the same kernel and λ, gives the
# same predictions, after 442 fits instead of none.

same = RLSRegressor(model.kernel_, alpha=model.alpha_)
refitted = cross_val_predict(same, X, y, cv=LeaveOneOut())
print(f"largest difference: {np.abs(refitted - model.loo_predictions_).max():.1e}")

# %%
# The intercept is fitted, and not shrunk: adding a constant to the targets moves it by exactly that
# and changes nothing else, λ included.

shifted = RLSRegressor(random_state=0).fit(X, y + 1000.0)
print(f"intercept: {model.intercept_:.1f}, then {shifted.intercept_:.1f}")
print(f"λ: {model.alpha_:.4f}, then {shifted.alpha_:.4f}")

# %%
# As those errors are exact, the honest predictions of the training rows can be looked at, row by
# row. The plain predictions of the same rows look better than they are.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained", sharex=True, sharey=True)
for ax, values, name in (
    (axes[0], model.loo_predictions_, "each row left out"),
    (axes[1], model.predict(X), "each row in the fit"),
):
    error = np.sqrt(np.mean((y - values) ** 2))
    ax.scatter(y, values, s=14, color="#0072B2", alpha=0.6, linewidths=0)
    ax.axline((150, 150), slope=1, color="0.4", linestyle=":", label="prediction = truth")
    ax.set(xlabel="disease progression", title=f"{name}: root mean square error {error:.1f}")
    ax.legend(loc="upper left", framealpha=0.85, edgecolor="none")
axes[0].set_ylabel("predicted progression")
plt.show()
