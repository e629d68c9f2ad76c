"""What was saved is loaded: every answer of every estimator, to the last bit."""

import os
import pickle
import stat

import joblib
import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold

import squareone
from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Sum,
)
from tests.estimators.data import K, X, d, frame, indicators, n, refused, table, three, two, y

rng = np.random.default_rng(1)
new = rng.normal(size=(7, d))
several = np.column_stack([y, np.cos(X[:, 1]), X[:, 2] ** 2])
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 11]] = 0.0
cities = np.array(["Rome", "Oslo", "Bergen-op-Zoom"])[three]


def saved(model, path):
    """Saved and loaded, to a path that is used once."""
    path = path / "model.safetensors"
    model.save(path)
    loaded = squareone.load(path)
    path.unlink()  # the model does not depend on it
    return loaded


ANSWERS = [
    *["alpha_", "kernel_", "path_", "best_score_", "loo_predictions_", "effective_dof_"],
    *["dual_coef_", "centers_", "center_indices_", "coef_", "intercept_", "plan_", "classes_"],
    *["n_features_in_", "feature_names_in_", "loo_residuals_", "threshold_", "loo_probabilities_"],
    *["loo_decision_values_", "probability_threshold_"],
]
# The factorisation is made again for these, as it is after pickling, where there are rows.
BY_FACTOR = ["leverages_", "gacv_", "scale_", "log_marginal_likelihood_", "loo_error_bound_"]


def answer(model, name):
    try:
        return getattr(model, name)
    except AttributeError as error:
        return "AttributeError", str(error).split(":")[0]


def assert_same(found, expected, where=""):
    """Equal to the last bit, of the same types all through."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name in expected:
            assert_same(found[name], expected[name], f"{where}.{name}")
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, where
        np.testing.assert_array_equal(found, expected, err_msg=where, strict=True)
        assert found.flags.writeable == expected.flags.writeable, where
    elif hasattr(expected, "get_params"):
        assert_same(found.get_params(), expected.get_params(), where)
    else:
        np.testing.assert_equal(found, expected, err_msg=where)


def assert_loaded(loaded, model, rows=new):
    """Everything the model answered."""
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    # a field that is added to the record has to find its way into the file
    pickled = pickle.loads(pickle.dumps(model))
    assert set(vars(loaded._record)) == set(vars(pickled._record))
    assert_same(vars(loaded._record.sample), vars(pickled._record.sample))
    assert_same(loaded.get_params(), model.get_params())
    for name in ANSWERS:
        assert_same(answer(loaded, name), answer(model, name), name)
    assert repr(loaded.plan_) == repr(model.plan_)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            assert_same(getattr(loaded, method)(rows), getattr(model, method)(rows), method)
    for name in BY_FACTOR:
        assert_same(answer(loaded, name), answer(pickled, name), name)


KERNELS = {
    "by name": "gaussian",
    "linear by name": "linear",
    "linear": Linear(),
    "cosine": Cosine(),
    "auto": Gaussian(),
    "median": Gaussian("median"),
    "gaussian": Gaussian(2.0),
    "NumPy number": Gaussian(np.float32(2.1)),
    "widths": Gaussian(np.array([1.0, 2.0, 3.0])),
    "widths in a list": Gaussian([1, 2, 3]),
    "relevance": Gaussian(ard=True),
    "metric": Gaussian(metric=np.array([[1.0, 0.5], [-0.3, 2.0], [0.1, 0.0]], order="F")),
    "metric in a list": Gaussian("median", metric=[[1.0], [-0.3], [2]]),
    "weights of features": Laplacian(4.0, metric=np.array([1, 0, 2], np.int8)),
    "metric of a term": 0.5 + Matern(3.0, metric=np.array([[1.0], [-0.3], [2]], np.float32)),
    "laplacian": Laplacian(4.0),
    "matern": Matern(3.0, nu=2.5),
    "polynomial": Polynomial(2, coef0=0.1),
    "sum": Constant(0.5) + Gaussian(2.0),
    "product": 2.0 * Linear() * Matern(1.0),
    "nested": (Gaussian() + 0.1) * (Linear() + Polynomial(2)) + Laplacian("median") * 3.0,
}


def test_every_kernel_is_among_these():
    seen = {type(kernel) for kernel in KERNELS.values()} | {Precomputed, Constant}
    expected = {getattr(squareone.kernels, name) for name in squareone.kernels.__all__}
    assert expected - seen == {squareone.kernels.Kernel}
    assert {Sum, Product} < seen


@pytest.mark.costly
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_kernel(kernel, dtype, tmp_path):
    rows = X.astype(dtype)
    model = RLSRegressor(KERNELS[kernel]).fit(rows, y)
    assert_loaded(saved(model, tmp_path), model, new.astype(dtype))
    model = RLSClassifier(KERNELS[kernel], alpha=0.1).fit(rows, three)
    assert_loaded(saved(model, tmp_path), model, new.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
def test_a_precomputed_kernel(dtype, w, tmp_path):
    model = RLSRegressor("precomputed").fit(K.astype(dtype), several, sample_weight=w)
    loaded = saved(model, tmp_path)
    assert_loaded(loaded, model, K[:5].astype(dtype))
    with refused(AttributeError, "does not keep its matrix"):
        loaded.predict_interval(K[:5])


FITS = {
    "vector": ({}, y),
    "several targets": ({}, several),
    "one column": ({}, y[:, None]),
    "alpha per target": ({"alpha_per_target": True}, several),
    "grid": ({"alpha": [0.1, 1.0, 10]}, several),
    "NumPy grid": ({"alpha": np.geomspace(1e-3, 1e3, 5, dtype=np.float32)}, y),
    "tuple": ({"alpha": (0.1, np.float64(1.0))}, y),
    "given": ({"alpha": 1}, y),
    "no intercept": ({"fit_intercept": False, "keep_factor": np.False_}, several),
    "gcv": ({"criterion": "gcv", "memory_limit": "1GiB"}, y),
    "likelihood": ({"criterion": "marginal_likelihood", "scale": 2.0}, y),
    "holdout": ({"criterion": "holdout", "validation_fraction": 0.3, "random_state": 3}, y),
    "folds": ({"cv": 3}, y),
    "splits": ({"cv": [(np.arange(20), np.arange(20, 30)), ([*range(10, 30)], [0, 1])]}, y),
    "scored": ({"scoring": "neg_mean_absolute_error", "cv": 4}, y),
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
def test_every_way_to_fit(fit, kernel, w, tmp_path):
    parameters, target = FITS[fit]
    model = RLSRegressor(kernel, **parameters).fit(frame, target, sample_weight=w)
    assert_loaded(saved(model, tmp_path), model, frame)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "svd", "gram"])
@pytest.mark.parametrize("alpha", ["auto", 0.5])
def test_every_solver(solver, alpha, tmp_path, monkeypatch):
    if alpha == 0.5:  # as if there were many rows
        monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    for kernel in ["linear"] if solver in ("svd", "gram") else ["linear", "matern"]:
        model = RLSRegressor(kernel, alpha=alpha, solver=solver).fit(X, several)
        loaded = saved(model, tmp_path)
        np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
        if kernel == "linear" and alpha == 0.5:
            with refused(AttributeError, "loo_predictions_", "does not keep the rows"):
                _ = loaded.loo_predictions_
        else:
            np.testing.assert_allclose(loaded.loo_predictions_, model.loo_predictions_, rtol=1e-9)
            _ = model.path_
            assert_loaded(saved(model, tmp_path), model)


@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"criterion": "gcv"}, {"criterion": "marginal_likelihood", "scale": 3.0}, {"cv": 3}],
    ids=["loo", "gcv", "likelihood", "folds"],
)
def test_the_criterion_is_still_there_to_be_asked(parameters, w, tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model = RLSRegressor(Gaussian(2.0), alpha=0.5, **parameters).fit(X, several, sample_weight=w)
    loaded = saved(model, tmp_path)
    np.testing.assert_allclose(loaded.best_score_, model.best_score_, rtol=1e-9)
    np.testing.assert_allclose(loaded.path_["score"], model.path_["score"], rtol=1e-9)


CLASSES = {
    "two": two,
    "three": three,
    "bool": two.astype(bool),
    "int8": three.astype(np.int8),
    "float32": three.astype(np.float32),
    "other byte order": three.astype(">i4"),
    "texts": cities,
    "wide texts": cities.astype("U40"),
    "objects": cities.astype(object),
    "not ASCII": np.array(["α", "β\N{GRINNING FACE}"])[two],
    "texts of the other byte order": cities.astype(cities.dtype.newbyteorder("S")),
    "labels": indicators,
}


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_every_kind_of_class(classes, kernel, tmp_path):
    target = CLASSES[classes]
    model = RLSClassifier(kernel).fit(X, target)
    loaded = saved(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(new).dtype == model.predict(new).dtype
    assert_loaded(loaded, model)


@pytest.mark.parametrize("calibration", ["temperature", "platt", "isotonic", "linear"])
@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one", "bch"])
def test_probabilities_of_codes_and_of_weighted_classes(calibration, coding, tmp_path):
    """A code may have fewer columns than classes; class weights are needed to calibrate later."""
    for asked in (False, True):
        model = RLSClassifier(
            Gaussian(2.0), 1.0, calibration=calibration, coding=coding, class_weight={1: 4.0}
        ).fit(X, three)
        if asked:
            _ = model.calibration_
        assert_loaded(saved(model, tmp_path), model)


@pytest.mark.costly
@pytest.mark.parametrize("calibration", ["temperature", "platt", "isotonic", "linear", None])
@pytest.mark.parametrize("target", [two, three, indicators], ids=["two", "three", "labels"])
def test_probabilities_and_thresholds(calibration, target, tmp_path):
    threshold = None if target is three else "f1"
    model = RLSClassifier(calibration=calibration, threshold=threshold)
    model.fit(X, target, sample_weight=weights)
    assert_loaded(saved(model, tmp_path), model)  # fitted after loading
    if calibration is not None:
        _ = model.calibration_
        loaded = saved(model, tmp_path)
        assert type(loaded._record.calibration) is type(model.calibration_)
        assert_same(vars(loaded._record.calibration), vars(model.calibration_))
        assert_loaded(loaded, model)


@pytest.mark.parametrize(
    "class_weight", ["balanced", {0: 1.0, 1: 2, 2: np.float32(3)}, {np.int64(0): 2.0, 1: 1, 2: 1}]
)
def test_class_weights(class_weight, tmp_path):
    model = RLSClassifier(class_weight=class_weight).fit(X, three)
    loaded = saved(model, tmp_path)
    assert_loaded(loaded, model)
    assert loaded.class_weight == class_weight


def test_parameters_that_are_not_finite(tmp_path):
    model = RLSRegressor(Gaussian(1.0), alpha=1.0).fit(X, y)
    model.set_params(alpha=[np.inf, -np.inf, np.nan, -0.0, np.float32("nan"), 10**30])
    loaded = saved(model, tmp_path)
    np.testing.assert_equal(loaded.alpha, model.alpha)
    assert [type(value) for value in loaded.alpha] == [type(value) for value in model.alpha]
    assert np.signbit(loaded.alpha[3])


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_intervals_and_influence_after_loading(kernel, tmp_path):
    model = RLSRegressor(kernel, alpha=0.3).fit(X, several, sample_weight=weights)
    loaded = saved(model, tmp_path)
    if kernel == "linear":
        with refused(AttributeError, "predict_interval", "does not keep the rows"):
            loaded.predict_interval(new)
        return
    for coverage, method in [(0.9, "jackknife+"), (0.8, "minmax"), (0.9, "gaussian")]:
        np.testing.assert_allclose(
            loaded.predict_interval(new, coverage, method),
            model.predict_interval(new, coverage, method),
            rtol=1e-8,
        )
    np.testing.assert_allclose(loaded.influence(new), model.influence(new), atol=1e-9)
    np.testing.assert_array_equal(loaded.suspicious_rows(), model.suspicious_rows())


def test_what_was_computed_before_saving_is_not_computed_again(tmp_path):
    model = RLSRegressor(alpha=0.3).fit(X, y)
    _ = model.leverages_, model.scale_
    loaded = saved(model, tmp_path)
    assert_same(loaded.leverages_, model.leverages_)
    assert_same(loaded.scale_, model.scale_)
    assert loaded._record._factor is None


def test_feature_names_are_checked_after_loading(tmp_path):
    model = RLSRegressor().fit(frame, y)
    loaded = saved(model, tmp_path)
    assert_loaded(loaded, model, frame)
    with refused(ValueError, "unseen at fit time:\n- weight"):
        loaded.predict(frame.rename(columns={"age": "weight"}))
    with refused(ValueError, "must be in the same order"):
        loaded.predict(frame[["age", "width", "length"]])
    with refused(ValueError, "X has 2 features", "expecting 3"):
        saved(RLSRegressor().fit(X, y), tmp_path).predict(X[:, :2])


def test_a_loaded_estimator_is_an_estimator(tmp_path):
    model = RLSRegressor(0.5 * Gaussian(), alpha=np.array([0.1, 1.0])).fit(frame, y)
    loaded = saved(model, tmp_path)
    with pytest.raises(NotFittedError):
        clone(loaded).predict(frame)
    assert_same(clone(loaded).fit(frame, y).predict(frame), model.predict(frame))
    assert_loaded(saved(loaded, tmp_path), model, frame)  # and once more
    assert_same(pickle.loads(pickle.dumps(loaded)).predict(frame), model.predict(frame))
    loaded.fit(X, -y)
    assert not hasattr(loaded, "feature_names_in_")
    assert_same(loaded.predict(X), clone(model).fit(X, -y).predict(X))


@pytest.mark.parametrize("target", [y, three], ids=["regressor", "classifier"])
def test_pickle_and_joblib_work_too(target, tmp_path):
    model = (RLSRegressor if target is y else RLSClassifier)().fit(frame, target)
    joblib.dump(model, tmp_path / "model.joblib")
    for loaded in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_same(loaded.predict(frame), model.predict(frame))
        # Python 3.14 pickles by a protocol that keeps a read-only array read-only
        assert_same(np.array(loaded.loo_predictions_), np.array(model.loo_predictions_))
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert_same(saved(mapped, tmp_path).predict(frame), model.predict(frame))


# --- the file ---


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_it_is_a_safetensors_file_without_the_factorisation(kernel, tmp_path):
    rows = rng.normal(size=(400, d))
    model = RLSRegressor(kernel, alpha=0.1).fit(rows, rows[:, 0])
    path = tmp_path / "model.safetensors"
    model.save(path)
    assert path.stat().st_size < 60_000 + 8 * rows.size
    tensors = load_file(path)
    np.testing.assert_array_equal(
        tensors["fitted.record.coefficients"], model._record.model.coefficients
    )
    assert ("fitted.record.centers" in tensors) == (kernel == "gaussian")
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    save_file(tensors, path, metadata | {"format": "np"})  # written by the library
    assert_loaded(squareone.load(path), model)


def test_any_path_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = RLSRegressor().fit(X, y)
    for path in ["model", "a name with ü", tmp_path / "model.safetensors"]:
        model.save(path)
        assert_same(squareone.load(path).predict(new), model.predict(new))
    squareone.save(model, "model")
    with refused(TypeError, "os.PathLike"):
        model.save(open)
    with refused(IsADirectoryError, "is a folder"):
        model.save(tmp_path)
    with refused(FileNotFoundError, "missing"):
        model.save(tmp_path / "missing" / "model")
    with refused(FileNotFoundError, "missing"):
        squareone.load("missing")


def test_a_link_and_the_permissions_stay(tmp_path):
    model = RLSRegressor().fit(X, y)
    real, link = tmp_path / "real", tmp_path / "link"
    model.save(real)
    os.chmod(real, 0o600)
    link.symlink_to(real)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [link, real]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_an_interrupted_save_leaves_the_old_file(failure, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model = RLSRegressor().fit(X, y)
    model.save(path)
    before = path.read_bytes()
    written = []

    def interrupted(tensor):
        written.append(tensor)
        if len(written) > 2:
            raise failure
        return memoryview(b"")

    with monkeypatch.context() as patch:
        patch.setattr("squareone.persistence.container._bytes_of", interrupted)
        with pytest.raises(failure):
            RLSRegressor().fit(X, -y).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- what cannot be written ---


class Own(Gaussian):
    pass


class OwnRegressor(RLSRegressor):
    pass


UNWRITABLE = {
    "splitter": ({"cv": KFold(3)}, ["parameters.cv", "KFold", "set_params(cv=None)"]),
    "scorer": (
        {"scoring": make_scorer(mean_absolute_error)},
        ["parameters.scoring", "set_params(scoring=None)"],
    ),
    "random state": (
        {"random_state": np.random.RandomState(0)},
        ["parameters.random_state", "RandomState", "set_params(random_state=None)"],
    ),
    "kernel of another class": ({"kernel": Own(1.0)}, ["parameters.kernel", "of type Own"]),
    "inner kernel": ({"kernel": Own(1.0) + 1.0}, ["parameters.kernel.parameters.first", "Own"]),
    "masked array": (
        {"alpha": np.ma.masked_less([0.1, 1.0], 0)},
        ["parameters.alpha", "of type MaskedArray"],
    ),
    "series": ({"alpha": pd.Series([0.1, 1.0])}, ["parameters.alpha", "of type Series", "NumPy"]),
}


@pytest.mark.parametrize(("parameters", "message"), table(UNWRITABLE))
def test_what_cannot_be_written_is_named(parameters, message, tmp_path):
    model = RLSRegressor(**parameters).fit(X, y)
    with refused(TypeError, *message):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    name = next(iter(parameters))
    if name in ("cv", "scoring", "random_state"):
        loaded = saved(model.set_params(**{name: None}), tmp_path)
        assert_loaded(loaded, model)


def test_a_threshold_by_a_function(tmp_path):
    model = RLSClassifier(threshold=f1_score).fit(X, two)
    with refused(TypeError, "parameters.threshold", "set_params(threshold=None)"):
        model.save(tmp_path / "model")
    loaded = saved(model.set_params(threshold=None), tmp_path)
    assert loaded.threshold_ == model.threshold_
    assert_same(loaded.predict(new), model.predict(new))


def test_what_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        RLSRegressor().save(path)
    with refused(TypeError, "of type OwnRegressor"):
        OwnRegressor().fit(X, y).save(path)
    with refused(TypeError, "estimator of squareone", "got int", "joblib"):
        squareone.save(3, path)
    search = GridSearchCV(RLSRegressor("linear"), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    with refused(TypeError, "got GridSearchCV", "Save its best_estimator_"):
        squareone.save(search, path)
    squareone.save(search.best_estimator_, path)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (np.array([b"a", b"b"])[two], "|S1"),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]")[two].astype(object), "datetime.date"),
    ],
    ids=["bytes", "dates"],
)
def test_classes_that_are_neither_numbers_nor_texts_are_refused(classes, message, tmp_path):
    model = RLSClassifier().fit(X, two)
    model._record.targets = type(model._record.targets)(np.unique(classes), False)
    with refused(TypeError, "record.targets.classes", message):
        model.save(tmp_path / "model")


def test_a_kernel_may_be_deep_but_not_endless(tmp_path):
    kernel = Constant(1.0)
    for _ in range(40):
        kernel = kernel + Gaussian(1.0)
    model = RLSRegressor(kernel, alpha=1.0).fit(X, y)
    assert_same(saved(model, tmp_path).predict(new), model.predict(new))
    for _ in range(70):
        kernel = kernel + Constant(1.0)
    with refused(TypeError, "parameters.kernel", "inside each other"):
        model.set_params(kernel=kernel).save(tmp_path / "model")
