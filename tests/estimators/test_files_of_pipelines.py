"""Pipelines in files: the model together with the scalers, imputers and encoders before it."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import squareone
from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.persistence import container
from tests.estimators.data import X, frame, refused, table, three, y

missing = frame.mask(frame > 1.4)
people = frame.assign(
    city=pd.Series(np.array(["Rome", "Oslo", "Bern"])[three], dtype=object),
    age=np.where(frame["age"] > 1, np.nan, frame["age"]),
)


def saved(pipeline, path):
    squareone.save(pipeline, path / "pipeline.safetensors")
    return squareone.load(path / "pipeline.safetensors")


STEPS = {
    "standard": StandardScaler(),
    "standard, only centred": StandardScaler(with_std=False),
    "min and max": MinMaxScaler((-1, 1), clip=True),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(quantile_range=(10.0, 90.0)),
    "length one": Normalizer("l1"),
    "components": PCA(2, whiten=True),
    "share of the variance": PCA(0.9),
    "random components": PCA(2, svd_solver="randomized", random_state=0),
    "imputer": SimpleImputer(strategy="median"),
    "imputer that tells": SimpleImputer(add_indicator=True),
    "polynomial": PolynomialFeatures((1, 2), interaction_only=True),
    "quantiles": QuantileTransformer(n_quantiles=5, output_distribution="normal"),
    "power": PowerTransformer(),
    "identity": FunctionTransformer(),
    "passed": "passthrough",
    "none": None,
    "frames": StandardScaler().set_output(transform="pandas"),
    "bins": KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    "two bins": Binarizer(threshold=0.2),
    "truncated": TruncatedSVD(2, random_state=0),
    "those that vary": VarianceThreshold(0.5),
    "imputer by neighbours": KNNImputer(n_neighbors=2),
    "side by side": FeatureUnion([("one", StandardScaler()), ("two", PCA(1))]),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_step(step, dtype, tmp_path):
    rows = (missing if "imputer" in step else frame).astype(dtype)
    pipeline = Pipeline([("before", STEPS[step]), ("model", RLSRegressor(Gaussian(1.0)))])
    pipeline.fit(rows, y)
    loaded = saved(pipeline, tmp_path)
    np.testing.assert_array_equal(loaded.predict(rows), pipeline.predict(rows), strict=True)
    fitted = loaded[1 if step in ("passed", "none") else 0]
    assert list(fitted.feature_names_in_) == list(frame)
    for one, other in zip(loaded[:-1], pipeline[:-1], strict=True):
        if hasattr(other, "get_feature_names_out"):
            assert list(one.get_feature_names_out()) == list(other.get_feature_names_out())
        if hasattr(other, "get_params"):
            assert set(vars(one)) == set(vars(other))
    with refused(ValueError, "feature names"):
        loaded.predict(rows.rename(columns={"age": "weight"}))


def test_columns_of_different_kinds(tmp_path):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include=np.number)),
            ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
            ("again", OneHotEncoder(dtype=np.float32, handle_unknown="ignore"), ["city"]),
            ("width", "passthrough", slice("width", "width")),
            ("none", "drop", [0]),
        ],
        sparse_threshold=0,
    )
    pipeline = Pipeline([("columns", columns), ("model", RLSClassifier())]).fit(people, three)
    loaded = saved(pipeline, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(people), pipeline.predict_proba(people))
    assert list(loaded[:-1].get_feature_names_out()) == list(pipeline[:-1].get_feature_names_out())
    elsewhere = people.assign(city="Lima")
    np.testing.assert_array_equal(loaded.predict(elsewhere), pipeline.predict(elsewhere))
    with refused(ValueError, "columns are missing", "city"):
        loaded.predict(frame)
    loaded.fit(people, three)  # and again
    np.testing.assert_array_equal(loaded.predict_proba(people), pipeline.predict_proba(people))


SELECTORS = {
    "numbers": make_column_selector(dtype_include=np.number),
    "floats": make_column_selector(dtype_include=["float64", np.floating]),
    "by name": make_column_selector(pattern="th$"),
    "not texts": make_column_selector(dtype_exclude=[object, "string"]),
}


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("place", ["columns", "remainder"])
def test_selectors_of_columns(selector, place, tmp_path):
    """A selector is asked again by the next fit, and a file says what it asks for."""
    rows = people.fillna(0.0)
    chosen = [("numbers", StandardScaler(), SELECTORS[selector])]
    if place == "remainder":
        chosen = [("city", "drop", make_column_selector(dtype_exclude=np.number))]
    columns = ColumnTransformer(chosen, remainder="drop" if place == "columns" else "passthrough")
    pipeline = make_pipeline(columns, RLSRegressor("linear")).fit(rows, y)
    loaded = saved(pipeline, tmp_path)
    # arrays elsewhere in memory may be added up in another order
    np.testing.assert_allclose(loaded.predict(rows), pipeline.predict(rows), rtol=1e-12)
    again = loaded[0].transformers[0][2]
    assert again(rows) == chosen[0][2](rows)
    assert vars(again) == vars(chosen[0][2])
    more = rows.assign(height=np.arange(len(rows)) / 10.0)
    expected = pipeline.fit(more, y).predict(more)
    np.testing.assert_array_equal(loaded.fit(more, y).predict(more), expected)


@pytest.mark.parametrize("remainder", ["passthrough", "drop", StandardScaler()])
def test_the_other_columns(remainder, tmp_path):
    columns = ColumnTransformer([("largest", MaxAbsScaler(), ["age"])], remainder=remainder)
    pipeline = make_pipeline(columns, RLSRegressor("linear")).fit(frame, y)
    np.testing.assert_array_equal(saved(pipeline, tmp_path).predict(frame), pipeline.predict(frame))


ENCODERS = {
    "texts": OneHotEncoder(sparse_output=False),
    "first left out": OneHotEncoder(sparse_output=False, drop="first"),
    "rare ones together": OneHotEncoder(sparse_output=False, min_frequency=9),
    "given": OneHotEncoder(sparse_output=False, categories=[["Bern", "Oslo", "Rome"]]),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "by the targets": TargetEncoder(smooth=2.0),
}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder(encoder, tmp_path):
    pipeline = make_pipeline(ENCODERS[encoder], RLSRegressor(Gaussian(1.0)))
    pipeline.fit(people[["city"]], y)
    loaded = saved(pipeline, tmp_path)
    expected = pipeline.predict(people[["city"]])
    np.testing.assert_array_equal(loaded.predict(people[["city"]]), expected)


UNWRITABLE = {
    "another transformer": (SplineTransformer(), ["steps.before", "SplineTransformer"]),
    "a function": (FunctionTransformer(np.log1p), ["steps.before", "parameters.func", "log1p"]),
    "a random state": (
        PCA(2, svd_solver="randomized", random_state=np.random.RandomState(0)),
        ["steps.before", "parameters.random_state", "set_params(random_state=None)"],
    ),
}


@pytest.mark.parametrize(("step", "message"), table(UNWRITABLE))
def test_a_step_that_cannot_be_written_is_named(step, message, tmp_path):
    rows = np.abs(X)
    pipeline = Pipeline([("before", step), ("model", RLSRegressor("linear"))]).fit(rows, y)
    with refused(TypeError, *message):
        squareone.save(pipeline, tmp_path / "pipeline")
    joblib.dump(pipeline, tmp_path / "pipeline")  # that it can do
    loaded = joblib.load(tmp_path / "pipeline")
    # arrays elsewhere in memory may be added up in another order
    np.testing.assert_allclose(loaded.predict(rows), pipeline.predict(rows), rtol=1e-12)


def test_a_pipeline_without_a_model_is_refused(tmp_path):
    path = tmp_path / "pipeline"
    with refused(TypeError, "at the end of a Pipeline", "got Pipeline"):
        squareone.save(make_pipeline(StandardScaler()).fit(X), path)
    with pytest.raises(NotFittedError):
        squareone.save(make_pipeline(StandardScaler(), RLSRegressor()), path)
    cached = make_pipeline(StandardScaler(), RLSRegressor(), memory=str(tmp_path)).fit(X, y)
    with refused(ValueError, "names a cache", "set_params(memory=None)"):
        squareone.save(cached, path)
    squareone.save(cached.set_params(memory=None), path)


def test_another_version_of_scikit_learn_is_told(tmp_path):
    path = tmp_path / "pipeline"
    squareone.save(make_pipeline(StandardScaler(), RLSRegressor()).fit(X, y), path)
    tree, tensors = container.read(path)
    tree["versions"]["scikit-learn"] = "1.2.3"
    container.write(path, tree, tensors)
    with pytest.warns(InconsistentVersionWarning, match="Pipeline from version 1.2.3"):
        squareone.load(path)


# --- before the fit ---


@pytest.mark.parametrize(("step", "message"), table(UNWRITABLE))
def test_a_step_that_cannot_be_written_is_named_before_the_fit(step, message):
    pipeline = Pipeline([("before", step), ("model", RLSRegressor("linear"))])
    with refused(TypeError, "save cannot write this", *message):
        squareone.check_saveable(pipeline)
    with pytest.raises(NotFittedError):
        pipeline.predict(X)


@pytest.mark.parametrize("step", STEPS)
def test_steps_that_can_be_written_pass_before_and_after_the_fit(step):
    pipeline = Pipeline([("before", STEPS[step]), ("model", RLSRegressor(Gaussian(1.0)))])
    assert squareone.check_saveable(pipeline) is None
    pipeline.fit(missing if "imputer" in step else frame, y)
    squareone.check_saveable(pipeline)


def test_everything_is_named_at_once(tmp_path):
    columns = ColumnTransformer(
        [
            ("splines", SplineTransformer(), ["age"]),
            ("logs", FunctionTransformer(np.log1p), lambda rows: ["width"]),
            ("city", OneHotEncoder(), make_column_selector(dtype_include=object)),
        ]
    )
    model = RLSRegressor("linear", cv=KFold(3))
    pipeline = Pipeline([("columns", columns), ("model", model)], memory=str(tmp_path))
    with refused(TypeError, "save cannot write this") as refusal:
        squareone.check_saveable(pipeline.set_params(memory=None))
    lines = str(refusal.value).splitlines()
    found = ["SplineTransformer()", "parameters.func", "function", "parameters.cv is KFold"]
    assert len(lines) == 1 + len(found)
    for line, fragment in zip(lines[1:], found, strict=True):
        assert fragment in line
    assert "Once it is fitted, the model does not need it: set_params(cv=None)" in lines[-1]
    with refused(TypeError, "save cannot write this", "names a cache"):
        squareone.check_saveable(pipeline.set_params(memory=str(tmp_path)))


def test_what_has_no_model_of_ours_is_refused_before_the_fit():
    with refused(TypeError, "at the end of a Pipeline", "got Pipeline"):
        squareone.check_saveable(make_pipeline(StandardScaler()))


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_estimators_alone(threshold):
    squareone.check_saveable(RLSClassifier(threshold=threshold))
    with refused(TypeError, "parameters.threshold", "set_params(threshold=None)"):
        squareone.check_saveable(RLSClassifier(threshold=lambda truth, said: 0.0))
