"""What is estimated is called so."""

import numpy as np
import scipy.sparse

from squareone import RLSRegressor
from squareone.report import summary


def test_a_summary_says_that_leave_one_out_is_estimated():
    X = scipy.sparse.random(320, 700, 0.05, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel()
    estimated = summary(RLSRegressor("linear", solver="krylov").fit(X, y))
    assert "estimated leave-one-out root mean square error" in estimated
    assert "20 random probes" in estimated
    exact = summary(RLSRegressor("linear", solver="spectral").fit(X, y))
    assert "estimated" not in exact
    few = summary(RLSRegressor("linear", solver="krylov").fit(X[:50], y[:50]))
    assert "estimated leave-one-out" not in few
    folds = summary(RLSRegressor("linear", solver="krylov", cv=3).fit(X, y))
    assert "estimated leave-one-out" not in folds
