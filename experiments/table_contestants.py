"""Who predicts a table in the comparison on tables, and the features of those who want numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import loguniform, randint
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, train_test_split
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from experiments.svm import SVC_GAMMA, SVR_GAMMA, C
from experiments.table_data import Columns, are_classes, is_text

COVERAGE = 0.9
FOLDS = 3
SETTINGS = 20
SECONDS_OF_A_DAY = 86_400


class Mean(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    noise: float

    @classmethod
    def of(cls, values: NDArray) -> Self:
        """Of values (m,), or (m, t) of which each row has its mean."""
        rows = values.reshape(len(values), -1).mean(axis=1)
        return cls(float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(rows.size)))


@dataclass(frozen=True)
class Prediction:
    """What is said of m test rows.

    Parameters
    ----------
    values : array of shape (m,)
    probabilities : array of shape (m, k), optional
    classes : array of shape (k,), optional
        Whose probabilities the columns are.
    intervals : array of shape (m, 2), optional
        Lower and upper ends, to contain ``COVERAGE`` of the targets.
    decisions : array of shape (m,) or (m, k), optional
        What decides between classes: one for every class, or for the second of two. It was fitted
        to 1 where the class is that of the row and to −1 elsewhere.
    by_folds : Mean, optional
        The mean square error that folds of the training rows promise: of ``values``, or of
        ``decisions`` where there are classes.
    """

    values: NDArray
    probabilities: NDArray | None = None
    classes: NDArray | None = None
    intervals: NDArray | None = None
    decisions: NDArray | None = None
    by_folds: Mean | None = None


Contestant = Callable[[Columns, NDArray, Columns, int], Prediction]


def gauss(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """Plain regularised least squares with a Gaussian kernel, everything automatic."""
    from squareone import RLSClassifier, RLSRegressor

    X, X_test = numeric_features(train, test)
    if are_classes(y):
        return _classes_of(RLSClassifier().fit(X, y), X_test)
    model = RLSRegressor().fit(X, y)
    return Prediction(model.predict(X_test), intervals=model.predict_interval(X_test, COVERAGE))


def auto(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """The table as it is, everything automatic."""
    from squareone import TableClassifier, TableRegressor

    X, X_test = _as_people_have_it(train), _as_people_have_it(test)
    if are_classes(y):
        classifier = TableClassifier().fit(X, y)
        return replace(
            _classes_of(classifier, X_test),
            decisions=classifier.decision_function(X_test),
            by_folds=_by_folds(classifier),
        )
    model = TableRegressor().fit(X, y)
    intervals = model.predict_interval(X_test, COVERAGE, method="adaptive")
    return Prediction(model.predict(X_test), intervals=intervals, by_folds=_by_folds(model))


def auto_calibrated(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """The same classifier with probabilities by cross-validated calibration, to compare with."""
    from squareone import TableClassifier

    model = CalibratedClassifierCV(TableClassifier())
    return _classes_of(model.fit(_as_people_have_it(train), y), _as_people_have_it(test))


def trees(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """Boosted trees as they come."""
    return _boosted(train, y, test, seed)


def trees_early(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """Up to 500 small rounds, until a tenth of the rows that was held out gets worse."""
    return _boosted(train, y, test, seed, max_iter=500, learning_rate=0.05, early_stopping=True)


def trees_search(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """The best of random settings, by folds."""
    settings = {
        "learning_rate": loguniform(0.02, 0.3),
        "max_leaf_nodes": randint(8, 64),
        "min_samples_leaf": randint(5, 50),
        "l2_regularization": loguniform(1e-3, 10),
        "max_iter": randint(50, 500),
    }
    X, X_test, categorical = tree_codes(train, test)
    search = RandomizedSearchCV(
        _trees(y, categorical, seed),
        settings,
        n_iter=SETTINGS,
        cv=FOLDS,
        scoring=_score(y),
        random_state=seed,
        n_jobs=1,
    )
    return _predicted(search.fit(X, y), X_test, y)


def svm(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """A support vector machine, the best of a grid by folds; ε is a tenth of a deviation."""
    X, X_test = numeric_features(train, test)
    gamma_scale = 1 / (X.shape[1] * X.var())
    if are_classes(y):
        model, grid = SVC(), {"C": C, "gamma": SVC_GAMMA * gamma_scale}
    else:
        svr = SVR(epsilon=0.1)
        model = TransformedTargetRegressor(svr, transformer=StandardScaler())
        grid = {"regressor__C": C, "regressor__gamma": SVR_GAMMA * gamma_scale}
    search = GridSearchCV(model, grid, cv=FOLDS, scoring=_score(y), n_jobs=1)
    return Prediction(search.fit(X, y).predict(X_test))


def xrfm(train: Columns, y: NDArray, test: Columns, seed: int) -> Prediction:
    """Recursive feature machines with their defaults; a fifth of the rows for validation."""
    import torch
    from xrfm import xRFM

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    X, X_test = (part.astype(np.float32) for part in numeric_features(train, test))
    if are_classes(y):
        classes, target = np.unique(y, return_inverse=True)
    else:
        scaler = StandardScaler().fit(y[:, None])
        target = scaler.transform(y[:, None])[:, 0].astype(np.float32)
    X_fit, X_held, y_fit, y_held = train_test_split(X, target, test_size=0.2, random_state=seed)
    model = xRFM(random_state=seed, verbose=False, device="cpu")
    model.fit(X_fit, y_fit, X_held, y_held)
    if are_classes(y):
        found = np.asarray(model.predict(X_test)).astype(int).ravel()
        return Prediction(classes[found], np.asarray(model.predict_proba(X_test)), classes)
    predicted = np.asarray(model.predict(X_test)).reshape(-1, 1)
    return Prediction(scaler.inverse_transform(predicted)[:, 0].astype(np.float64))


CONTESTANTS: dict[str, Contestant] = {
    contestant.__name__: contestant
    for contestant in (
        gauss,
        auto,
        auto_calibrated,
        trees,
        trees_early,
        trees_search,
        svm,
        xrfm,
    )
}


CLASSIFIERS_ONLY = (auto_calibrated.__name__,)


def numeric_features(train: Columns, test: Columns) -> tuple[NDArray, NDArray]:
    """Return standardised numbers, gaps, and words one-hot, over √2 so that two words are 1 apart.

    A gap in a number becomes the median and a column of its own that says so; a gap among words is
    a word. What is not in the training rows is zero in every column of its words.
    """
    train, test = _dates_in_parts(train, test)
    parts = [np.empty((len(train), 0))], [np.empty((len(test), 0))]
    if train.numbers:
        Z, Z_test = (np.column_stack([*part.numbers.values()]) for part in (train, test))
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        scaler = StandardScaler().fit(imputer.fit_transform(Z))
        gaps = MissingIndicator(error_on_new=False).fit(Z)
        for found, numbers in zip(parts, (Z, Z_test), strict=True):
            found += [scaler.transform(imputer.transform(numbers)), gaps.transform(numbers)]
    if train.words:
        W, W_test = (np.column_stack([*part.words.values()]) for part in (train, test))
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(W)
        for found, texts in zip(parts, (W, W_test), strict=True):
            found.append(words.transform(texts) / np.sqrt(2))
    return np.hstack(parts[0]), np.hstack(parts[1])


def tree_codes(train: Columns, test: Columns) -> tuple[NDArray, NDArray, list[bool]]:
    """Return numbers, words as codes, and which columns are words; NaN in the gaps of both.

    The same trees as from a DataFrame with pandas categories, which is not needed. A word that is
    not in the training rows is a gap, as it is there.
    """
    train, test = _dates_in_parts(train, test)
    codes = [], []
    for name, column in train.columns.items():
        other = test.columns[name]
        if is_text(column):
            known = np.unique(column[column != ""])[:, None]
            encoder = OrdinalEncoder(
                categories=[known[:, 0]], handle_unknown="use_encoded_value", unknown_value=np.nan
            ).fit(known)
            column, other = (encoder.transform(c[:, None])[:, 0] for c in (column, other))
        codes[0].append(column)
        codes[1].append(other)
    categorical = [is_text(column) for column in train.columns.values()]
    return np.column_stack(codes[0]), np.column_stack(codes[1]), categorical


def _dates_in_parts(train: Columns, test: Columns) -> tuple[Columns, Columns]:
    """Return the same with every date in parts, which models without dates can learn from."""
    result: tuple[dict[str, NDArray], dict[str, NDArray]] = {}, {}
    for name, column in train.columns.items():
        are_dates = is_text(column) and _are_dates(column)
        for found, part in zip(result, (train, test), strict=True):
            own = part.columns[name]
            if are_dates:
                found.update((f"{name} {key}", values) for key, values in _parts_of(_dates(own)))
            else:
                found[name] = own
    return Columns(result[0]), Columns(result[1])


def _are_dates(words: NDArray) -> bool:
    try:
        return any(_dates(words))
    except ValueError:
        return False


def _dates(words: NDArray) -> list[datetime | None]:
    return [datetime.fromisoformat(word) if word else None for word in words.tolist()]


def _parts_of(dates: list[datetime | None]) -> Iterator[tuple[str, NDArray]]:
    """Name what is in a date: where it is in time, in the year and in the day, and the weekday."""
    numbers: dict[str, Callable[[datetime], float]] = {
        "day": lambda date: date.replace(tzinfo=date.tzinfo or UTC).timestamp() / SECONDS_OF_A_DAY,
        "day of year": lambda date: date.timetuple().tm_yday,
        "hour": lambda date: date.hour + date.minute / 60,
    }
    for key, number in numbers.items():
        yield key, np.array([np.nan if date is None else number(date) for date in dates])
    # a word: Sunday is as far from Monday as from Tuesday
    yield "weekday", np.array(["" if date is None else str(date.weekday()) for date in dates])


def _as_people_have_it(columns: Columns) -> Any:
    try:
        return columns.frame()
    except ModuleNotFoundError:  # pandas is optional
        return columns.objects()


def _by_folds(model: Any) -> Mean:
    """Return −``best_score_``, with the standard error that the rows of the folds give it."""
    record = model._recorded()
    rows = record.kept[record.learned.rows]
    found = Mean.of((record.columns[rows] - record.learned.values) ** 2)
    return Mean(-float(model.best_score_), found.noise)


def _trees(y: NDArray, categorical: list[bool], seed: int, **settings: Any) -> Any:
    boosting = HistGradientBoostingClassifier if are_classes(y) else HistGradientBoostingRegressor
    return boosting(categorical_features=categorical, random_state=seed, **settings)


def _boosted(train: Columns, y: NDArray, test: Columns, seed: int, **settings: Any) -> Prediction:
    X, X_test, categorical = tree_codes(train, test)
    return _predicted(_trees(y, categorical, seed, **settings).fit(X, y), X_test, y)


def _predicted(model: Any, X_test: NDArray, y: NDArray) -> Prediction:
    return _classes_of(model, X_test) if are_classes(y) else Prediction(model.predict(X_test))


def _classes_of(model: Any, X_test: Any) -> Prediction:
    return Prediction(model.predict(X_test), model.predict_proba(X_test), model.classes_)


def _score(y: NDArray) -> str:
    return "accuracy" if are_classes(y) else "neg_mean_squared_error"
