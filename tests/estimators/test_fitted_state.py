"""Fitted or not: nothing in between, nothing left over from an earlier fit."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from squareone import RLSClassifier, RLSRegressor, load
from squareone.errors import MemoryLimitError
from squareone.kernels import Gaussian
from squareone.solvers import CholeskyFactor
from tests.estimators.data import X, frame, refused, two, y

TASKS = [
    pytest.param(RLSRegressor(), y, id="regressor"),
    pytest.param(RLSClassifier(), two, id="classifier"),
]
ASKED_AFTER_A_FIT = ["path_", "best_score_", "loo_predictions_", "effective_dof_"]


@pytest.mark.parametrize(("model", "target"), TASKS)
def test_an_estimator_that_was_not_fitted_says_so(model, target):
    with refused(NotFittedError, "not fitted yet", "Call 'fit'"):
        type(model)().predict(X)
    for name in ASKED_AFTER_A_FIT:
        with refused(NotFittedError, "not fitted yet"):
            getattr(type(model)(), name)


INTERRUPTED = [
    "squareone.estimators.validation.check_scale",
    "squareone.fitting.request.make_plan",
    "squareone.fitting.problem.Problem.system",
    "squareone.fitting.procedure._choose",
    "squareone.fitting.procedure._model",
    "squareone.fitting.procedure.FitResult",
    "scipy.linalg.eigh",
]


@pytest.mark.parametrize("where", INTERRUPTED)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(("model", "target"), TASKS)
def test_an_interrupted_fit_leaves_nothing_fitted(monkeypatch, model, target, failure, where):
    model.fit(frame, target)

    def interrupt(*args, **kwargs):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(where, interrupt)
        with pytest.raises(failure):
            model.fit(frame, target)
    with pytest.raises(NotFittedError):
        model.predict(frame)
    assert not [name for name in vars(model) if name.endswith("_")]
    model.fit(frame, target).predict(frame)


@pytest.mark.parametrize(("model", "target"), TASKS)
@pytest.mark.parametrize("bad", [{"alpha": [-1.0, 1.0]}, {"solver": "svd"}, {"alpha": -1.0}])
def test_a_refused_fit_leaves_nothing_fitted(model, target, bad):
    model = type(model)().fit(X, target).set_params(**bad)
    with pytest.raises(ValueError, match=next(iter(bad))):
        model.fit(X, target)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_fit_without_names_forgets_the_old_ones():
    model = RLSRegressor().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame)
    model.fit(X[:, :2], y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    model.predict(X[:, :2])


def test_a_fit_with_another_kernel_forgets_the_old_coefficients():
    model = RLSRegressor("linear").fit(X, y)
    assert hasattr(model, "coef_")
    model.set_params(kernel="gaussian").fit(X, y)
    assert not hasattr(model, "coef_")
    assert hasattr(model, "dual_coef_")


def _fitted(kernel, **parameters):
    rows = X @ X.T if kernel == "precomputed" else X
    return RLSRegressor(kernel, alpha=1.0, **parameters).fit(rows, y)


WITHOUT_FACTOR = {
    "pickled": lambda kernel: pickle.loads(pickle.dumps(_fitted(kernel))),
    "copied": lambda kernel: copy.deepcopy(_fitted(kernel)),
    "not kept": lambda kernel: _fitted(kernel, keep_factor=False),
}


@pytest.mark.parametrize("made", WITHOUT_FACTOR)
@pytest.mark.parametrize("name", ASKED_AFTER_A_FIT)
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_what_the_factorisation_was_needed_for_is_explained(made, name, kernel, monkeypatch):
    """With many rows one given λ is not scored before somebody asks; these keep no rows."""
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model = WITHOUT_FACTOR[made](kernel)
    with refused(AttributeError, name, "keep_factor=True"):
        getattr(model, name)
    assert not hasattr(model, name)
    rows = X @ X.T if kernel == "precomputed" else X
    np.testing.assert_array_equal(model.predict(rows), _fitted(kernel).predict(rows))


@pytest.mark.parametrize("made", WITHOUT_FACTOR)
def test_a_kernel_model_factors_its_rows_again(made, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model, expected = WITHOUT_FACTOR[made]("gaussian"), _fitted("gaussian")
    for name in ASKED_AFTER_A_FIT[1:]:
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_interval(X[:5]), expected.predict_interval(X[:5]), rtol=1e-9
    )
    assert (model._record._factor is not None) == (made != "not kept")


@pytest.mark.parametrize(
    "ask", [lambda model: model.leverages_, lambda model: model.predict(X, return_std=True)]
)
def test_a_question_factors_the_rows_once(ask, monkeypatch):
    model = RLSRegressor(Gaussian(2.0), alpha=1.0, keep_factor=False).fit(X, y)
    made = []

    def count(*args, **more):
        made.append(CholeskyFactor(*args, **more))
        return made[-1]

    monkeypatch.setattr("squareone.fitting.result.CholeskyFactor", count)
    ask(model)
    assert len(made) == 1
    assert model._record._factor is None


def test_too_little_memory_to_factor_again_is_said():
    model = RLSRegressor(Gaussian(2.0), alpha=1.0, memory_limit="1GiB").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    loaded._record.memory_limit = "1KiB"
    with refused(MemoryLimitError, "predict_interval", "1 KiB"):
        loaded.predict_interval(X)


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": [0.1, 1.0]}, {"keep_factor": False}, {"alpha": 1.0}]
)
def test_what_was_computed_while_choosing_alpha_survives(parameters):
    model = RLSRegressor(**parameters).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    for name in ASKED_AFTER_A_FIT[1:]:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))


def test_what_was_asked_before_pickling_survives():
    model = RLSRegressor(alpha=1.0).fit(X, y)
    expected = model.loo_predictions_
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.loo_predictions_, expected)


@pytest.mark.parametrize("kernel", ["linear", "precomputed", "gaussian"])
def test_a_likelihood_that_was_read_survives(kernel, tmp_path):
    model = _fitted(kernel)
    expected = model.log_marginal_likelihood_
    assert pickle.loads(pickle.dumps(model)).log_marginal_likelihood_ == expected
    model.save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").log_marginal_likelihood_ == expected


def test_an_interrupt_while_leaving_one_out_does_no_harm(monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model = RLSRegressor(alpha=1.0, solver="cholesky").fit(X, y)
    expected = RLSRegressor(alpha=1.0, solver="spectral").fit(X, y).loo_predictions_

    def interrupted(matrix):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("squareone.solvers.exact.cholesky.column_square_sums", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = model.loo_predictions_
    # the factor is half overwritten: it is not read as if it were whole
    with pytest.raises(RuntimeError, match="lost to an interrupt: fit again"):
        _ = model.loo_predictions_
    model.fit(X, y)
    np.testing.assert_allclose(model.loo_predictions_, expected, rtol=1e-8)


def test_rows_changed_after_the_fit_do_not_matter(monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    mine = X.copy()
    model = RLSRegressor("linear", alpha=1.0, solver="gram").fit(mine, y)
    mine[:] = 7.0
    expected = RLSRegressor("linear", alpha=1.0, solver="svd").fit(X, y)
    np.testing.assert_allclose(model.loo_predictions_, expected.loo_predictions_, rtol=1e-9)


def test_what_is_read_cannot_change_the_fit():
    model = RLSRegressor(alpha=[0.1, 1.0]).fit(X, y)
    model.path_["alpha"][:] = 0
    assert model.path_["alpha"].min() > 0
    with pytest.raises(ValueError, match="read-only"):
        model.loo_predictions_[:] = 0
