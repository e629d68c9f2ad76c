"""scikit-learn's own checks of the encoder of tables."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone.tables import TableEncoder


@parametrize_with_checks(
    [
        TableEncoder(),
        TableEncoder(scaling="quantile"),
        TableEncoder(scaling="pieces"),
        TableEncoder(dtype="float32"),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
