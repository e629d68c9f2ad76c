"""Probabilities from decision values, by functions fitted to leave-one-out values.

Decision values are columns (n, c): one for two classes (above zero is the second), one per label,
or, if the classes are *exclusive*, one per class of more than two, the largest of which wins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from ..arrays import Array
from .logistic import log_odds_line, softmax_slope


def fit_calibration(
    method: str, values: Array, truth: Array, weights: Array | None = None, *, exclusive: bool
) -> Calibration:
    """Fit a calibration to values of rows that did not take part in them.

    Parameters
    ----------
    method : {"temperature", "platt", "isotonic", "linear"}
        See :class:`Temperature`, :class:`Platt`, :class:`Isotonic` and :class:`Linear`.
    values : array (n, c)
        Leave-one-out decision values.
    truth : array (n, c) of bool
        Whether a row is of that class, or has that label.
    weights : array (n,) or None
        A row of weight two counts as two rows, one of weight zero as none.
    exclusive : bool
        Whether the columns are classes, of which each row has one.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.models import fit_calibration
    >>> values = np.array([[-0.8], [-0.5], [0.1], [0.6], [0.9], [-0.2]])
    >>> truth = np.array([[False], [False], [False], [True], [True], [True]])
    >>> calibration = fit_calibration("temperature", values, truth, exclusive=False)
    >>> calibration.probabilities(np.array([[0.5]])).item()
    0.79
    """
    w = np.ones(values.shape[0]) if weights is None else weights.astype(np.float64)
    kept = w > 0.0
    f = values[kept].astype(np.float64)
    return _method(method).fit(f, truth[kept], w[kept], exclusive=exclusive)


def from_state(method: str, arrays: Mapping[str, Array], *, exclusive: bool) -> Calibration:
    """The calibration whose :meth:`~Calibration.state` gave ``arrays``."""
    kind = _method(method)
    expected = kind.array_names()
    if set(arrays) != set(expected):
        msg = (
            f"a calibration by {method!r} has the arrays {expected}, but {sorted(arrays)} came: "
            "give what its state() returned"
        )
        raise ValueError(msg)
    return kind(exclusive, **arrays)


@dataclass(frozen=True, repr=False)
class Calibration(ABC):
    """A function from decision values to probabilities, each column by itself.

    Where classes are exclusive, the columns of a row are divided by their sum; if that is zero,
    all classes are equally probable.

    Attributes
    ----------
    exclusive : bool
    """

    exclusive: bool

    @classmethod
    @abstractmethod
    def fit(cls, values: Array, truth: Array, weights: Array, *, exclusive: bool) -> Self:
        """See :func:`fit_calibration`; ``values`` are in float64."""

    @abstractmethod
    def _columns(self, values: Array) -> Array:
        """Values (m, c) to numbers in [0, 1] (m, c), not yet divided by their sum; in float64."""

    def probabilities(self, values: Array) -> Array:
        """Probabilities (m, c), in the precision of ``values`` (m, c).

        **Cost**: mc evaluations of the function.
        """
        with np.errstate(over="ignore"):  # the log-odds of a huge value are infinite: it is certain
            p = self._columns(values.astype(np.float64))
        if self.exclusive:
            total = p.sum(axis=1, keepdims=True)
            uniform = np.full_like(p, 1.0 / p.shape[1])
            p = np.divide(p, total, out=uniform, where=total > 0.0)
        return p.astype(values.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(exclusive={self.exclusive})"

    @classmethod
    def array_names(cls) -> list[str]:
        """The names of the arrays that say everything, with ``exclusive``."""
        return [field.name for field in fields(cls) if field.name != "exclusive"]

    def state(self) -> dict[str, Array]:
        """These arrays, for :func:`from_state`."""
        return {name: getattr(self, name) for name in self.array_names()}


@dataclass(frozen=True, repr=False)
class Temperature(Calibration):
    """Softmax(a·f), or 1/(1 + exp(−a_j f_j)) where columns are not exclusive.

    The largest value has the largest probability, and a probability exceeds one half where the
    value exceeds zero, so that predictions and probabilities agree. See
    :func:`~squareone.models.logistic.softmax_slope` for the fit.

    Attributes
    ----------
    slopes : array (1,) or (c,)
        a > 0: one for exclusive classes, otherwise one per column. The temperature is 1/a.

    References
    ----------
    .. [1] Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural networks", 2017.
    """

    slopes: Array

    @classmethod
    def fit(cls, values: Array, truth: Array, weights: Array, *, exclusive: bool) -> Self:
        """See :func:`fit_calibration`."""
        if exclusive:
            return cls(exclusive, np.array([softmax_slope(values, truth, weights)]))
        # softmax(a·f, 0) is (p, 1 − p)
        pairs = [np.stack([f, np.zeros_like(f)], axis=1) for f in values.T]
        sides = [np.stack([t, ~t], axis=1) for t in truth.T]
        slopes = [softmax_slope(f, t, weights) for f, t in zip(pairs, sides, strict=True)]
        return cls(exclusive, np.array(slopes))

    def _columns(self, values: Array) -> Array:
        from scipy.special import expit  # imported late: it would slow `import squareone`

        if not self.exclusive:
            return expit(self.slopes * values)
        return np.exp(self.slopes * (values - values.max(axis=1, keepdims=True)))

    def probabilities(self, values: Array) -> Array:
        """Probabilities (m, c); those that rounding has made equal differ in the last digit."""
        p = super().probabilities(values)
        one = p.dtype.type(1)
        if self.exclusive:
            won = values == values.max(axis=1, keepdims=True)
            level = p.max(axis=1, keepdims=True)
            rounded = p.argmax(axis=1) != values.argmax(axis=1)
            return np.where(won & rounded[:, None], np.nextafter(level, one), p)
        return np.where((values > 0) & (p <= 0.5), np.nextafter(one / 2, one), p)


@dataclass(frozen=True, repr=False)
class Platt(Calibration):
    """1/(1 + exp(−a_j f_j − b_j)), with Platt's smoothed labels.

    An offset serves classes of unequal size, but a probability may then exceed one half where the
    value does not exceed zero. See :func:`~squareone.models.logistic.log_odds_line` for the fit.

    Attributes
    ----------
    slopes, offsets : array (c,)
        a and b of each column.
    """

    slopes: Array
    offsets: Array

    @classmethod
    def fit(cls, values: Array, truth: Array, weights: Array, *, exclusive: bool) -> Self:
        """See :func:`fit_calibration`."""
        lines = [log_odds_line(f, t, weights) for f, t in zip(values.T, truth.T, strict=True)]
        slopes, offsets = np.array(lines).T
        return cls(exclusive, slopes, offsets)

    def _columns(self, values: Array) -> Array:
        from scipy.special import expit  # imported late: it would slow `import squareone`

        return expit(self.slopes * values + self.offsets)


@dataclass(frozen=True, repr=False)
class Isotonic(Calibration):
    """The ascending function of least squares: any shape, but it takes many rows to know it.

    Attributes
    ----------
    knots, levels : array (k₁ + … + k_c,)
        The columns one after the other: values, ascending, and the probability at each. It is
        linear in between and constant beyond.
    counts : array (c,)
        The k_j: how many knots belong to each column.
    """

    knots: Array
    levels: Array
    counts: Array

    @classmethod
    def fit(cls, values: Array, truth: Array, weights: Array, *, exclusive: bool) -> Self:
        """See :func:`fit_calibration`."""
        from sklearn.isotonic import IsotonicRegression  # late: it would slow `import squareone`

        knots, levels = [], []
        for f, t in zip(values.T, truth.T, strict=True):
            # It takes values closer than 1e-15 for equal; a power of two changes no digit.
            unit = np.ldexp(1.0, np.frexp(np.abs(f).max())[1] - 1)
            curve = IsotonicRegression(y_min=0.0, y_max=1.0).fit(f / unit, t, weights)
            knots.append(curve.X_thresholds_ * unit)
            levels.append(curve.y_thresholds_)
        counts = np.array([k.size for k in knots])
        return cls(exclusive, np.concatenate(knots), np.concatenate(levels), counts)

    def _columns(self, values: Array) -> Array:
        ends = np.cumsum(self.counts)[:-1]
        curves = zip(np.split(self.knots, ends), np.split(self.levels, ends), strict=True)
        return np.stack(
            [np.interp(f, *curve) for f, curve in zip(values.T, curves, strict=True)], axis=1
        )


@dataclass(frozen=True, repr=False)
class Linear(Calibration):
    """(1 + f)/2 within [0, 1]: what least squares estimates from ±1; nothing is fitted."""

    @classmethod
    def fit(cls, values: Array, truth: Array, weights: Array, *, exclusive: bool) -> Self:
        """See :func:`fit_calibration`."""
        return cls(exclusive)

    def _columns(self, values: Array) -> Array:
        return np.clip((1.0 + values) / 2.0, 0.0, 1.0)


#: The calibrations by name.
CALIBRATIONS: dict[str, type[Calibration]] = {
    "temperature": Temperature,
    "platt": Platt,
    "isotonic": Isotonic,
    "linear": Linear,
}


def _method(name: str) -> type[Calibration]:
    if name not in CALIBRATIONS:
        msg = f"calibration {name!r} is unknown: one of {', '.join(CALIBRATIONS)} is expected"
        raise ValueError(msg)
    return CALIBRATIONS[name]
