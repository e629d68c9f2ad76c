"""
Probabilities and curves from rows left out
===========================================

Decision values become probabilities by a curve that is fitted to the leave-one-out values: honest
ones, so that nothing has to be set aside for it. The same values draw the ROC curve to expect of
new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier
from squareone.report import (
    LeaveOneOutCalibrationDisplay,
    LeaveOneOutPrecisionRecallDisplay,
    LeaveOneOutRocDisplay,
)

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), RLSClassifier(random_state=0)).fit(X, y)
print("probabilities of the first rows:")
print(model.predict_proba(X[:3]).round(3))

# %%
# Left: how well the classes are told apart. Right: whether a probability is what it says. Every
# point is on rows left out, and a calibrated curve stays within the grey lens nineteen times in
# twenty.

figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
LeaveOneOutRocDisplay.from_estimator(model, ax=axes[0])
LeaveOneOutCalibrationDisplay.from_estimator(model, ax=axes[1], n_bins=8)
plt.show()

# %%
# With more classes there is a curve for each, against all others. The linear kernel is used here so
# that the curves can be seen: the Gaussian one makes hardly any mistakes.

X, y = load_digits(return_X_y=True)
model = RLSClassifier("linear").fit(X, y)
LeaveOneOutRocDisplay.from_estimator(model)
plt.show()
LeaveOneOutCalibrationDisplay.from_estimator(model, classes=[1, 3, 8], strategy="uniform")
plt.show()

# %%
# Where a class is rare, precision and recall say more: a ROC curve can look good while most of what
# is found is wrong. The mark is the threshold that was chosen for the F-measure. Probabilities are
# small then, and the axes of the calibration end where they do.

rare, target = make_classification(
    2000, n_features=6, n_informative=4, weights=[0.95], class_sep=0.7, random_state=1
)
model = RLSClassifier(threshold="f1", class_weight="balanced", random_state=0).fit(rare, target)
print(f"threshold {model.threshold_:.2f}, as a probability {model.probability_threshold_:.2f}")
figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
LeaveOneOutPrecisionRecallDisplay.from_estimator(model, ax=axes[0])
LeaveOneOutCalibrationDisplay.from_estimator(model, ax=axes[1])
plt.show()

# %%
# The log loss of rows left out says it in one number, here for both kernels.

for kernel in ("linear", "gaussian"):
    model = RLSClassifier(kernel, random_state=0).fit(X, y)
    held_out = model.loo_probabilities_
    wrong = np.mean(model.classes_[held_out.argmax(axis=1)] != y)
    print(f"{kernel:<10}log loss {log_loss(y, held_out):.3f}, {wrong:.1%} wrong")
