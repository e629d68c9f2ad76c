"""
Text: which part of a library is a paragraph about?
===================================================

The documents are the paragraphs of scikit-learn's own documentation, which is on every machine
that can run this, and the classes the parts they belong to. Words become sparse columns, and
everything else is chosen: λ by the leave-one-out error, without a factorisation.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from squareone import RLSClassifier
from squareone.report import PathDisplay
from squareone.targets import BCH

PARTS = ["cluster", "datasets", "decomposition", "ensemble", "linear_model", "metrics"]
documents, parts = [], []
for part in PARTS:
    module = importlib.import_module(f"sklearn.{part}")
    for name in sorted(module.__all__):
        paragraphs = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")
        documents += [text for text in paragraphs if len(text.split()) > 14]
        parts += [part] * (len(documents) - len(parts))
parts = np.array(parts)

model = make_pipeline(TfidfVectorizer(sublinear_tf=True), RLSClassifier("linear"))
model.fit(documents, parts)
classifier = model[-1]
print(classifier.plan_)

# %%
# The words that speak most for each part:

words = model[0].get_feature_names_out()
for part, weights in zip(classifier.classes_, classifier.coef_, strict=True):
    print(f"{part:<14}{', '.join(words[np.argsort(-weights)[:7]])}")

# %%
# An error-correcting code costs what one against all does, because everything is linear in the
# targets. Decoded by correlation it also predicts the same; decoded by counting signs it does not.

X = model[0].transform(documents)
for coding in ("one_vs_all", BCH(63), BCH(63, "hamming")):
    coded = RLSClassifier("linear", classifier.alpha_, coding=coding).fit(X, parts)
    right_ones = np.mean(coded.classes_[coded.loo_predictions_.argmax(axis=1)] == parts)
    print(f"{coding!s:<32}{right_ones:.1%} right when left out")

# %%
# A leave-one-out error for every λ, estimated by random probes of the leverages; the band is its
# standard error. To the right the share of each part's paragraphs that the model without them puts
# where they belong, or elsewhere.

left_out = classifier.classes_[classifier.loo_predictions_.argmax(axis=1)]
confusion = np.array(
    [[np.mean(left_out[parts == row] == column) for column in PARTS] for row in PARTS]
)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
PathDisplay.from_estimator(model, ax=left)
left.set_title(f"{len(documents):,} paragraphs, {classifier.n_features_in_:,} words")
right.imshow(confusion, cmap="Blues", vmin=0, vmax=1)
for i, row in enumerate(confusion):
    for j, share in enumerate(row):
        if share >= 0.005:
            colour = "white" if share > 0.5 else "black"
            right.text(j, i, f"{share:.0%}", ha="center", va="center", color=colour)
right.set_xticks(range(len(PARTS)), PARTS, rotation=35, ha="right")
right.set_yticks(range(len(PARTS)), PARTS)
right.set(xlabel="predicted, left out", ylabel="belongs to")
right.set_title(f"{np.mean(left_out == parts):.1%} right")
plt.show()
