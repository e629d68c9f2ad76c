"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import RLSClassifier, RLSRegressor

ESTIMATORS = [
    make(**parameters)
    for make in (RLSRegressor, RLSClassifier)
    for parameters in (
        {},
        {"kernel": "linear"},
        {"solver": "cholesky"},
        {"alpha": 1.0},
        {"kernel": "linear", "alpha": 1.0},
        {"solver": "cholesky", "alpha": 1.0},
    )
]


def expected_failures(estimator):
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
