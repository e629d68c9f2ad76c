"""Features in different units beside a kernel of distances: measured, and warned of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, calm_blas
from ..errors import ScaleWarning
from ..kernels import Kernel
from ..kernels.stationary import Stationary
from ..kernels.widths import WidthFamily, with_width
from ..rows import Stream, rows_of
from ..selection import LeaveOneOut, Objective, bracketed_minimum, choose_automatically
from ..solvers import SpectralFactor
from .problem import Sample

# Spreads that differ by more than this factor are in different units.
_FACTOR = 30.0
# Rows that are measured, fewer where they are wide: so many numbers.
_MEASURED, _FEWEST, _NUMBERS = 2000, 100, 2_000_000
# A feature counts if at least this share of the rows, and two of them, differ from its median.
_SHARE = 0.01
#: Rows of a trial where nothing is known of the fit.
TRIED = 300
# Rows of a trial at least and at most, its flops for every cubed row (twenty eigendecompositions
# with vectors), trials at most, and target columns of one.
_FEW, _MANY, _TRIAL_FLOPS, _TRIALS, _COLUMNS = 150, 500, 200.0, 3, 16
# The share by which standardised features have to lower the error, more where a few rows may do so
# by chance (so much over their number), and a share that leaves no doubt.
_GAIN, _CHANCE, _CLEAR = 0.01, 3.0, 0.03
# How far from the median distance a width is looked for, in log σ².
_FARTHEST = 24.0 * float(np.log(2.0))
# Features that are named on either side.
_NAMED = 3

#: The least mean square error, over widths of a kernel, on rows (n, d) and target columns (n, t).
Trial = Callable[[Stationary, Any, Array], float]


def warn_of_scales(
    estimator: Any,
    kernels: Sequence[Kernel],
    X: Any,
    columns: Array,
    kept: Array,
    tried: int = TRIED,
    *,
    relevance: bool = True,
    trial: Trial | None = None,
) -> None:
    """Warn where features are in such different units that standardising them changes the result.

    Two things have to hold. The spreads of features, each measured over the rows that differ from
    its median, differ by more than a factor of 30: features of one unit do not, pixels that are
    dark in nearly all images and words that are in few documents among them. And on a few hundred
    rows the error on rows that are left out, each time at its best width, is lower when features
    are standardised.

    Parameters
    ----------
    estimator : estimator
        With the names of the features, where they have any.
    kernels : sequence of Kernel
        A warning is for one that is a function of the distance with one width for all features,
        or that has such a term.
    X : array (n, d), CSR matrix or Stream
        Of a stream the first rows are looked at, and of others random ones.
    columns : array (n, t)
        Targets.
    kept : array (m,)
        Numbers of the rows of positive weight.
    tried : int
        Rows of a trial; see :func:`trial_rows`.
    relevance : bool
        Whether the estimator takes ``ard=True``.
    trial : callable, optional
        Says what the estimator makes of rows; by default the leave-one-out error at the best λ, of
        a fit with all of them as centers.

    Notes
    -----
    **Cost**: a median for each feature of at most 2,000 rows; where spreads differ, two trials,
    each by default about ten eigendecompositions of the rows that are tried, and twice that again
    where these leave a doubt.
    """
    kernel = next(_one_width_for_all(kernels), None)
    if kernel is None or kept.size < 2 or X.shape[1] < 2:
        return
    rows, chosen = _some_rows(X, kept)
    spreads = feature_spreads(rows)
    if not _apart(spreads):
        return
    trial = trial or partial(_least_error, intercept=estimator.fit_intercept)
    gain, seen = _mean_gain(trial, kernel, rows, columns[chosen], tried)
    if gain < max(_GAIN, _CHANCE / seen):
        return
    remedy = f"Use make_pipeline(StandardScaler(), {type(estimator).__name__}(...))"
    if isinstance(X, Stream):
        remedy = "Open them with transformer=StandardScaler().fit(some_rows)"
    each = ", or a width for every feature, Gaussian(ard=True)" * (
        relevance and not rows_of(X).sparse
    )
    names = getattr(estimator, "feature_names_in_", None)
    warnings.warn(
        f"{_described(kernel, spreads, names)}. On {seen:,} rows, standardised "
        f"features lower the error on left-out rows (root mean square) by {gain:.0%}. "
        f"{remedy}, with StandardScaler from sklearn.preprocessing{each}",
        ScaleWarning,
        stacklevel=2,
    )


def one_width_for_all(kernel: Kernel) -> bool:
    """Whether it is a function of the distance with one width for all features, or has that."""
    return next(_one_width_for_all([kernel]), None) is not None


def warn_of_stream_scales(kernel: Kernel, X: Any, names: Sequence[Any] | None) -> None:
    """Warn where features of the first rows of a stream have very different units.

    There is no trial: with λ given and a width for all features, what hardly counts in a distance
    stays unseen.

    Parameters
    ----------
    kernel : Kernel
        A warning is for one that :func:`one_width_for_all` is true of.
    X : array (n, d) or CSR matrix
        The first rows.
    names : sequence or None
        Of the features.

    Notes
    -----
    **Cost**: a median for each feature.
    """
    term = next(_one_width_for_all([kernel]), None)
    if term is None or X.shape[0] < 2 or X.shape[1] < 2:
        return
    spreads = feature_spreads(X)
    if _apart(spreads):
        each = (
            "" if hasattr(X, "indptr") else ", or start with a width for every feature, sigma=[...]"
        )
        warnings.warn(
            f"{_described(term, spreads, names)}, in the first {X.shape[0]:,} rows. Standardise "
            "rows before they are learned, with StandardScaler().fit(some_rows) from "
            f"sklearn.preprocessing{each}",
            ScaleWarning,
            stacklevel=2,
        )


def _apart(spreads: Array) -> bool:
    """Whether those that are known differ by more than features of one unit do."""
    known = spreads[spreads > 0]
    return known.size > 1 and bool(known.max() > _FACTOR * known.min())


def _described(kernel: Stationary, spreads: Array, names: Sequence[Any] | None) -> str:
    """Which features a kernel sees, and which it hardly does."""
    large = spreads > spreads.max() / _FACTOR
    return (
        f"the features have very different units: a {type(kernel).__name__} kernel, with one width "
        f"for all of them, sees {_named(names, spreads, large)}, but hardly "
        f"{_named(names, spreads, (spreads > 0) & ~large)}"
    )


def _named(names: Sequence[Any] | None, spreads: Array, which: Array) -> str:
    """A few features by name, with their spreads: the most extreme ones first."""
    features = np.flatnonzero(which)
    order = np.argsort(spreads[features], kind="stable")
    features = features[order[::-1] if which[np.argmax(spreads)] else order]
    parts: list[str] = []
    for j in features[:_NAMED]:
        name = f"column {j}" if names is None else repr(str(names[j]))
        size = f"{spreads[j]:,.0f}" if 1e3 <= spreads[j] < 1e9 else f"{spreads[j]:.3g}"
        parts.append(f"{name} ({'' if parts else 'spread '}{size})")
    more = features.size - len(parts)
    if more:
        parts.append(f"{more:,} other{'s' * (more > 1)}")
    return " and ".join([*([", ".join(parts[:-1])] if parts[:-1] else []), parts[-1]])


def trial_rows(flops: float) -> int:
    """Rows of a trial beside a fit of so many flops: it should not take longer than that."""
    return int(np.clip(np.cbrt(flops / _TRIAL_FLOPS), _FEW, _MANY))


def _one_width_for_all(kernels: Sequence[Kernel]) -> Iterator[Stationary]:
    """Kernels of distances, and such terms, in which a feature has no width of its own."""
    for kernel in kernels:
        for term in (kernel, *kernel.get_params(deep=True).values()):
            if not isinstance(term, Stationary) or getattr(term, "ard", False):
                continue
            if term.metric is not None:  # which says how much a feature counts
                continue
            if isinstance(term.sigma, str) or np.ndim(term.sigma) == 0:
                yield term


def _some_rows(X: Any, kept: Array) -> tuple[Any, Array]:
    """A few rows in random order, in memory, and their numbers."""
    size = int(np.clip(_NUMBERS // X.shape[1], _FEWEST, _MEASURED))
    rng = np.random.RandomState(0)  # its own: nothing else that is drawn changes
    if isinstance(X, Stream):  # nothing behind these is read
        found = rows_of(X)[kept[:size]]
        order = rng.permutation(found.shape[0])
        return found.X[order], kept[order]
    chosen = rng.permutation(kept)[:size] if kept.size <= size else rng.choice(kept, size, False)
    return X[chosen], chosen


def feature_spreads(X: Any) -> Array:
    """How far features (d,) are from their median, in the root mean square of rows that are not.

    Zero for those that hardly any row of ``X`` (n, d), an array or a CSR matrix, has a say in. A
    column of zeros and ones has a spread of one, however rare ones are; one that is zero in most
    rows has the size of its other numbers.

    **Cost**: a median for each feature; of sparse rows for those that most rows have.
    """
    n, d = X.shape
    if not hasattr(X, "indptr"):
        return _spreads(np.asarray(X, dtype=np.float64))
    there = X.data != 0
    values, features = X.data[there].astype(np.float64), X.indices[there]
    counts = np.bincount(features, minlength=d)
    squares = np.bincount(features, weights=np.square(values), minlength=d)
    found = np.sqrt(squares / np.maximum(counts, 1))
    found[counts < _least_rows(n)] = 0.0
    often = np.flatnonzero(2 * counts >= n)  # of others the median is zero
    if often.size:
        found[often] = _spreads(rows_of(X).columns(often).dense().astype(np.float64))
    return found


def _spreads(X: Array) -> Array:
    away = X - np.median(X, axis=0)
    counts = np.count_nonzero(away, axis=0)
    found = np.sqrt(np.square(away).sum(axis=0) / np.maximum(counts, 1))
    return np.where(counts >= _least_rows(X.shape[0]), found, 0.0)


def _least_rows(n: int) -> int:
    return max(2, int(np.ceil(_SHARE * n)))


def _mean_gain(
    trial: Trial, kernel: Stationary, X: Any, columns: Array, tried: int
) -> tuple[float, int]:
    """The mean gain of a few trials, until there is no doubt, and the rows they have seen."""
    gains: list[float] = []
    for start in range(0, max(1, X.shape[0] - tried + 1), tried)[:_TRIALS]:
        part = slice(start, start + tried)
        gains.append(_gain(trial, kernel, X[part], columns[part]))
        if abs(np.mean(gains)) > _CLEAR:
            break
    return float(np.mean(gains)), min(tried * len(gains), X.shape[0])


def _gain(trial: Trial, kernel: Stationary, X: Any, columns: Array) -> float:
    """The share by which standardised features lower the error of a trial; below zero: raise it.

    Root mean square errors, of target columns (n, t) in units of their own spread.
    """
    few = np.linspace(0, columns.shape[1] - 1, min(columns.shape[1], _COLUMNS)).astype(int)
    Y = columns[:, few].astype(np.float64)
    Y = Y[:, np.ptp(Y, axis=0) > 0]
    if not Y.shape[1]:
        return 0.0
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    X = X.astype(np.float64)
    as_they_are = trial(kernel, X, Y)
    if not 0 < as_they_are < np.inf:
        return 0.0
    from sklearn.preprocessing import StandardScaler  # imported late: most fits never need it

    rows = rows_of(X)
    deviations = StandardScaler(with_mean=not rows.sparse).fit(X).scale_
    standardised = rows.standardised(rows.origin(rows.mean()), deviations).X
    return 1.0 - float(np.sqrt(trial(kernel, standardised, Y) / as_they_are))


def _least_error(kernel: Stationary, X: Any, Y: Array, intercept: bool) -> float:
    """The least mean square leave-one-out error over widths and λ."""
    free = with_width(kernel, "sigma", "auto")
    unit = kernel.median_distance(X, np.random.RandomState(0))
    family = WidthFamily(free, "sigma", X, unit)
    objective = Objective(LeaveOneOut(), Y, 1.0, None, False)
    least = np.inf

    def error(log_square: float) -> float:
        nonlocal least
        scale = float(np.exp(0.5 * log_square))
        sample = Sample(X, Y, None, intercept, family.at(scale))
        factor = SpectralFactor(sample.system(K=family.matrix(scale)))
        found = -float(np.max(choose_automatically(objective, factor).scores))
        least = min(least, found)
        return found

    with calm_blas(X.shape[0]):
        bracketed_minimum(error, 0.0, -_FARTHEST, _FARTHEST, scan=1, worth=2e-3)
    return least
