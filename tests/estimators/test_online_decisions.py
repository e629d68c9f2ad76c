"""Decision values of a stream, each before its row was learned, are those of the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import (
    IncrementalRLSClassifier,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
    load,
)
from tests.reference import online

rng = np.random.default_rng(0)
n = 600  # more than two blocks
X = rng.normal(size=(n, 4))
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(n, 3)) > [0.0, 0.0, 3.0]).astype(int)
SIGNS = np.where(Y, 1.0, -1.0)

all_forms = pytest.mark.parametrize("form", ["primal", "dual"])


@all_forms
def test_incremental_rls(form):
    model = IncrementalRLSClassifier(alpha=0.3, form=form, fit_intercept=False).fit(X, Y)
    solutions, residuals = online.incremental_rls(X, SIGNS, 0.3)
    assert_allclose(model.online_decisions_, SIGNS - residuals, atol=1e-10)
    assert_allclose(model.coef_, solutions[-1].T, atol=1e-11)


def test_blocks_of_the_dual_form_are_rows_one_by_one():
    whole = IncrementalRLSClassifier(alpha=0.3, kernel="gaussian", form="dual").fit(X[:99], Y[:99])
    single = IncrementalRLSClassifier(alpha=0.3, kernel=whole.kernel_, form="dual")
    for i in range(99):
        single.partial_fit(X[i : i + 1], Y[i : i + 1], classes=range(3))
    assert_allclose(single.dual_coef_, whole.dual_coef_, atol=1e-11)
    assert_allclose(single.prequential_error_, whole.prequential_error_, rtol=1e-12)


@all_forms
def test_second_order_perceptron(form):
    model = SecondOrderPerceptron(alpha=0.3, form=form).fit(X, Y)
    for column, y in enumerate(SIGNS.T):
        margins = online.second_order_perceptron(X, y, 0.3).margins
        assert_allclose(model.online_decisions_[:, column], margins, atol=1e-10)


@all_forms
@pytest.mark.parametrize("count", ["labels", "rarer"])
def test_deterministic_sampling(form, count):
    k = 1.0 if count == "labels" else 0.1
    model = SelectiveSamplingClassifier(alpha=0.1, k=k, count=count, form=form).fit(X, Y)
    # the third label is the only one of which positives are the rarer outcome throughout
    columns = range(3) if count == "labels" else [2]
    for column in columns:
        run = online.deterministic_sampling(
            X, SIGNS[:, column], 0.1, k, count_positives=count == "rarer"
        )
        assert 0.02 < run.asked.mean() < 0.5
        assert_array_equal(model.queried_[:, column], run.asked)
        assert_allclose(model.online_decisions_[:, column], run.margins, atol=1e-10)


def test_they_are_kept_in_a_file(tmp_path):
    model = SecondOrderPerceptron().fit(X, Y[:, 0])
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").online_decisions_, model.online_decisions_)
