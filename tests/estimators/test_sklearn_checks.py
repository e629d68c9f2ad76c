"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.targets import BCH

VARIANTS = [
    {},
    {"kernel": "linear"},
    {"solver": "cholesky"},
    {"alpha": 1.0},
    {"alpha": 1.0, "kernel": "linear"},
    {"alpha": 1.0, "kernel": "linear", "solver": "krylov", "tol": 1e-10},
    {"alpha": 1.0, "kernel": Gaussian(1.0)},
    {"alpha": 1.0, "kernel": Gaussian(1.0), "solver": "cholesky"},
    {"alpha": 1.0, "kernel": Gaussian(1.0), "solver": "spectral"},
]
REGRESSORS = [*VARIANTS, {"criterion": "marginal_likelihood"}, {"scale": 2.0}]
CLASSIFIERS = [
    *VARIANTS,
    *({**variant, "calibration": None} for variant in VARIANTS if "alpha" in variant),
    {"coding": "bch", "kernel": Gaussian(1.0)},
    {"coding": BCH(15, "hamming"), "kernel": Gaussian(1.0), "alpha": 1.0, "calibration": None},
    {"calibration": "platt"},
    {"calibration": "isotonic"},
    {"calibration": "linear"},
    {"criterion": "marginal_likelihood"},
]


def expected_failures(estimator):
    """What may fail, and why that is right."""
    failures = {}
    reasons = []
    if estimator.criterion == "marginal_likelihood":
        reasons.append("a weight is a precision, and a row of twice the precision is not two rows")
    if isinstance(estimator, RLSClassifier):
        left_out = "by leaving out rows, and a repeated row leaves its twin"
        if estimator.alpha == 1.0 and estimator.kernel == "gaussian":
            reasons.append(f"the width is chosen {left_out}; with Gaussian(1.0) the check passes")
        if estimator.alpha == 1.0 and estimator.calibration is not None:
            reasons.append(f"calibrated {left_out}; with calibration=None the check passes")
        if estimator.calibration in ("platt", "isotonic"):
            failures["check_classifiers_train"] = "the most probable class is not the predicted one"
        if estimator.calibration in ("isotonic", "linear"):
            name = "check_classifiers_multilabel_output_format_predict_proba"
            failures[name] = "a probability may be zero or one"
    if reasons:
        for rows in ("dense", "sparse"):
            failures[f"check_sample_weight_equivalence_on_{rows}_data"] = "; ".join(reasons)
    return failures


@parametrize_with_checks(
    [RLSRegressor(**variant) for variant in REGRESSORS]
    + [RLSClassifier(**variant) for variant in CLASSIFIERS],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
