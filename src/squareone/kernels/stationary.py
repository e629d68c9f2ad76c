"""Kernels of the distance between rows: Gaussian, Matérn and Laplacian."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array, unit_near
from ..devices import namespace
from ..rows import Rows, rows_of
from ..rows.base import Lifted
from .base import Kernel, check_positive

__all__ = ["Gaussian", "Laplacian", "Matern", "Stationary"]

# What the width is called elsewhere.
_WIDTHS = ("bandwidth", "length_scale", "lengthscale", "width")

# Rows whose pairwise distances give the median: enough for two digits, at no cost worth counting.
MEDIAN_ROWS = 512

# Where |z|²/2 + |z'|²/2 is below this, −|z − z'|²/2 can be above zero by a few dozen units in the
# last place only, which is not worth a pass over the values.
_NEAR = 32.0


class Stationary(Kernel):
    """A decreasing function of distance / sigma, equal to one at distance zero.

    It is a function of an exponent that is zero at distance zero and scales with sigma by a power:
    from the exponents at one width follow the kernel values at any other.

    With a metric it is the same function of the rows in other coordinates: XR for an array R
    (d, r), or features times weights (d,).
    """

    sigma: float | Array | str
    metric: Any

    #: How many axes a metric may have.
    _metric_axes: tuple[int, ...] = (1, 2)

    peak_by_rows = True
    fills_anywhere = True

    #: The exponent at width s is that at width 1 over s to this power.
    power: int

    def check_parameters(self) -> None:
        if isinstance(self.sigma, str):
            if self.sigma not in ("auto", "median"):
                msg = (
                    f"{type(self).__name__}(sigma={self.sigma!r}): sigma must be a finite number "
                    'above zero, "auto" or "median"'
                )
                raise ValueError(msg)
        else:
            check_positive(self, "sigma", self.sigma)
        if self.metric is not None and not self.learns_metric:
            self._check_metric()

    @property
    def learns_metric(self) -> bool:
        """Whether the metric is to be learned by the estimator."""
        return isinstance(self.metric, str) and self.metric == "learned"

    def _check_metric(self) -> None:
        """Refuse what is no metric; whether it has the features of the rows is not known yet."""
        expected = 'a weight for every feature, an array of shape (d,), or "learned"'
        if 2 in self._metric_axes:
            expected = f"an array of shape (d, r), or {expected},"
        wrong = f"{type(self).__name__}(metric=...): {expected} is expected"
        try:
            metric = np.asarray(self.metric)
        except ValueError as error:  # lists of different lengths
            msg = f"{wrong}: {error}"
            raise ValueError(msg) from error
        if metric.dtype.kind in "US":
            msg = f"{wrong}, got {self.metric!r}"
        elif metric.ndim not in self._metric_axes or metric.dtype.kind not in "iuf":
            msg = f"{wrong}, got one of shape {metric.shape} of {metric.dtype}"
        elif metric.size == 0:
            msg = f"{wrong}, got one of shape {metric.shape}: give it at least one column"
        elif not np.isfinite(metric).all():
            msg = f"{wrong}, and this one has NaN or infinity"
        elif not metric.any():
            msg = f"{wrong}, and the numbers of this one are all zero: every row would be alike"
        elif metric.ndim == 1 and metric.min() < 0:
            msg = f"{wrong}, and a weight is below zero"
        else:
            return
        raise ValueError(msg)

    def resolve(self, X: Any, rng: np.random.RandomState) -> Kernel:
        self.check_parameters()
        kernel = clone(self)
        if self.learns_metric:
            msg = (
                f"{self!r}: a metric is learned by RLSRegressor and RLSClassifier, and the "
                "tables' estimators. Elsewhere give the array that one of these has found"
            )
            raise ValueError(msg)
        if self.metric is not None:
            kernel.set_params(metric=np.array(self.metric, dtype=np.float64, order="C"))
            if kernel.metric.shape[0] != X.shape[1]:
                msg = (
                    f"{type(self).__name__} has a metric of shape {kernel.metric.shape}, for rows "
                    f"of {kernel.metric.shape[0]} features, and X of shape {X.shape} has "
                    f"{X.shape[1]}: one row of the metric for every feature is expected"
                )
                raise ValueError(msg)
        if isinstance(self.sigma, str) and self.sigma == "median":
            kernel.set_params(sigma=kernel.median_distance(X, rng))
        return kernel

    @property
    def widths(self) -> float | Array:
        """Sigma once it is a number, or one for every feature (d,)."""
        assert not isinstance(self.sigma, str)
        return self.sigma

    def median_distance(self, X: Any, rng: np.random.RandomState) -> float:
        """Median of the distances above zero among at most 512 rows; 1 if all rows are equal."""
        n = X.shape[0]
        some = np.sort(rng.choice(n, MEDIAN_ROWS, replace=False)) if n > MEDIAN_ROWS else None
        rows = rows_of(X)[slice(None) if some is None else some]  # in memory, wherever they are
        rows = rows.standardised(rows.origin(rows.mean()), 1.0)
        rows, origin = self.in_metric(rows.X, np.zeros(X.shape[1]))
        unit = unit_near(rows.peak())
        rows = rows.standardised(origin, unit)
        distances = self.distances(rows)[np.triu_indices(rows.shape[0], 1)]
        distances = distances[distances > 0]
        return float(np.median(distances)) * unit if distances.size else 1.0

    def in_metric(self, X: Any, origin: Array) -> tuple[Rows, Array]:
        """Rows ``X`` (n, d) in the coordinates that distances are taken in, and the origin there.

        Without a metric these are the features as they are. XR is dense, (n, r), whatever the rows
        are, and of rows less their origin, which costs no digits then; with weights sparse rows
        stay sparse.

        **Cost**: r multiplications for every number stored; memory for the result.
        """
        rows = rows_of(X)
        if self.metric is None:
            return rows, origin
        metric = np.asarray(self.metric, rows.dtype)
        nowhere = np.zeros(metric.shape[-1], rows.dtype)
        if metric.ndim == 1:
            return rows.standardised(origin, 1.0).scaled(metric), nowhere
        return rows_of(rows.times(metric, origin)), nowhere

    @classmethod
    def _meant(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        if name in _WIDTHS:
            return f"the width is called sigma: {cls.__name__}(sigma={value!r})"
        return ""

    @classmethod
    def _instead_of_gamma(cls, gamma: Any, rule: str, sigma: Callable[[float], float]) -> str:
        """Advice for who has a ``gamma``, which is 1 over something of sigma by the ``rule``."""
        example = f'{cls.__name__}(sigma="auto") is chosen together with alpha'
        if isinstance(gamma, Real) and 0.0 < float(gamma) < np.inf:
            example = f"gamma={gamma:g} is {cls.__name__}(sigma={sigma(float(gamma)):.4g})"
        return f"the width is called sigma, with {rule}: {example}"

    @staticmethod
    @abstractmethod
    def distances(rows: Rows) -> Array:
        """All distances (m, m) between a few rows (m, d), in the norm of this kernel."""

    def fill(self, left: Any, right: Any, out: Array) -> None:
        self.exponents(left, right, out)
        self.of_exponents(out)

    @abstractmethod
    def exponents(self, left: Any, right: Any, out: Array) -> None:
        """Write the exponents between prepared rows into ``out``: zero or below."""

    @abstractmethod
    def of_exponents(self, out: Array) -> None:
        """Overwrite exponents by kernel values."""

    def diagonal(self, X: Any) -> Array:
        return np.ones(X.shape[0], X.dtype)

    def peak(self, X: Any) -> float:
        """A bound on the squared distances in units of sigma."""
        farthest, count, largest = 2.0 * rows_of(X).peak(), X.shape[1], 0.0
        narrowest = np.min(np.asarray(self.widths, dtype=np.float64))
        with np.errstate(over="ignore"):
            if self.metric is not None:
                sizes = np.abs(self.metric)
                count, largest = sizes.shape[-1], float(sizes.max())
                farthest *= float(np.max(sizes if sizes.ndim == 1 else sizes.sum(axis=0)))
            return max(float(count * np.square(farthest / narrowest)), largest)


class _Euclidean(Stationary):
    """Of the Euclidean distance, by one matrix product per tile.

    With rows z = (x − origin)/σ and their squares beside them the product is −|z − z'|²/2 (see
    :meth:`~squareone.rows.base.Rows.lifted`). That is the exponent.
    """

    power = 2

    @staticmethod
    def distances(rows: Rows) -> Array:
        squares = rows.squares()
        products = np.empty((squares.size, squares.size))
        rows.scaled(2.0).cross(rows, products)
        D2 = squares[:, None] + squares - products
        # what is left of equal rows by rounding is not a distance
        D2[1e-12 * (squares[:, None] + squares) > D2] = 0.0
        return np.sqrt(D2)

    def left(self, X: Any, origin: Array) -> Lifted:
        rows, origin = self.in_metric(X, origin)
        return rows.lifted(origin, self.widths, square_at=0)

    def right(self, Y: Any, origin: Array) -> Lifted:
        rows, origin = self.in_metric(Y, origin)
        return rows.lifted(origin, self.widths, square_at=1)

    def exponents(self, left: Lifted, right: Lifted, out: Array) -> None:
        left.cross(right, out)
        # rounding may leave a square below zero
        namespace(out).clip(out, None, 0.0, out=out)


class Gaussian(_Euclidean):
    """The Gaussian kernel, k(x, x') = exp(−‖x − x'‖² / (2σ²)).

    scikit-learn's ``gamma`` is 1 / (2σ²).

    Parameters
    ----------
    sigma : float, array of shape (d,), "auto" or "median", default="auto"
        The width, above zero, or one for every feature. ``"auto"`` is chosen by the estimator,
        together with λ; ``"median"`` takes the median distance between training rows.
    ard : bool, default=False
        With ``sigma="auto"``, choose a width for every feature (automatic relevance determination),
        by the gradient of the leave-one-out error on some hundred rows. Worth trying where features
        differ in use; with few rows it may do harm.
    metric : array of shape (d, r) or (d,), "learned" or None, default=None
        R: distances are those of the rows XR, ‖x − x'‖² becomes (x − x')ᵀRRᵀ(x − x'). With a weight
        at or above zero for every feature, (d,), those of features times their weights. XR is
        dense, n·r numbers, also where rows are sparse. Not together with ``ard`` or several widths.
        ``"learned"``: R is learned by the estimator, in rounds from the gradients of the fit, as
        many as predict best on rows that they have not seen. For a kernel by itself, dense rows.

    Examples
    --------
    >>> from squareone.kernels import Gaussian
    >>> Gaussian(sigma=1.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])

    Only the difference of two features counts:

    >>> Gaussian(sigma=1.0, metric=[[1.0], [-1.0]])([[0.0, 0.0], [5.0, 5.0], [2.0, 0.0]]).round(4)
    array([[1.    , 1.    , 0.1353],
           [1.    , 1.    , 0.1353],
           [0.1353, 0.1353, 1.    ]])
    """

    steepness = 1.0

    def __init__(
        self,
        sigma: float | Array | str = "auto",
        ard: bool = False,
        metric: Array | str | None = None,
    ) -> None:
        self.sigma = sigma
        self.ard = ard
        self.metric = metric

    @classmethod
    def _meant(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        if name != "gamma":
            return super()._meant(name, value, others)
        rule = "gamma = 1/(2·sigma²)"
        return cls._instead_of_gamma(value, rule, lambda gamma: 1.0 / np.sqrt(2.0 * gamma))

    def check_parameters(self) -> None:
        several = not isinstance(self.sigma, str) and np.ndim(self.sigma) > 0
        if several:
            widths = np.asarray(self.sigma)
            fine = widths.ndim == 1 and widths.size > 0 and widths.dtype.kind in "iuf"
            if not fine or not (np.isfinite(widths).all() and (widths > 0).all()):
                msg = (
                    f"Gaussian(sigma={self.sigma!r}): one width, or a 1-D array of finite widths "
                    "above zero, one for every feature, is expected"
                )
                raise ValueError(msg)
        else:
            super().check_parameters()
        if not isinstance(self.ard, bool | np.bool_):
            msg = f"Gaussian(ard={self.ard!r}): True or False is expected"
            raise ValueError(msg)
        if self.metric is not None and (self.ard or several):
            has = "ard=True" if self.ard else "a width for every feature"
            msg = (
                f"Gaussian(metric=...) with {has}: beside a metric there is one width, for the "
                "metric says how much features count. Leave one of the two out"
            )
            raise ValueError(msg)
        if self.ard and not several and self.sigma != "auto":
            msg = (
                f"Gaussian(sigma={self.sigma!r}, ard=True): a width for every feature is found "
                'with sigma="auto"'
            )
            raise ValueError(msg)

    def resolve(self, X: Any, rng: np.random.RandomState) -> Kernel:
        kernel = super().resolve(X, rng)
        if self.ard and isinstance(self.sigma, str) and rows_of(X).sparse:
            msg = (
                f"Gaussian(ard=True) searches a width for every feature, and X is a sparse matrix "
                f"of {X.shape[1]:,} features, for which that is not done: use one width "
                "(ard=False), or dense rows of fewer features"
            )
            raise ValueError(msg)
        if not isinstance(self.sigma, str) and np.ndim(self.sigma) > 0:
            if len(self.sigma) != X.shape[1]:  # type: ignore[arg-type]
                msg = (
                    f"Gaussian has {len(self.sigma)} widths, and X has "  # type: ignore[arg-type]
                    f"{X.shape[1]} features: one width for every feature is expected"
                )
                raise ValueError(msg)
            kernel.set_params(sigma=np.array(self.sigma, dtype=np.float64))
        return kernel

    def fill(self, left: Lifted, right: Lifted, out: Array) -> None:
        if left.reach + right.reach > _NEAR:
            super().fill(left, right, out)
            return
        left.cross(right, out)  # a value above one is so by rounding, as those below may be
        self.of_exponents(out)

    def of_exponents(self, out: Array) -> None:
        namespace(out).exp(out, out=out)


class Matern(_Euclidean):
    """The Matérn kernel of smoothness ν = 1/2, 3/2 or 5/2, with r = ‖x − x'‖ / σ.

    k = exp(−r) for ν = 1/2, (1 + √3 r) exp(−√3 r) for 3/2, (1 + √5 r + 5r²/3) exp(−√5 r) for 5/2.

    Parameters
    ----------
    sigma : float, "auto" or "median", default="auto"
        The width, above zero. ``"auto"`` is chosen by the estimator, together with λ;
        ``"median"`` takes the median distance between training rows.
    nu : {0.5, 1.5, 2.5}, default=1.5
        The smoothness.
    metric : array of shape (d, r) or (d,), "learned" or None, default=None
        R: distances are those of the rows XR, or with a weight at or above zero for every feature,
        (d,), of features times their weights. XR is dense, n·r numbers, also where rows are sparse.
        ``"learned"``: R is learned by the estimator, in rounds from the gradients of the fit, as
        many as predict best on rows that they have not seen. For a kernel by itself, dense rows.

    Examples
    --------
    >>> from squareone.kernels import Matern
    >>> Matern(sigma=1.0, nu=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(
        self, sigma: float | str = "auto", nu: float = 1.5, metric: Array | str | None = None
    ) -> None:
        self.sigma = sigma
        self.nu = nu
        self.metric = metric

    def check_parameters(self) -> None:
        super().check_parameters()
        if not isinstance(self.nu, Real) or self.nu not in (0.5, 1.5, 2.5):
            msg = f"Matern(nu={self.nu!r}): nu must be 0.5, 1.5 or 2.5"
            raise ValueError(msg)

    @property
    def steepness(self) -> float:  # type: ignore[override]
        """That of the exponential of the distance has no bound: it is where rows coincide."""
        return {0.5: np.inf, 1.5: 3.0, 2.5: 5.0 / 3.0}[self.nu]

    def of_exponents(self, out: Array) -> None:
        xp = namespace(out)
        out *= -4.0 * self.nu  # s² with s = √(2ν) r
        xp.sqrt(out, out=out)
        if self.nu == 0.5:
            xp.negative(out, out=out)
            xp.exp(out, out=out)
            return
        polynomial = out + 1.0
        if self.nu == 2.5:
            polynomial += xp.square(out) / 3.0
        xp.negative(out, out=out)
        xp.exp(out, out=out)
        out *= polynomial


class Laplacian(Stationary):
    """The Laplacian kernel, k(x, x') = exp(−‖x − x'‖₁ / σ), of the sum of absolute differences.

    Parameters
    ----------
    sigma : float, "auto" or "median", default="auto"
        The width, above zero. ``"auto"`` is chosen by the estimator, together with λ;
        ``"median"`` takes the median L1 distance between training rows.
    metric : array of shape (d,), "learned" or None, default=None
        A weight w at or above zero for every feature: the distance is Σ_j w_j ``|x_j − x'_j|``.
        ``"learned"``: w is learned by the estimator, in rounds from the gradients of the fit, as
        many as predict best on rows that they have not seen. For a kernel by itself, dense rows.

    Examples
    --------
    >>> from squareone.kernels import Laplacian
    >>> Laplacian(sigma=1.0)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    >>> Laplacian(sigma=1.0, metric=[2.0, 0.0])([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    _metric_axes = (1,)

    def __init__(self, sigma: float | str = "auto", metric: Array | str | None = None) -> None:
        self.sigma = sigma
        self.metric = metric

    @classmethod
    def _meant(cls, name: str, value: Any, others: Mapping[str, Any]) -> str:
        if name != "gamma":
            return super()._meant(name, value, others)
        return cls._instead_of_gamma(value, "gamma = 1/sigma", lambda gamma: 1.0 / gamma)

    @staticmethod
    def distances(rows: Rows) -> Array:
        return rows.city_block(rows)

    power = 1

    def left(self, X: Any, origin: Array) -> Rows:
        # centred before it is rounded by the division: far from zero that costs digits
        rows, origin = self.in_metric(X, origin)
        return rows.standardised(origin, self.widths)

    def right(self, Y: Any, origin: Array) -> Rows:
        return self.left(Y, origin)

    def exponents(self, left: Rows, right: Rows, out: Array) -> None:
        out[...] = left.city_block(right)
        out *= -1.0

    def of_exponents(self, out: Array) -> None:
        namespace(out).exp(out, out=out)
