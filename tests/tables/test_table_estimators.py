"""The estimators of tables: an encoder, a kernel chosen by honest folds, and its fit in one."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import RLSClassifier, RLSRegressor, TableClassifier, TableRegressor, load
from squareone.errors import EmptyColumnWarning, UnseenValuesWarning
from squareone.kernels import Gaussian, Linear, Matern
from squareone.report import summary
from squareone.rows import open_rows
from squareone.tables import TableEncoder
from tests.estimators.data import refused, table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

# With one encoder and nothing to choose a fit takes milliseconds.
CHEAP = {"kernel": Gaussian(3.0), "alpha": 1.0, "encoder": TableEncoder()}
PLAIN = [TableRegressor(**CHEAP), TableClassifier(**CHEAP, calibration="platt")]

rng = np.random.default_rng(0)
n = 90
flats = pd.DataFrame(
    {
        "flat_id": np.arange(500, 500 + n)[rng.permutation(n)],
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(30, 200, n)),
        "town": rng.choice(["Bari", "Pisa", "Rome"], n),
        "street": [f"s{k}" for k in rng.integers(0, 35, n)],
        "lift": rng.random(n) < 0.5,
        "listed": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        "noise": rng.normal(size=n),
        "country": "IT",
    }
)
rent = (
    flats["size"].fillna(100).to_numpy() * np.where(flats["town"] == "Rome", 2.0, 1.0)
    + 30.0 * flats["lift"].to_numpy()
    + 5.0 * rng.normal(size=n)
)
dear = np.where(rent > np.median(rent), "dear", "cheap")


def targets_of(model):
    return dear if isinstance(model, TableClassifier) else rent


def fitted(model, X=flats, **others):
    return clone(model).fit(X, targets_of(model), **others)


def values(model, X=flats):
    return model._values(X)[:, 0]


# --- what scikit-learn expects ---


@parametrize_with_checks(
    [TableRegressor(**CHEAP), TableClassifier(**CHEAP), TableClassifier(**CHEAP, calibration=None)],
)
def test_scikit_learn_checks(estimator, check):
    calibrated = isinstance(estimator, TableClassifier) and estimator.calibration is not None
    if calibrated and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("a repeated row has its twin in another fold, which the calibration reads")
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([TableRegressor(), TableClassifier()])
def test_scikit_learn_checks_with_nothing_set(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_it_says_what_it_is(model):
    model = fitted(model)
    assert repr(model).startswith(f"{type(model).__name__}(")
    assert type(model).__name__ in model._repr_html_()
    features = model.encoder_.output_columns_.size
    said = f"{n} rows, {flats.shape[1]} columns encoded as {features} features\n"
    assert summary(model).startswith(f"{type(model).__name__} fitted to {said}")
    assert_array_equal(model.feature_names_in_, flats.columns)
    assert model.n_features_in_ == flats.shape[1]
    assert model.encoder_.n_features_in_ == flats.shape[1]
    assert model.encoder_ is not model.encoder
    assert not hasattr(model.encoder, "columns_")
    assert model.plan_.task.d == model.encoder_.output_columns_.size


# --- the same model, however it came about ---


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_it_is_its_encoder_and_its_kernel(model):
    """The model is the plain one on encoded rows; what is left out is not."""
    model = fitted(model)
    kind = RLSClassifier if isinstance(model, TableClassifier) else RLSRegressor
    task = "classification" if isinstance(model, TableClassifier) else "regression"
    encoder = TableEncoder(task=task, random_state=0)
    rows = encoder.fit_transform(flats, targets_of(model))
    plain = kind(Gaussian(3.0), alpha=1.0).fit(rows, targets_of(model))
    assert_allclose(values(model), plain._values(encoder.transform(flats))[:, 0], rtol=1e-10)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_copies_pickles_and_files(model, tmp_path):
    model = fitted(model)
    again = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model.safetensors")
    from_file = load(tmp_path / "model.safetensors")
    for other in (again, from_file, fitted(clone(model))):
        assert_array_equal(other.predict(flats), model.predict(flats))
        assert_array_equal(other.feature_importances_, model.feature_importances_)
        assert_array_equal(other.feature_names_in_, model.feature_names_in_)
        assert other.encoder_.summary() == model.encoder_.summary()
        assert other.best_score_ == model.best_score_
        assert other.rounds_ == model.rounds_
        assert_array_equal(other.suspicious_rows(5), model.suspicious_rows(5))
    if isinstance(model, TableRegressor):
        assert_array_equal(from_file.predict_interval(flats), model.predict_interval(flats))
    else:
        assert_array_equal(from_file.predict_proba(flats), model.predict_proba(flats))


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_parameters_set_later_change_nothing_that_was_learned(model, tmp_path):
    model = fitted(model)
    before = model.predict(flats)
    model.set_params(encoder=None, kernel="auto", alpha="auto")
    assert_array_equal(model.predict(flats), before)
    model.save(tmp_path / "model.safetensors")
    assert_array_equal(load(tmp_path / "model.safetensors").predict(flats), before)
    del model.encoder
    assert_array_equal(model.predict(flats), before)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_every_kind_of_table_is_the_same(model):
    named = flats.drop(columns="flat_id")  # which is an identifier by its name
    expected = values(fitted(model, named), named)
    objects = named.astype(object).to_numpy()
    for X in (
        pl.from_pandas(named),
        pa.Table.from_pandas(named, preserve_index=False),
        pa.RecordBatch.from_pandas(named, preserve_index=False),
        named.set_index(np.arange(n)[::-1]),
        objects,
        objects.tolist(),
        [tuple(row) for row in objects],
    ):
        assert_allclose(values(fitted(model, X), X), expected, rtol=1e-10)


def test_a_column_may_have_any_name():
    renamed = flats.rename(columns={"size": "blocks", "noise": "tocsr", "lift": "iloc"})
    model = TableRegressor(**CHEAP)
    assert_array_equal(values(fitted(model, renamed), renamed), values(fitted(model)))


@pytest.mark.parametrize(
    "parameters",
    [CHEAP, {"kernel": "gaussian"}, {"kernel": Gaussian(metric="learned")}, {"kernel": "linear"}],
    ids=["cheap", "gaussian", "learned", "linear"],
)
def test_the_order_of_columns_does_not_matter(parameters):
    model = fitted(TableRegressor(**parameters))
    order = np.random.default_rng(1).permutation(flats.shape[1])
    other = fitted(TableRegressor(**parameters), flats.iloc[:, order])
    # of candidates that only rounding tells apart another one may be taken, of a metric after
    # another round: they differ by less than the error that either is expected to make
    learns = getattr(parameters["kernel"], "learns_metric", False)
    most = 0.5 * np.sqrt(-model.best_score_) if learns else 0.02 * rent.std()
    assert_allclose(values(other), values(model), atol=most)
    assert_allclose(other.feature_importances_, model.feature_importances_[order], atol=5e-3)
    assert_array_equal(model.predict(flats.iloc[:, order]), model.predict(flats))


def test_an_increasing_map_of_a_column_changes_no_ranks():
    model = TableRegressor(kernel="gaussian", encoder=TableEncoder(scaling="quantile"))
    mapped = flats.assign(size=np.exp(flats["size"] / 20), noise=flats["noise"] ** 3)
    first, second = fitted(model), fitted(model, mapped)
    assert_array_equal(second.predict(mapped), first.predict(flats))
    assert second.best_score_ == pytest.approx(first.best_score_, rel=0.1)


# --- columns that are not what they were ---


@pytest.mark.parametrize(
    ("change", "error", "fragments"),
    table(
        {
            "missing": (
                lambda X: X.drop(columns="size"),
                ValueError,
                ["X has no column 'size': its columns are", "'town'"],
            ),
            "renamed": (
                lambda X: X.rename(columns={"town": "Town"}),
                ValueError,
                ["X has no column 'town' (is 'Town' meant?)"],
            ),
            "words": (
                lambda X: X.assign(size="large"),
                ValueError,
                ["column 'size' had numbers", "'large' in row 0"],
            ),
            "no rows": (lambda X: X.iloc[:0], ValueError, ["0 sample(s)"]),
            "sparse": (lambda X: csr_array(np.eye(8)), TypeError, ["sparse", "X.toarray()"]),
            "one column": (lambda X: X["size"], ValueError, ["Expected 2D array, got 1D"]),
        }
    ),
)
def test_what_new_rows_may_not_be(change, error, fragments):
    with refused(error, *fragments):
        fitted(TableRegressor(**CHEAP)).predict(change(flats))


def test_what_new_rows_may_be():
    model = fitted(TableRegressor(**CHEAP))
    expected = model.predict(flats)
    more = flats.assign(extra="?")[["extra", *flats.columns[::-1]]]
    assert_array_equal(model.predict(more), expected)
    assert_array_equal(model.predict(flats.drop(columns=["country", "flat_id"])), expected)
    later = flats.head(5).assign(town="Turin", lift=None)
    assert model.predict(later).shape == (5,)
    assert {name: tuple(c) for name, c in model.encoder_.unseen(later).items()} == {
        "town": (5, 0),
        "lift": (0, 5),
    }
    with pytest.warns(UnseenValuesWarning, match="'town'"):
        numbers = model.predict(flats.assign(town=np.arange(n)))
    with pytest.warns(UnseenValuesWarning, match="'town'"):
        assert_array_equal(model.predict(flats.assign(town="Turin")), numbers)


# --- targets and weights ---


def test_a_target_that_is_constant():
    model = TableRegressor("gaussian").fit(flats, np.full(n, 7.0))
    assert_allclose(model.predict(flats), 7.0)
    assert_array_equal(model.feature_importances_, 0.0)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_a_row_of_weight_zero_is_none(model):
    """Neither in the encoder (levels, medians, means of targets) nor in the fit."""
    odd = flats.copy()
    weights = np.ones(n)
    weights[:10] = 0.0
    odd.loc[:9, ["town", "street", "size"]] = ["Atlantis", "none", 1e9]
    y = targets_of(model)
    kept = clone(model).fit(flats[10:], y[10:])
    weighted = clone(model).fit(odd, y, weights)
    changed = y.copy()
    changed[:10] = y[10:20]
    for other in (weighted, clone(model).fit(odd, changed, weights)):
        assert other.encoder_.summary() == kept.encoder_.summary()
        assert_allclose(values(other, flats[10:]), values(kept, flats[10:]), rtol=1e-10)
        assert_allclose(other.feature_importances_, kept.feature_importances_, rtol=1e-10)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_a_weight_of_two_is_a_row_twice(model):
    once = flats.drop(columns=["street", "flat_id"])  # means of targets come from folds of rows
    twice = pd.concat([once, once[:20]], ignore_index=True)
    y = targets_of(model)
    repeated = clone(model).fit(twice, np.concatenate([y, y[:20]]))
    weighted = clone(model).fit(once, y, np.where(np.arange(n) < 20, 2.0, 1.0))
    assert_allclose(values(weighted, once), values(repeated, once), rtol=1e-8)


def test_scales_of_encoded_columns_are_no_matter_of_the_user(monkeypatch):
    """A warning would name features that the table does not have, and advise what is done."""
    looks = []
    monkeypatch.setattr("squareone.estimators.base.warn_of_scales", lambda *_: looks.append(_))
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40.0)
    RLSRegressor(Gaussian(1.0), alpha=1.0).fit(X, y)
    assert len(looks) == 1
    TableRegressor("linear").fit(X, y)
    TableClassifier("linear").fit(X, y > 20)
    assert len(looks) == 1


def test_groups_stay_together():
    """A row's twin in another fold would give it away."""
    twins, groups = pd.concat([flats, flats], ignore_index=True), np.tile(np.arange(n), 2)
    noise = np.tile(np.random.default_rng(5).normal(size=n), 2)
    parameters = {"kernel": "gaussian", "encoder": TableEncoder(many_levels="hash")}
    naive = TableRegressor(**parameters).fit(twins, noise)
    honest = TableRegressor(**parameters, cv=GroupKFold(5)).fit(twins, noise, groups=groups)
    assert naive.best_score_ > -0.5 * noise.var()
    assert honest.best_score_ < -0.8 * noise.var()


def test_several_targets_and_labels():
    Y = np.column_stack([rent, flats["noise"]])
    together = TableRegressor(**CHEAP).fit(flats, Y)
    assert together.predict(flats).shape == (n, 2)
    assert together.predict_interval(flats[:3]).shape == (3, 2, 2)
    each = TableRegressor("gaussian", alpha_per_target=True).fit(flats, Y)
    assert each.best_score_.shape == each.alpha_.shape == (2,)
    labels = np.column_stack([dear == "dear", flats["lift"]]).astype(int)
    model = TableClassifier(**CHEAP).fit(flats, labels)
    assert model.predict(flats).shape == (n, 2)
    assert (model.predict(flats) == labels).mean() > 0.9


def test_class_weight_and_rare_classes():
    y = np.where(np.arange(n) < 4, "odd", dear)
    plain = TableClassifier(**CHEAP).fit(flats, y)
    weighted = TableClassifier(**CHEAP, class_weight={"odd": 200.0}).fit(flats, y)
    assert (weighted.predict(flats) == "odd").sum() > (plain.predict(flats) == "odd").sum()
    alone = TableClassifier("gaussian").fit(flats, np.where(np.arange(n) < 1, "odd", dear))
    assert_array_equal(alone.classes_, ["cheap", "dear", "odd"])
    assert alone.predict_proba(flats).shape == (n, 3)


# --- kernels and encoders ---


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("gaussian", Gaussian),
        ("linear", Linear),
        (Gaussian(metric="learned"), Gaussian),
        (Matern(nu=2.5, metric="learned"), Matern),
    ],
    ids=str,
)
@pytest.mark.parametrize("scaling", [None, "quantile", "pieces"])
def test_kernels_and_encoders(kernel, kind, scaling):
    encoder = None if scaling is None else TableEncoder(scaling=scaling, rare=5)
    model = TableRegressor(kernel, encoder=encoder).fit(flats, rent)
    assert type(model.kernel_) is kind
    assert model.encoder_.task == "regression"
    assert model.encoder_.scaling == scaling or scaling is None
    assert model.encoder_.rare == (3 if scaling is None else 5)
    assert model.score(flats, rent) > 0.8
    path = pd.DataFrame(model.path_)
    honest = path[path["honest"]]
    assert set(honest["preparation"]) == ({0, 1} if scaling is None else {0})
    if not getattr(kernel, "learns_metric", False):
        assert model.rounds_ == 0
        assert (honest["rounds"] == 0).all()
        assert getattr(model.kernel_, "metric", None) is None


def test_nothing_set():
    model = TableRegressor(random_state=0).fit(flats, rent)
    assert -model.best_score_ < 0.3 * rent.var()
    again = TableRegressor(random_state=0).fit(flats, rent)
    assert_array_equal(again.predict(flats), model.predict(flats))
    names = set(model.path_["kernel"][model.path_["honest"]])
    assert {"Linear()", "Gaussian(sigma='auto')", "Laplacian(sigma='auto')"} <= names


def test_a_linear_model_may_have_many_features():
    """More than a metric is learned of: none is learned here."""
    encoder = TableEncoder(many_levels="hash", max_levels=2, n_hash=512)
    X = pd.concat([flats["street"].rename(f"street {k}") for k in range(4)], axis=1)
    model = TableRegressor("linear", encoder=encoder).fit(X, rent)
    assert model.coef_.shape == (2048,)
    with refused(ValueError, "2,048 features", "at most 2,000"):
        TableRegressor(Gaussian(metric="learned"), encoder=encoder).fit(X, rent)


def test_folds_are_not_told_of():
    """What a fold's encoder has not seen, or cannot use, is no news to the user."""
    rare = flats.assign(empty=None, street=[f"s{k // 2}" for k in range(n)])
    with pytest.warns(EmptyColumnWarning, match="'empty'") as caught:
        fitted(TableRegressor(**CHEAP), rare)
    assert len(caught) == 1
    one = pd.DataFrame({"odd": np.where(np.arange(n) == 40, 1.0, 0.0)})
    model = fitted(TableRegressor(**CHEAP), one)  # constant in all folds but one
    assert_allclose(model.feature_importances_, [1.0])


# --- what is refused ---


@pytest.mark.parametrize("kind", [TableRegressor, TableClassifier])
@pytest.mark.parametrize(
    ("X", "y", "parameters", "error", "fragments"),
    table(
        {
            "precomputed": (flats, rent, {"kernel": "precomputed"}, ValueError, ["takes a matrix"]),
            "sparse": (csr_array(np.eye(n)), rent, {}, TypeError, ["sparse", "X.toarray()"]),
            "no rows": (flats[:0], rent[:0], {}, ValueError, ["0 sample(s)", "minimum of 1"]),
            "one row": (flats[:1], rent[:1], {}, ValueError, ["no column to encode in 1 sample"]),
            "three rows": (flats[:3], rent[:3], {}, ValueError, ["at least 6 rows", "n_samples"]),
            "nothing": (flats[["country"]], rent, {}, ValueError, ["no column to encode", "'IT'"]),
            "a path": ("flats.csv", rent, {}, TypeError, ["is expected, got str"]),
            "gap in y": (flats, np.where(rent > rent[3], rent, np.nan), {}, ValueError, ["NaN"]),
            "length": (flats, rent[1:], {}, ValueError, ["inconsistent numbers of samples"]),
            "encoder": (flats, rent, {"encoder": "quantile"}, ValueError, ["'encoder' parameter"]),
            "weights": (flats, rent, {"weights": np.zeros(n)}, ValueError, ["all weights are"]),
        }
    ),
)
def test_what_is_refused(kind, X, y, parameters, error, fragments):
    parameters = dict(parameters)
    weights = parameters.pop("weights", None)
    if kind is TableClassifier:
        y = np.where(np.isnan(y), np.nan, y > 150)
    model = kind(**{**CHEAP, **parameters})
    with refused(error, *fragments):
        model.fit(X, y, weights)
    assert not model.__sklearn_is_fitted__()


def test_streams_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(9))
    rows = open_rows(tmp_path / "rows.npy")
    with refused(TypeError, "block by block (ArrayRows)", "RLSRegressor", "data frame"):
        TableRegressor(**CHEAP).fit(rows, np.arange(9.0))
    model = TableRegressor(**CHEAP).fit(np.eye(9), np.arange(9.0))
    with refused(TypeError, "block by block (ArrayRows)"):
        model.predict(rows)


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: type(model).__name__)
def test_files_of_predictions_are_refused(model, tmp_path):
    with refused(TypeError, "takes tables", "chunksize", "BlockWriter"):
        fitted(model).predict_file(flats, tmp_path / "predictions.npy")
    assert not list(tmp_path.iterdir())


# --- honesty ---


@pytest.mark.parametrize(
    "kernel", [Gaussian(3.0), Gaussian(3.0, metric="learned"), "linear"], ids=str
)
def test_a_row_is_judged_without_its_target(kernel):
    """Encoder, means of targets, metric and fit of that value have not seen it."""
    model = TableRegressor(**{**CHEAP, "kernel": kernel}).fit(flats, rent)
    for row in (0, 17, 62):
        other = rent.copy()
        other[row] += 40.0
        changed = TableRegressor(**{**CHEAP, "kernel": kernel}).fit(flats, other)
        assert changed.rounds_ == model.rounds_
        before, after = model._record.unseen_values, changed._record.unseen_values
        assert_allclose(after[row], before[row], rtol=1e-7)
        rest = np.arange(n) != row
        assert np.abs(after - before)[rest].max() > 0.1
        place = np.searchsorted(model._record.scored_rows, row)
        assert_allclose(
            changed._record.scored_values[place], model._record.scored_values[place], rtol=1e-7
        )


def test_a_row_is_judged_without_its_class():
    """By the user's folds: those that are drawn are stratified by the classes."""
    parameters = {**CHEAP, "cv": KFold(5, shuffle=True, random_state=0)}
    model = TableClassifier(**parameters).fit(flats, dear)
    other = dear.copy()
    other[11] = "dear" if dear[11] == "cheap" else "cheap"
    changed = TableClassifier(**parameters).fit(flats, other)
    before, after = model._record.unseen_values, changed._record.unseen_values
    assert_allclose(after[11], before[11], rtol=1e-7)
    assert np.abs(after - before).max() > 0.01


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(metric="learned")], ids=str)
def test_noise_is_not_predicted(kernel):
    """Means of targets, a metric and a width could all tell a row its own target."""
    noise = np.random.default_rng(7).normal(size=n)
    model = TableRegressor(kernel).fit(flats[["street", "noise", "size", "listed"]], noise)
    assert -model.best_score_ > 0.85 * noise.var()
    unseen = model._record.unseen_values[:, 0]
    assert np.mean((noise - unseen) ** 2) > 0.85 * noise.var()


# --- importances ---


@pytest.mark.parametrize(
    "kernel",
    ["gaussian", "linear", Gaussian(metric="learned"), Matern(metric="learned")],
    ids=str,
)
def test_importances(kernel):
    model = TableRegressor(kernel).fit(flats, rent)
    shares = pd.Series(model.feature_importances_, flats.columns)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    assert set(shares.nlargest(2).index) == {"size", "town"}
    assert shares["noise"] < 0.1
    assert shares["country"] == shares["flat_id"] == 0.0


def test_importances_of_a_classifier():
    model = TableClassifier("gaussian").fit(flats, flats["town"])
    shares = pd.Series(model.feature_importances_, flats.columns)
    assert shares.sum() == pytest.approx(1.0)
    assert shares.idxmax() == "town"


@pytest.mark.parametrize("kernel", [Gaussian(3.0), "linear"])
def test_importances_count_rows_by_their_weight(kernel):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.integers(1, 4, 60)
    y, repeated = X @ [3.0, 1.0, 0.2] + np.sin(3 * X[:, 0]), np.repeat(np.arange(60), weights)
    folds = list(KFold(3).split(X))
    again = [tuple(np.flatnonzero(np.isin(repeated, part)) for part in fold) for fold in folds]
    settings = {"alpha": 1.0, "encoder": TableEncoder()}
    one = TableRegressor(kernel, cv=folds, **settings).fit(X, y, sample_weight=weights)
    other = TableRegressor(kernel, cv=again, **settings).fit(X[repeated], y[repeated])
    assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-9)


def test_numbers_written_as_text_are_targets():
    X = np.random.default_rng(0).normal(size=(30, 2))
    as_text = TableRegressor("gaussian").fit(X, X[:, 0].astype(str))
    assert_allclose(as_text.predict(X), TableRegressor("gaussian").fit(X, X[:, 0]).predict(X))


def test_importances_are_slopes():
    """The root mean square derivative of the prediction, times the deviation of the feature."""
    X = np.random.default_rng(3).normal(size=(60, 3)) * [1.0, 5.0, 0.2]
    y = np.sin(X[:, 0]) + X[:, 1] / 5
    model = TableRegressor(Gaussian(1.5), alpha=1e-3, encoder=TableEncoder()).fit(X, y)
    steps = 1e-4 * X.std(axis=0)
    slopes = [(model.predict(X + step) - model.predict(X - step)) / 2e-4 for step in np.diag(steps)]
    expected = np.sqrt(np.mean(np.square(slopes), axis=1))
    assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-4)


# --- intervals ---


def heteroscedastic(n, seed):
    rng = np.random.default_rng(seed)
    x, kind = rng.uniform(-2, 2, n), rng.choice(["quiet", "loud"], n)
    spread = np.where(kind == "loud", 1.0, 0.2) * (0.3 + np.abs(x))
    return pd.DataFrame({"x": x, "kind": kind}), np.sin(2 * x) + spread * rng.normal(size=n)


def test_intervals_follow_the_noise():
    X, y = heteroscedastic(200, seed=0)
    model = TableRegressor("gaussian", encoder=TableEncoder()).fit(X, y)
    low, high = model.predict_interval(X).T
    loud = X["kind"] == "loud"
    assert (high - low)[loud].mean() > 2 * (high - low)[~loud].mean()
    assert_array_equal(model.predict_interval(X, method="adaptive"), np.column_stack([low, high]))
    bounds = (y.min() - 0.1, None)
    inside = model.predict_interval(X, bounds=bounds)
    assert_array_equal(inside, np.maximum(np.column_stack([low, high]), bounds[0]))
    assert (low < bounds[0]).any()
    with refused(ValueError, "bounds=(0, None)", "lie outside"):
        model.predict_interval(X, bounds=(0, None))


@pytest.mark.parametrize(
    "kernel", [Gaussian(3.0, metric="learned"), Gaussian(3.0), "linear"], ids=str
)
def test_intervals_by_models_of_folds(kernel, tmp_path):
    """Those of the CV+: encoder, metric and coefficients of a model are from the other folds."""
    folds = list(KFold(4, shuffle=True, random_state=0).split(flats))
    model = TableRegressor(**{**CHEAP, "kernel": kernel, "cv": folds}).fit(flats, rent)
    learned, later = model._record.learned, flats.sample(12, random_state=1)
    without = np.empty((n, 12))  # of each row of the fit: twelve new ones, by the model without it
    left_out = np.empty(n)
    for fold, (train, test) in zip(learned.models, folds, strict=True):
        encoder = TableEncoder(task="regression", random_state=0)
        rows = encoder.fit_transform(flats.iloc[train], rent[train])
        own = RLSRegressor(fold.kernel, alpha=1.0).fit(rows, rent[train])
        without[test] = own.predict(encoder.transform(later))
        left_out[test] = own.predict(encoder.transform(flats.iloc[test]))
    apart = np.abs(rent - left_out)[:, None]
    rank = int(np.ceil(0.8 * (n + 1)))
    low = -np.sort(-(without - apart), axis=0)[rank - 1]
    high = np.sort(without + apart, axis=0)[rank - 1]
    asked = {"coverage": 0.8, "method": "jackknife+"}
    found = model.predict_interval(later, **asked)
    assert_allclose(found, np.column_stack([low, high]), rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    for other in (again, load(tmp_path / "model")):
        assert_array_equal(other.predict_interval(later, **asked), found)
    wide = model.predict_interval(later, 0.8, "minmax")
    assert (wide[:, 0] <= found[:, 0]).all()
    assert (wide[:, 1] >= found[:, 1]).all()


def test_intervals_of_folds_in_which_nothing_varies(tmp_path):
    X = pd.DataFrame({"x": [1.0] * 20 + [2.0] * 10})
    y = X["x"] + np.random.default_rng(0).standard_normal(30)
    folds = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    model = TableRegressor("gaussian", alpha=1.0, cv=folds).fit(X, y)
    found = model.predict_interval(X, method="jackknife+")
    assert np.isfinite(found).all()
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict_interval(X, method="jackknife+"), found)


def test_models_of_folds_are_not_kept_where_nobody_asks(tmp_path, monkeypatch):
    assert TableClassifier(**CHEAP).fit(flats, dear)._record.learned.models == []
    model = TableRegressor(**CHEAP).fit(flats, rent)
    monkeypatch.setattr("squareone.fitting.learned_kernel_state.MOST_FILE_BYTES", 1000)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(loaded.predict_interval(flats), model.predict_interval(flats))
    with refused(ValueError, "nor in a file", 'use method="adaptive", "jackknife"'):
        loaded.predict_interval(flats, method="jackknife+")
    few = TableRegressor(**CHEAP, centers=20).fit(flats, rent)
    with refused(ValueError, "not kept with centers"):
        few.predict_interval(flats, method="minmax")


@pytest.mark.parametrize(
    "kernel",
    ["linear", pytest.param(Gaussian(metric="learned"), marks=pytest.mark.thorough)],
    ids=str,
)
def test_intervals_where_most_rows_are_outside_of_the_pool(kernel, monkeypatch):
    """The size of errors is learned from these rows alone, which the encoder has not seen."""
    for module in ("fitting.kernel_choice", "fitting.learned_kernel", "tables.table_fit"):
        monkeypatch.setattr(f"squareone.{module}.POOL_ROWS", 60)
    X, y = heteroscedastic(260, seed=0)
    X["x"], y = X["x"].abs(), y + 2 * X["x"].abs()
    model = TableRegressor(kernel, encoder=TableEncoder()).fit(X[:200], y[:200])
    assert model._record.scored_rows.size == 140
    low, high = model.predict_interval(X).T
    loud = X["kind"] == "loud"
    assert (high - low)[loud].mean() > 1.3 * (high - low)[~loud].mean()
    assert 0.8 < ((low <= y) & (y <= high))[200:].mean() <= 1


@pytest.mark.thorough
def test_intervals_cover_as_they_say():
    shares = []
    for seed in range(25):
        X, y = heteroscedastic(450, seed)
        model = TableRegressor("gaussian", encoder=TableEncoder()).fit(X[:200], y[:200])
        low, high = model.predict_interval(X[200:]).T
        shares.append(np.mean((low <= y[200:]) & (y[200:] <= high)))
    assert 0.87 < np.mean(shares) < 0.93


@pytest.mark.thorough
@pytest.mark.costly
def test_probabilities_are_no_worse_than_those_of_calibration_by_folds():
    """The log loss on new rows, of one fit and of five that scikit-learn averages."""
    apart = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1900, 6))
        f = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
        y = (rng.random(1900) < 1.0 / (1.0 + np.exp(-2.0 * f))).astype(int)
        model = TableClassifier("gaussian")
        own, folds = (
            -np.log(m.fit(X[:400], y[:400]).predict_proba(X[400:])[np.arange(1500), y[400:]])
            for m in (model, CalibratedClassifierCV(clone(model)))
        )
        apart.append(own - folds)
    apart = np.concatenate(apart)
    assert apart.mean() <= apart.std() / np.sqrt(apart.size)


def test_a_column_may_be_called_as_the_table_is_here():
    """Names that are those of attributes elsewhere."""
    frame = pd.DataFrame({"X": rng.uniform(0, 1, 60), "partitioned_rows": rng.uniform(0, 1, 60)})
    model = TableRegressor("linear", 0.1).fit(frame, 2 * frame["X"] - frame["partitioned_rows"])
    other = frame.rename(columns={"X": "a", "partitioned_rows": "b"})
    same = TableRegressor("linear", 0.1).fit(other, 2 * other["a"] - other["b"])
    assert_allclose(model.predict(frame), same.predict(other))
