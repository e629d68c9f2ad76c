"""A small problem for the estimators' tests, and the way they ask for an error."""

import re

import numpy as np
import pandas as pd
import pytest

_rng = np.random.default_rng(0)
n, d = 30, 3
X = _rng.normal(size=(n, d))
y = X @ [1.0, -2.0, 3.0] + np.sin(X[:, 0]) + 0.1 * _rng.normal(size=n)
two = (y > 0).astype(int)  # two classes
three = np.digitize(y, [-2.0, 2.0])  # three classes
indicators = np.column_stack([two, X[:, 0] > 0]).astype(int)
frame = pd.DataFrame(X, columns=["length", "width", "age"])
K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


def with_value(values, value, at=4):
    """A copy of ``values`` with one entry replaced."""
    changed = np.array(values, dtype=np.result_type(values, value))
    changed.flat[at] = value
    return changed


def refused(error, *fragments):
    """Expect an error whose message has these fragments, in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(re.escape(text) for text in fragments))


def table(cases):
    """Parameters for ``parametrize``, from a dict of name → tuple."""
    return [pytest.param(*case, id=name) for name, case in cases.items()]
