"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian

VARIANTS = [
    {},
    {"kernel": "linear"},
    {"solver": "cholesky"},
    {"alpha": 1.0},
    {"alpha": 1.0, "kernel": "linear"},
    {"alpha": 1.0, "kernel": Gaussian(1.0)},
    {"alpha": 1.0, "kernel": Gaussian(1.0), "solver": "cholesky"},
    {"alpha": 1.0, "kernel": Gaussian(1.0), "solver": "spectral"},
]


def expected_failures(estimator):
    """What may fail, and why that is right."""
    if (
        isinstance(estimator, RLSClassifier)
        and estimator.alpha == 1.0
        and estimator.kernel == "gaussian"
    ):
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "the width is chosen by leaving out rows, and a repeated row leaves its twin; "
                "with a width given (Gaussian(1.0) above) the check passes"
            )
        }
    return {}


@parametrize_with_checks(
    [make(**variant) for make in (RLSRegressor, RLSClassifier) for variant in VARIANTS],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
