"""
Learning from a stream
======================

Rows come one after the other. Each is predicted first, so that every error is one on a new row, and
learned then. Here is how few labels are needed if the learner says which, and what forgetting does
to a truth that changes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from squareone import (
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
X, y = normalize(X)[order], y[order]
n = len(y)
KERNEL, A = Gaussian(0.5), 0.1

# %%
# Two learners see every label: incremental RLS learns all rows, the second-order perceptron those
# it got wrong. Two ask for some: the deterministic rule where the two best classes are closer than
# it can tell by now, the randomised one by chance, more often where they are close. ``fit`` goes
# through the rows as a stream, and ``online_decisions_`` has what was said of each before its label
# was seen.

all_rows = IncrementalRLSClassifier(alpha=A, kernel=KERNEL, fit_intercept=False).fit(X, y)
perceptron = SecondOrderPerceptron(alpha=A, kernel=KERNEL).fit(X, y)
deterministic = SelectiveSamplingClassifier(alpha=A, k=1.0, kernel=KERNEL).fit(X, y)
randomised = SelectiveSamplingClassifier(strategy="randomized", alpha=A, b=0.02, kernel=KERNEL).fit(
    X, y
)


def wrong(model):
    return model.classes_[model.online_decisions_.argmax(axis=1)] != y


# %%
# For comparison, RLS on labels of random rows, as many as the deterministic rule asked for: one row
# at a time, predicted and then perhaps learned.

drawn = rng.random(n) < deterministic.label_rate_
some = IncrementalRLSClassifier(alpha=A, kernel=KERNEL, fit_intercept=False).start(
    range(10), X.shape[1]
)
missed = np.empty(n, bool)
for i in range(n):
    missed[i] = some.predict_one(X[i]) != y[i]
    if drawn[i]:
        some.learn_one(X[i], y[i])

STREAMS = {
    "RLS, every label": (wrong(all_rows), np.ones(n), "#0072B2", "-"),
    "RLS, deterministic rule": (wrong(deterministic), deterministic.queried_, "#D55E00", "-"),
    "RLS, random labels": (missed, drawn, "0.45", "-"),
    "perceptron, every label": (wrong(perceptron), np.ones(n), "#0072B2", "--"),
    "perceptron, randomised rule": (wrong(randomised), randomised.queried_, "#D55E00", "--"),
}
print(f"{'':28}{'labels':>8}{'mistakes':>10}{'in the second half':>20}")
for name, (errors, asked, *_) in STREAMS.items():
    late = errors[n // 2 :].mean()
    print(f"{name:28}{np.mean(asked):>8.1%}{errors.mean():>10.1%}{late:>20.1%}")

# %%
# The rule asks early, where a label helps longest, and then ever less, since what is known grows.
# With as many labels at random the mistakes are more than three times as many, and still four times
# in the second half.

seen = np.arange(1, n + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for name, (errors, asked, colour, style) in STREAMS.items():
    rate = 100 * np.cumsum(errors) / seen
    left.plot(seen, rate, style, color=colour, linewidth=1.8, label=name)
    right.plot(seen, 100 * np.cumsum(asked) / seen, style, color=colour, linewidth=1.8)
left.set(xlim=(50, n), ylim=(0, 40), ylabel="mistakes so far, %")
right.set(xlim=(50, n), ylim=(0, 104), ylabel="labels asked for so far, %")
for ax in (left, right):
    ax.set_xlabel("rows")
    ax.grid(alpha=0.25)
left.legend(framealpha=0.85, edgecolor="none")
figure.suptitle(f"Digits, Gaussian kernel, alpha = {A:g}; k = 1, b = 0.02")
plt.show()

# %%
# Now the truth changes: ten weights that jump after 1,000 rows and turn slowly after 2,000. Without
# forgetting all rows count alike, and the fit comes back from the jump only as fast as new rows
# outnumber the old ones. With forgetting the last 1/(1 − μ) rows count, which is an error of its
# own while nothing changes: the fewer rows, the more of the noise is fitted.

d, jump, turn, end = 10, 1000, 2000, 3500
first, second, third = np.linalg.qr(rng.standard_normal((d, 3)))[0].T
angles = np.pi / 2 * np.maximum(0, np.arange(end) - turn) / (end - turn)
truth = np.cos(angles)[:, None] * second + np.sin(angles)[:, None] * third
truth[:jump] = first
Z = rng.standard_normal((end, d))
targets = (Z * truth).sum(axis=1) + 0.3 * rng.standard_normal(end)

WINDOW = 100
COLOURS = {1.0: "0.45", 0.99: "#0072B2", 0.9: "#D55E00"}
figure, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
for forgetting, colour in COLOURS.items():
    model = IncrementalRLSRegressor(forgetting=forgetting, fit_intercept=False)
    model.start(n_features=d)
    squares = np.empty(end)
    for i in range(end):
        squares[i] = (targets[i] - model.predict_one(Z[i])) ** 2
        model.learn_one(Z[i], targets[i])
    rolling = np.convolve(squares, np.ones(WINDOW) / WINDOW, mode="valid") ** 0.5
    label = f"forgetting = {forgetting:g}"
    ax.plot(np.arange(WINDOW, end + 1), rolling, color=colour, linewidth=1.8, label=label)
ax.axhline(0.3, color="0.3", linestyle="--", linewidth=1.2, label="noise")
for place, text in ((jump, "a jump"), (turn, "a slow turn")):
    ax.axvline(place, color="0.8", linewidth=1, zorder=0)
    ax.annotate(text, (place, 1.6), xytext=(4, 0), textcoords="offset points", va="top")
ax.set(xlabel="rows", ylabel=f"error before learning, last {WINDOW} rows", ylim=(0, 1.65))
ax.set_xlim(WINDOW, end)
ax.grid(alpha=0.25)
ax.legend(framealpha=0.85, edgecolor="none", loc="upper left")
plt.show()
