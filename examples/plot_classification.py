"""
Classes: choosing by accuracy or area under the curve
=====================================================

A classifier fits columns of ±1 with the square loss. The held-out decision values of every λ are
there, so λ can be chosen by any score that can be computed from them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import ConfusionMatrixDisplay, recall_score
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier
from squareone.kernels import Gaussian
from squareone.report import path_figure, summary

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# The same rows, kernel and λ, scored in three ways, all on rows left out: the mean square on ±1,
# the area under the ROC curve, and the accuracy, which moves in steps of one row. The width is the
# median distance between rows; left to itself, each score would choose a width of its own.

alphas = np.geomspace(1e-4, 1e3, 36)
figure, axes = plt.subplots(1, 3, figsize=(12.5, 4), layout="constrained")
for scoring, ax in zip((None, "roc_auc", "accuracy"), axes, strict=True):
    model = RLSClassifier(Gaussian("median"), alphas, scoring=scoring, random_state=0).fit(X, y)
    path_figure(model, ax)
plt.show()
print(summary(model, y))

# %%
# Rare classes can be given more weight. With one malignant tumour in twenty, the plain fit misses
# more of them; ``class_weight="balanced"`` finds more, at the price of false alarms. Every figure
# below is on rows left out.

malignant = np.flatnonzero(y == 0)[:19]
rows = np.concatenate([malignant, np.flatnonzero(y == 1)])
for class_weight in (None, "balanced"):
    model = RLSClassifier(class_weight=class_weight, random_state=0).fit(X[rows], y[rows])
    held_out = (model.loo_predictions_ > 0).astype(int)
    found = recall_score(y[rows], held_out, pos_label=0)
    alarms = np.sum((held_out == 0) & (y[rows] == 1))
    print(f"class_weight={class_weight!s:<9} found {found:.0%} of 19, {alarms} false alarms")

# %%
# With more classes there is a column for each, and every factorisation serves all of them. The
# leave-one-out values show which digits are mistaken for which: no test rows are needed.

X, y = load_digits(return_X_y=True)
model = RLSClassifier(random_state=0).fit(X, y)
held_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
print(summary(model, y))

figure, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
ConfusionMatrixDisplay.from_predictions(y, held_out, ax=ax, cmap="cividis", colorbar=False)
ax.set_title(f"{np.sum(held_out != y)} of {y.size:,} digits mistaken when left out")
plt.show()
