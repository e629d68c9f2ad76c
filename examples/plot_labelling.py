"""
Labels that are worth asking
============================

A simulated person says of handwritten digits whether they are sevens. The session asks where it is
unsure; one question in eight is an audit row, which is never learned, and tells how good the model
is.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
from sklearn.datasets import load_digits

from squareone.labelling import Question, Session

X, y = load_digits(return_X_y=True)
truth = np.where(y == 7, "seven", "other")
names = [f"pixel {i}" for i in range(64)]
table = pyarrow.table(dict(zip(names, X.T, strict=True)))

# %%
# The person answers until a whole pass over the table asks nothing more; then some audit rows.

folder = tempfile.TemporaryDirectory()
session = Session(
    table, folder.name + "/digits.labels.db", columns=names, labels=["seven", "other"]
)
asked, found = [], []
while isinstance(question := session.next(), Question):
    session.answer(question, truth[question.place])
    asked.append(question)
    found.append(session.counts()["seven"])
print(question.text)

while len(session.answers.audit_answers()) < 100:
    question = session.next(audit_only=True)
    session.answer(question, truth[question.place])

figures = session.figures()
share, low, high = figures.audit.accuracy
print(f"{len(asked)} questions of {len(y)} rows")
print(f"audit: right in {share:.1%}, between {low:.1%} and {high:.1%}")
for figure in figures.audit.classes:
    print(figure.label, figure.f, figure.interval)

# %%
# Here all labels are known, so that the audit can be checked.

guesses = np.array(session.predict(range(len(y))))
rest = np.array([session.standing(place) is None for place in range(len(y))])
print(f"right in {np.mean(guesses[rest] == truth[rest]):.1%} of the rows without a label")

# %%
# Sevens are a tenth of the rows, and more of what is asked: the rule looks for what it cannot tell.

fig, ax = plt.subplots()
ax.plot(np.arange(1, len(found) + 1), found, label="sevens among the labels")
ax.plot([0, len(found)], [0, len(found) * np.mean(y == 7)], "--", label="in random order")
ax.set(xlabel="questions", ylabel="sevens found")
ax.legend()

session.close()
folder.cleanup()
