"""
Tables: what was chosen, and which errors to believe
====================================================

:class:`~squareone.TableRegressor` takes a table with words, dates and gaps, and chooses the kernel
by folds that learn everything anew: how columns become numbers, a metric, the width and λ. A metric
has seen its rows, so that the leave-one-out error, exact as it is, becomes too hopeful.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from squareone import RLSRegressor, TableRegressor
from squareone.kernels import Gaussian
from squareone.selection import learn_metric
from squareone.tables import TableEncoder

# %%
# **A table.** The rent of flats depends on their size, the district and, without a lift, on the
# floor; it rises with time. Other columns say nothing, and one flat in ten has no known size.

rng = np.random.default_rng(0)
n = 1300
flats = pd.DataFrame(
    {
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(30, 150, n)),
        "district": rng.choice(["harbour", "north", "old town"], n),
        "floor": rng.integers(0, 8, n),
        "lift": rng.random(n) < 0.5,
        "listed": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        "agent": rng.choice([f"agent {k}" for k in range(8)], n),
        "heating": rng.choice(["gas", "district", "pump"], n),
        "walls": rng.normal(size=n),
        "windows": rng.normal(size=n),
    }
)
per_metre = 10 + 5 * (flats["district"] == "old town") - 0.8 * flats["floor"] * ~flats["lift"]
months = (flats["listed"] - flats["listed"].min()).dt.days / 30
rent = flats["size"].fillna(90) * per_metre * (1 + 0.02 * months) + 60 * rng.normal(size=n)
train, test = flats[:300], flats[300:]
y, y_test = rent[:300].to_numpy(), rent[300:].to_numpy()

model = TableRegressor(Gaussian(metric="learned")).fit(train, y)
print(model.encoder_.summary())
print(f"rounds of the metric: {model.rounds_}, R² on new rows: {model.score(test, y_test):.3f}")

# %%
# **Two errors, round by round.** ``path_`` has the honest ones: every fold has learned its own
# encoder and its own metric. Beside them the leave-one-out error at the metric of all rows, and
# the truth, the error on a thousand new rows.

encoder = TableEncoder()
rows = encoder.fit_transform(train, y)
new_rows = encoder.transform(test)


def by_leave_one_out(kernel, X, Y):
    fit = RLSRegressor(kernel).fit(X, Y)
    return fit.kernel_, fit.dual_coef_


metrics = [None, *learn_metric(rows, y[:, None], Gaussian(), by_leave_one_out, rounds=4)]
fits = [RLSRegressor(Gaussian(metric=metric)).fit(rows, y) for metric in metrics]
left_out = [np.sqrt(-fit.best_score_) for fit in fits]
truth = [np.sqrt(np.mean((fit.predict(new_rows) - y_test) ** 2)) for fit in fits]

path = pd.DataFrame(model.path_)
chain = path[path["honest"] & (path["preparation"] == 0) & (path["power"] != 0.5)]
honest = np.sqrt(-chain.groupby("rounds")["score"].last())  # the last stage: folds drawn most often

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(left_out, "o--", color="C3", label="leave-one-out at the metric")
ax.plot(truth, "s-", color="0.35", label="1,000 new rows")
ax.plot(honest.index, honest, "o-", color="C0", label="honest folds (of two thirds of the rows)")
ax.set(xlabel="rounds of the metric", ylabel="root mean square error", ylim=(0, None))
ax.set_xticks(range(len(metrics)))
ax.legend(loc="lower left")
plt.show()

# %%
# The leave-one-out error goes on falling where predictions have long stopped getting better. The
# folds are somewhat above the truth, since each has a third fewer rows to learn from, and they
# say when to stop.
#
# **Importances** are shares of the columns in how much predictions move. A column is one bar,
# however many features it has become.

shares = pd.Series(model.feature_importances_, flats.columns).sort_values()
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.barh(shares.index, shares, color="C0")
ax.set(xlabel="share of how much predictions move")
plt.show()

# %%
# **Intervals** come from the same folds, and their width follows the noise. Nothing costs less than
# nothing:

low, high = model.predict_interval(test, coverage=0.9, bounds=(0, None)).T
print(f"{np.mean((low <= y_test) & (y_test <= high)):.1%} of 1,000 new rents are inside")
print(f"widths from {np.min(high - low):.0f} to {np.max(high - low):.0f}")
