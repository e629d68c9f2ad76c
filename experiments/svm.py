"""The opponent: support vector machines, tuned by a grid search on all cores."""

from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from experiments import THREADS
from experiments.data import Rows
from experiments.measure import timed_fit

C = [1.0, 10.0, 100.0]
SVC_GAMMA = np.array([0.1, 1.0, 10.0])  # in units of gamma="scale"
SVR_GAMMA = np.array([0.3, 1.0, 3.0])
EPSILON = [0.03, 0.1, 0.3]  # in standard deviations of the targets


@dataclass(frozen=True)
class Tuned:
    """A search that has been fitted, on which features, and how long it took."""

    search: GridSearchCV
    features: str
    seconds: float

    @property
    def chosen(self) -> str:
        """The point of the grid, as text."""
        return ", ".join(
            f"{key.split('__')[-1]} = {value:.3g}"
            for key, value in self.search.best_params_.items()
        )


def tuned_classifier(train: Rows) -> Tuned:
    """Search on the raw and on the standardised features; the better one in cross-validation wins.

    The winner's seconds count, as if it had been known which one that would be.
    """
    found = [
        _search_classifier(train, "raw", "passthrough"),
        _search_classifier(train, "standardised", StandardScaler()),
    ]
    return max(found, key=lambda tuned: tuned.search.best_score_)


def _search_classifier(train: Rows, features: str, scaler: Any) -> Tuned:
    scaled = train.X if scaler == "passthrough" else clone(scaler).fit_transform(train.X)
    grid = {"svc__C": C, "svc__gamma": SVC_GAMMA * _gamma_scale(scaled)}
    pipeline = Pipeline([("scaler", scaler), ("svc", SVC())])
    return _timed(GridSearchCV(pipeline, grid, cv=3, n_jobs=THREADS), train, features)


def tuned_regressor(train: Rows) -> Tuned:
    """Search on standardised features and standardised targets."""
    svr = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    inner = "svr__regressor__"
    grid = {
        f"{inner}C": C,
        f"{inner}gamma": SVR_GAMMA * _gamma_scale(StandardScaler().fit_transform(train.X)),
        f"{inner}epsilon": EPSILON,
    }
    pipeline = Pipeline([("scaler", StandardScaler()), ("svr", svr)])
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=THREADS, scoring="neg_mean_squared_error")
    return _timed(search, train, "standardised")


def _gamma_scale(X: NDArray) -> float:
    """Return the number behind gamma="scale"."""
    return float(1 / (X.shape[1] * X.var()))


def _timed(search: GridSearchCV, train: Rows, features: str) -> Tuned:
    """Fit with one BLAS thread in each worker, so that they do not get in each other's way."""
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        # The workers start and import scikit-learn before the clock does.
        joblib.Parallel(THREADS)(joblib.delayed(clone)(SVC()) for _ in range(4 * THREADS))
        fitted, seconds = timed_fit(search, train)
    return Tuned(fitted, features, seconds)
