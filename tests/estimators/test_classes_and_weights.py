"""Classes, class weights and sample weights, against peers and by their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian, Linear

X_iris, y_iris = load_iris(return_X_y=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_and_ridge_classifier_agree(weighted, intercept):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 150) if weighted else None
    ours = RLSClassifier("linear", 2.0, fit_intercept=intercept).fit(X_iris, y_iris, weights)
    peer = RidgeClassifier(2.0, fit_intercept=intercept).fit(X_iris, y_iris, weights)
    assert_allclose(ours.decision_function(X_iris), peer.decision_function(X_iris), rtol=1e-6)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-6)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-6, atol=1e-9)
    ours = RLSRegressor("linear", 2.0, fit_intercept=intercept).fit(X_iris, y_iris, weights)
    peer = Ridge(2.0, fit_intercept=intercept).fit(X_iris, y_iris, weights)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-6)
    assert ours.coef_.shape == peer.coef_.shape


def test_ridge_cv_agrees_where_it_is_right():
    X, y = StandardScaler().fit_transform(load_breast_cancer().data), load_breast_cancer().target
    grid = np.geomspace(1e-2, 1e3, 12)
    ours = RLSRegressor("linear", grid).fit(X, y)
    peer = RidgeCV(grid).fit(X, y)
    assert ours.alpha_ == peer.alpha_
    assert_allclose(ours.best_score_, peer.best_score_, rtol=1e-8)
    ours = RLSClassifier("linear", grid).fit(X, y)
    assert ours.alpha_ == RidgeClassifierCV(grid).fit(X, y).alpha_


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
def test_class_weight_is_a_sample_weight(kernel):
    by_class = {0: 1.0, 1: 3.0, 2: 0.5}
    a = RLSClassifier(kernel, [0.1, 1.0], class_weight=by_class).fit(X_iris, y_iris)
    weights = np.array([by_class[label] for label in y_iris])
    b = RLSClassifier(kernel, [0.1, 1.0]).fit(X_iris, y_iris, weights)
    assert_allclose(a.decision_function(X_iris), b.decision_function(X_iris))
    assert a.best_score_ == b.best_score_


def test_balanced_weights_help_the_rare_class():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((200, 2)), rng.standard_normal((10, 2)) + 1.5]
    y = np.r_[np.zeros(200, int), np.ones(10, int)]
    plain = RLSClassifier("linear", 1.0).fit(X, y)
    balanced = RLSClassifier("linear", 1.0, class_weight="balanced").fit(X, y)
    assert (balanced.predict(X[200:]) == 1).sum() > (plain.predict(X[200:]) == 1).sum()


def test_a_class_of_weight_zero_leaves_the_fit():
    model = RLSClassifier(Gaussian(1.0), 0.1, class_weight={0: 0.0, 1: 1.0, 2: 1.0})
    model.fit(X_iris, y_iris)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert not (model.predict(X_iris) == 0).any()
    assert_array_equal(model.center_indices_, np.arange(50, 150))
    assert_allclose(
        model.loo_predictions_[:50], model.decision_function(X_iris[:50])
    )  # not in the fit: nothing to leave out


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 1, 2], [2.0, 5.0, 9.0], [False, True]])
def test_labels_of_any_kind_come_back(labels):
    y = np.array(labels)[np.minimum(y_iris, len(labels) - 1)]
    model = RLSClassifier(Gaussian(1.0), 0.01).fit(X_iris, y)
    assert model.predict(X_iris).dtype == y.dtype
    assert (model.predict(X_iris) == y).mean() > 0.95
    assert_array_equal(model.classes_, np.unique(y))
    shape = (150,) if len(labels) == 2 else (150, 3)
    assert model.decision_function(X_iris).shape == model.loo_predictions_.shape == shape


def test_labels_are_predicted_by_the_largest_value():
    model = RLSClassifier(Gaussian(1.0), 0.1).fit(X_iris, y_iris)
    values = model.decision_function(X_iris)
    assert_array_equal(model.predict(X_iris), values.argmax(axis=1))
    binary = RLSClassifier(Gaussian(1.0), 0.1).fit(X_iris[:100], y_iris[:100])
    assert_array_equal(
        binary.predict(X_iris[:100]), (binary.decision_function(X_iris[:100]) > 0).astype(int)
    )


def test_several_labels_per_row():
    labels = np.column_stack([y_iris == 0, y_iris != 2, X_iris[:, 0] > 6]).astype(int)
    model = RLSClassifier(Gaussian(1.0), 0.1).fit(X_iris, labels)
    assert_array_equal(model.predict(X_iris), (model.decision_function(X_iris) > 0).astype(int))
    for i in range(3):
        alone = RLSClassifier(Gaussian(1.0), 0.1).fit(X_iris, labels[:, i])
        assert_allclose(
            model.decision_function(X_iris)[:, i], alone.decision_function(X_iris), rtol=1e-9
        )
    always = labels.copy()
    always[:, 1] = 1  # a label that every row has
    assert RLSClassifier(Gaussian(1.0), 0.1).fit(X_iris, always).predict(X_iris)[:, 1].all()


def test_digits_out_of_the_box():
    """Nothing set: the leave-one-out error tells the test error."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = RLSClassifier().fit(X, y)
    left_out = (model.loo_predictions_.argmax(axis=1) != y).mean()
    test = (model.predict(X_test) != y_test).mean()
    assert left_out < 0.02
    assert test < 0.02


def test_the_model_does_not_share_the_users_arrays():
    X = X_iris.copy()
    model = RLSClassifier(Gaussian(1.0), 0.1).fit(X, y_iris)
    before = model.predict(X_iris), model.loo_predictions_.copy()
    X[:] = 0.0
    assert_array_equal(model.predict(X_iris), before[0])
    model = RLSRegressor("linear", 0.1, solver="gram").fit(X_iris.copy(), y_iris)
    assert np.isfinite(model.best_score_)


def test_one_class_left_by_the_weights():
    with pytest.raises(ValueError, match="rows of positive weight are of one class only"):
        RLSClassifier().fit(X_iris, y_iris, (y_iris == 1).astype(float))
    with pytest.raises(ValueError, match="rows of positive weight are of one class only"):
        RLSClassifier(class_weight={0: 0.0, 1: 0.0, 2: 1.0}).fit(X_iris, y_iris)


def test_a_kernel_matrix_symmetric_to_rounding_is_averaged():
    K = Gaussian(1.0)(X_iris)
    tilt = np.triu(np.ones_like(K), 1)
    tilted = K + 2e-9 * (tilt - tilt.T)
    even = RLSRegressor("precomputed", 0.1).fit(K, y_iris)
    uneven = RLSRegressor("precomputed", 0.1).fit(tilted, y_iris)
    assert_allclose(uneven.dual_coef_, even.dual_coef_, rtol=1e-10)
