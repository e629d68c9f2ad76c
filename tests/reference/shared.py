"""Data and closed forms that the tests of the references share."""

from __future__ import annotations

import numpy as np

from tests.reference import brute_force

N_ROWS, N_FEATURES, N_TARGETS, N_NEW = 12, 3, 2, 5
LAM = 0.7
SIGMA = 1.3
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def some_data():
    rng = np.random.default_rng(20240301)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    Y = rng.normal(size=(N_ROWS, N_TARGETS)) + 3.0
    weights = rng.uniform(0.2, 3.0, size=N_ROWS)
    X_new = rng.normal(size=(N_NEW, N_FEATURES))
    return X, Y, weights, X_new


def gaussian(X, Z=None):
    return brute_force.kernel_matrix("gaussian", X, X if Z is None else Z, sigma=SIGMA)


def closed_form(K, lam, weights, intercept):
    """Return the matrix P of the coefficients, c = P y, and the vector u of b = u'y."""
    G_inverse = np.linalg.inv(K + lam * np.diag(1.0 / weights))
    if not intercept:
        return G_inverse, np.zeros(len(K))
    sums = G_inverse.sum(axis=0)
    return G_inverse - np.outer(sums, sums) / sums.sum(), sums / sums.sum()


def without_a_row(X, Y, weights):
    """Return the data with the fourth row of weight zero and of no target, and without it."""
    kept = np.delete(np.arange(len(X)), 3)
    zero, Y_holed = weights.copy(), Y.copy()
    zero[3], Y_holed[3] = 0.0, np.nan
    return kept, zero, Y_holed
