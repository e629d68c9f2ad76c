"""Parameters that are not there: refused as Python and scikit-learn do, with what was meant."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

import squareone
from squareone import (
    IncrementalRLSClassifier,
    OROLSClassifier,
    OROLSRegressor,
    RLSClassifier,
    RLSRegressor,
)
from squareone import kernels as all_kernels
from squareone.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial, Precomputed
from tests.estimators.data import X, refused, two

UNKNOWN = "got an unexpected keyword argument"
MISTAKES = {
    "misspelt": (RLSRegressor, {"alhpa": 1.0}, ["did you mean 'alpha'?"]),
    "plural": (RLSRegressor, {"alphas": [1.0]}, ["did you mean 'alpha'?"]),
    "greedy": (OROLSRegressor, {"max_centres": 3}, ["did you mean 'max_centers'?"]),
    "stream": (IncrementalRLSClassifier, {"forgeting": 0.9}, ["did you mean 'forgetting'?"]),
    "kernel": (Gaussian, {"sigmo": 1.0}, ["did you mean 'sigma'?"]),
    "nothing like it": (RLSRegressor, {"zzz": 1}, ["valid are alpha, alpha_per_target"]),
    "gamma": (RLSClassifier, {"gamma": 0.5}, ["gamma = 1/(2·sigma²)", "Gaussian(sigma=1)"]),
    "gamma by name": (RLSClassifier, {"gamma": "scale"}, ["gamma = 1/(2·sigma²)", '"auto"']),
    "gamma of a greedy fit": (OROLSClassifier, {"gamma": 2.0}, ["Gaussian(sigma=0.5)"]),
    "gamma of a kernel": (Gaussian, {"gamma": 0.5}, ["gamma = 1/(2·sigma²)", "Gaussian(sigma=1)"]),
    "gamma of a Laplacian": (Laplacian, {"gamma": 4.0}, ["gamma = 1/sigma", "sigma=0.25"]),
    "gamma for a Laplacian": (
        RLSRegressor,
        {"kernel": "laplacian", "gamma": 4.0},
        ["gamma = 1/sigma", "Laplacian(sigma=0.25)"],
    ),
    "gamma for a polynomial": (
        RLSRegressor,
        {"kernel": "poly", "gamma": 4.0},
        ["kernel=Polynomial(gamma=4.0)"],
    ),
    "length scale": (Matern, {"length_scale": 2.0}, ["Matern(sigma=2.0)"]),
    "sigma": (RLSRegressor, {"sigma": 2.0}, ["kernel=Gaussian(sigma=2.0)"]),
    "degree": (RLSRegressor, {"degree": 2}, ["kernel=Polynomial(degree=2)"]),
    "C": (RLSClassifier, {"C": 10.0}, ["alpha", "1/(2·C)", "0.05 for C=10"]),
    "lambda": (RLSRegressor, {"reg_lambda": 1.0}, ["the penalty is called alpha"]),
    "probability": (RLSClassifier, {"probability": True}, ["predict_proba", "calibration"]),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_constructor_says_what_was_meant(case):
    kind, given, words = MISTAKES[case]
    with refused(TypeError, kind.__name__, UNKNOWN, *words):
        kind(**given)


@pytest.mark.parametrize("case", MISTAKES)
def test_set_params_says_what_was_meant(case):
    kind, given, words = MISTAKES[case]
    with refused(ValueError, "Invalid parameter", kind.__name__, *words):
        kind().set_params(**given)


def test_parameters_of_a_kernel_inside():
    with refused(ValueError, "Invalid parameter 'gamma'", "gamma = 1/(2·sigma²)", "sigma=1"):
        RLSRegressor(Gaussian(2.0)).set_params(kernel__gamma=0.5)
    with refused(ValueError, "kernel='gaussian' is a name", "gamma = 1/(2·sigma²)", "sigma=1"):
        RLSRegressor().set_params(kernel__gamma=0.5)
    with refused(ValueError, "Pass a kernel object, kernel=Gaussian(sigma=...)"):
        RLSRegressor().set_params(kernel__sigma=0.5)
    with refused(ValueError, "did you mean 'first'?"):
        (Gaussian(1.0) + Linear()).set_params(frist__sigma=2.0)
    with refused(ValueError, "Invalid parameter 'alhpa'", "did you mean 'alpha'?"):
        GridSearchCV(RLSRegressor(), {"alhpa": [1.0]}, error_score="raise").fit(X, two)


def test_what_is_advised_is_right():
    """The kernels of scikit-learn by the rules of the messages."""
    for gamma in (0.1, 3.0):
        expected = rbf_kernel(X, gamma=gamma)
        np.testing.assert_allclose(Gaussian(1 / np.sqrt(2 * gamma))(X), expected, rtol=1e-9)
        expected = laplacian_kernel(X, gamma=gamma)
        np.testing.assert_allclose(Laplacian(1 / gamma)(X), expected, rtol=1e-9)


ALL = [
    *(getattr(squareone, name) for name in squareone.__all__),
    *(getattr(all_kernels, name) for name in all_kernels.__all__),
]
ALL = [kind for kind in ALL if hasattr(kind, "get_params") and kind is not Kernel]
NEEDED = {"taxonomy": {"root": ["a", "b"]}, "first": Linear(), "second": Gaussian(1.0)}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_right_parameters_are_what_they_were(kind):
    """Clone, copy, pickle and the signature that a reader sees."""
    expected = kind._get_param_names()
    needed = {name: value for name, value in NEEDED.items() if name in expected}
    estimator = kind(**needed)
    given = estimator.get_params(deep=False)
    assert list(given) == expected
    for other in (
        kind(**given),
        clone(estimator),
        copy.copy(estimator),
        copy.deepcopy(estimator),
        pickle.loads(pickle.dumps(estimator)),
    ):
        assert type(other) is kind
        assert repr(other) == repr(estimator)
    assert sorted(inspect.signature(kind).parameters) == expected
    with pytest.raises(TypeError, match="argument"):
        kind(*range(30))


def test_a_subclass_may_have_other_parameters():
    class Special(RLSClassifier):
        def __init__(self, alpha=1.0, *, temperature=2.0):
            super().__init__(Gaussian(1.0), alpha)
            self.temperature = temperature

    model = Special(temperature=3.0)
    assert model.set_params(temperature=4.0).temperature == 4.0
    with refused(TypeError, "did you mean 'temperature'?"):
        Special(temprature=3.0)


def test_kernels_without_parameters():
    for kind in (Linear, Precomputed):
        assert repr(clone(kind())) == f"{kind.__name__}()"
    assert Polynomial(2, gamma=1.0).gamma == 1.0
