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
from .logistic import log_odds_line, number_of_rows, softmax_line, softmax_slope


def fit_calibration(
    method: str,
    values: Array,
    truth: Array,
    weights: Array | None = None,
    *,
    exclusive: bool,
    class_weighted: bool = False,
) -> Calibration:
    """Fit a calibration to values of rows that did not take part in them.

    Probabilities increase strictly with the values of their column, whatever the values are: where
    these say nothing, or lean against the truth, probabilities are next to equal and still in the
    order of the values.

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
    class_weighted : bool
        Whether the classes had weights, which are not in ``weights``, in the fit that the values
        come from: then a value of zero does not mean that classes are equally probable.

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
    kind = _method(method)
    w = np.ones(values.shape[0]) if weights is None else weights.astype(np.float64)
    kept = w > 0.0
    f = values[kept].astype(np.float64)
    return kind.fit(f, truth[kept], w[kept], exclusive=exclusive, class_weighted=class_weighted)


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

    It increases strictly in every column, so that rows are in the same order by their probabilities
    as by their values. Where classes are exclusive, the columns of a row are divided by their sum;
    if that is zero, all classes are equally probable.

    Attributes
    ----------
    exclusive : bool
    """

    exclusive: bool

    @classmethod
    @abstractmethod
    def fit(
        cls,
        values: Array,
        truth: Array,
        weights: Array,
        *,
        exclusive: bool,
        class_weighted: bool,
    ) -> Self:
        """See :func:`fit_calibration`; ``values`` are in float64."""

    @abstractmethod
    def _columns(self, values: Array) -> Array:
        """Values (m, c) to numbers in [0, 1] (m, c), not yet divided by their sum; in float64."""

    def probabilities(self, values: Array) -> Array:
        """Probabilities (m, c) of ``values`` (m, c).

        In float64 whatever the values are: next to one, float32 would make probabilities equal
        whose values are not.

        **Cost**: mc evaluations of the function.
        """
        with np.errstate(over="ignore"):  # the log-odds of a huge value are infinite: it is certain
            p = self._columns(values.astype(np.float64))
        if self.exclusive:
            total = p.sum(axis=1, keepdims=True)
            uniform = np.full_like(p, 1.0 / p.shape[1])
            p = np.divide(p, total, out=uniform, where=total > 0.0)
        return p

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

    Where classes had weights they cannot agree: predictions are meant to be another class than the
    most probable one. Then it is softmax(a·(f − c) + b), whose mean probabilities are the shares of
    the classes; see :func:`~squareone.models.logistic.softmax_line`.

    Attributes
    ----------
    slopes : array (1,) or (c,)
        a > 0: one for exclusive classes, otherwise one per column. The temperature is 1/a.
    centres, offsets : array (c,)
        c and b; zero where classes had no weights.

    References
    ----------
    .. [1] Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural networks", 2017.
    """

    slopes: Array
    centres: Array
    offsets: Array

    @classmethod
    def fit(
        cls,
        values: Array,
        truth: Array,
        weights: Array,
        *,
        exclusive: bool,
        class_weighted: bool,
    ) -> Self:
        """See :func:`fit_calibration`."""
        if exclusive:
            if class_weighted:
                slope, centres, offsets = softmax_line(values, truth, weights)
                return cls(exclusive, np.array([slope]), centres, offsets)
            slopes = [softmax_slope(values, truth, weights)]
        elif class_weighted:
            return cls(exclusive, *_lines(values, truth, weights))
        else:
            pairs = [_as_pair(f, t) for f, t in zip(values.T, truth.T, strict=True)]
            slopes = [softmax_slope(*pair, weights) for pair in pairs]
        none = np.zeros(values.shape[1])
        return cls(exclusive, np.array(slopes), none, none)

    @property
    def agrees(self) -> bool:
        """Whether the most probable class is the predicted one."""
        return not (self.centres.any() or self.offsets.any())

    def _columns(self, values: Array) -> Array:
        if not self.exclusive:
            return _on_lines(values, self.slopes, self.centres, self.offsets)
        f = values - self.centres
        z = self.slopes * (f - f.max(axis=1, keepdims=True)) + self.offsets
        return np.exp(z - z.max(axis=1, keepdims=True))

    def probabilities(self, values: Array) -> Array:
        """Probabilities (m, c); those that rounding has made equal differ in the last digit."""
        p = super().probabilities(values)
        if not self.agrees:
            return p
        if self.exclusive:
            won = values == values.max(axis=1, keepdims=True)
            level = p.max(axis=1, keepdims=True)
            rounded = p.argmax(axis=1) != values.argmax(axis=1)
            return np.where(won & rounded[:, None], np.nextafter(level, 1.0), p)
        return np.where((values > 0) & (p <= 0.5), np.nextafter(0.5, 1.0), p)


def _as_pair(f: Array, t: Array) -> tuple[Array, Array]:
    """One column (n,) of values and labels as two: softmax(f, 0) is (p, 1 − p)."""
    return np.stack([f, np.zeros_like(f)], axis=1), np.stack([t, ~t], axis=1)


@dataclass(frozen=True, repr=False)
class Platt(Calibration):
    """1/(1 + exp(−a_j (f_j − c_j) − b_j)), with Platt's smoothed labels and a > 0.

    An offset serves classes of unequal size, or weight, but a probability may then exceed one half
    where the value does not exceed zero. See :func:`~squareone.models.logistic.log_odds_line` for
    the fit.

    Attributes
    ----------
    slopes, centres, offsets : array (c,)
        a, c and b of each column. Differences of values from their mean c lose no digits.
    """

    slopes: Array
    centres: Array
    offsets: Array

    @classmethod
    def fit(
        cls,
        values: Array,
        truth: Array,
        weights: Array,
        *,
        exclusive: bool,
        class_weighted: bool,
    ) -> Self:
        """See :func:`fit_calibration`; there is an offset whether classes had weights or not."""
        return cls(exclusive, *_lines(values, truth, weights))

    def _columns(self, values: Array) -> Array:
        return _on_lines(values, self.slopes, self.centres, self.offsets)


def _lines(values: Array, truth: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Slopes, centres and offsets (c,) of the log-odds of each column."""
    lines = [log_odds_line(f, t, weights) for f, t in zip(values.T, truth.T, strict=True)]
    slopes, centres, offsets = np.array(lines).T
    return slopes, centres, offsets


def _on_lines(values: Array, slopes: Array, centres: Array, offsets: Array) -> Array:
    from scipy.special import expit  # imported late: it would slow `import squareone`

    return expit(slopes * (values - centres) + offsets)


@dataclass(frozen=True, repr=False)
class Isotonic(Calibration):
    """The ascending function of least squares: any shape, but it takes many rows to know it.

    That function is constant over stretches, and zero or one at its ends: rows on a stretch could
    not be told apart, and certainty would be claimed from finitely many rows. It is therefore
    averaged with the logistic function of :class:`Platt`, which counts as one row beside the N
    there are: (N·g + s)/(N + 1).

    Attributes
    ----------
    knots, levels : array (k₁ + … + k_c,)
        The columns one after the other: values, ascending, and g at each. It is linear in between
        and constant beyond.
    counts : array (c,)
        The k_j: how many knots belong to each column.
    slopes, centres, offsets : array (c,)
        Of s, as in :class:`Platt`.
    rows : array (1,)
        N.
    """

    knots: Array
    levels: Array
    counts: Array
    slopes: Array
    centres: Array
    offsets: Array
    rows: Array

    @classmethod
    def fit(
        cls,
        values: Array,
        truth: Array,
        weights: Array,
        *,
        exclusive: bool,
        class_weighted: bool,
    ) -> Self:
        """See :func:`fit_calibration`; whether classes had weights makes no difference."""
        from sklearn.isotonic import IsotonicRegression  # late: it would slow `import squareone`

        knots, levels = [], []
        for f, t in zip(values.T, truth.T, strict=True):
            # It takes values closer than 1e-15 for equal; a power of two changes no digit.
            unit = np.ldexp(1.0, np.frexp(np.abs(f).max())[1] - 1)
            curve = IsotonicRegression(y_min=0.0, y_max=1.0).fit(f / unit, t, weights)
            knots.append(curve.X_thresholds_ * unit)
            levels.append(curve.y_thresholds_)
        return cls(
            exclusive,
            np.concatenate(knots),
            np.concatenate(levels),
            np.array([k.size for k in knots]),
            *_lines(values, truth, weights),
            np.array([number_of_rows(weights)]),
        )

    def curves(self) -> list[tuple[Array, Array]]:
        """Knots and levels of every column."""
        ends = np.cumsum(self.counts)[:-1]
        return list(zip(np.split(self.knots, ends), np.split(self.levels, ends), strict=True))

    def _columns(self, values: Array) -> Array:
        steps = np.stack(
            [np.interp(f, *curve) for f, curve in zip(values.T, self.curves(), strict=True)], axis=1
        )
        smooth = _on_lines(values, self.slopes, self.centres, self.offsets)
        return (self.rows * steps + smooth) / (self.rows + 1.0)


@dataclass(frozen=True, repr=False)
class Linear(Calibration):
    """(1 + f)/2: what least squares estimates from ±1; nothing is fitted.

    From (N + 1)/(N + 2) on, which is what N rows of one class would say about the next one, the
    line turns, and approaches one without reaching it, as 1 − 1/((N + 2)(1 + |f| − N/(N + 2))); the
    same near zero.

    Attributes
    ----------
    rows : array (1,)
        N.
    offsets : array (c,)
        Where classes had weights: what is added to log-odds, or to the logarithms of exclusive
        columns, so that the mean probability of every class is its share.
    """

    rows: Array
    offsets: Array

    @classmethod
    def fit(
        cls,
        values: Array,
        truth: Array,
        weights: Array,
        *,
        exclusive: bool,
        class_weighted: bool,
    ) -> Self:
        """See :func:`fit_calibration`."""
        rows = np.array([number_of_rows(weights)])
        plain = cls(exclusive, rows, np.zeros(values.shape[1]))
        if not class_weighted:
            return plain
        q = plain._columns(values)
        if exclusive:
            _, centres, offsets = softmax_line(np.log(q), truth, weights, slope=1.0)
            return cls(exclusive, rows, offsets - centres)
        found = []
        for odds, t in zip((np.log(q) - np.log1p(-q)).T, truth.T, strict=True):
            _, centres, offsets = softmax_line(*_as_pair(odds, t), weights, slope=1.0)
            found.append((offsets - centres) @ [1.0, -1.0])
        return cls(exclusive, rows, np.array(found))

    def _columns(self, values: Array) -> Array:
        beyond = np.maximum(np.abs(values) - self.rows / (self.rows + 2.0), 0.0)
        tail = 1.0 / ((1.0 + beyond) * (self.rows + 2.0))
        p = np.where(beyond > 0.0, np.where(values < 0.0, tail, 1.0 - tail), (1.0 + values) / 2.0)
        if not self.offsets.any():
            return p
        if self.exclusive:
            return p * np.exp(self.offsets - self.offsets.max())
        return p / (p + (1.0 - p) * np.exp(-self.offsets))


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
