"""What asks for labels, or sees only some of them."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ...arrays import Array
from ...online import Rule, Sampler
from ...rows import rows_of
from ...targets import Labels, Responses
from .classifying import ClassifyingStream
from .unit_rows import UnitRows


class AskingStream(ClassifyingStream, UnitRows):
    """The common part of what asks for labels; not for use by itself.

    There is no intercept: with a constant feature no row is unlike those that were seen before.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassifyingStream._parameter_constraints,
        "k": [Interval(Real, 0, None, closed="neither")],
        "count": [StrOptions({"labels", "rarer"})],
        "normalise": ["boolean"],
    }
    del _parameter_constraints["fit_intercept"], _parameter_constraints["epochs"]

    k: float
    count: str
    fit_intercept = False

    def _rule(self) -> Rule:
        raise NotImplementedError

    def _shared(self) -> bool:
        # all classes learn the same rows, and share A unless one may be added
        always = not self._rule().on_mistakes
        return always and not self._record.targets.multilabel and self.new_classes == "refuse"

    def _engine(self, columns: int, targets: Labels | Responses) -> Sampler:
        assert isinstance(targets, Labels)
        exclusive = not targets.multilabel and columns > 1
        return Sampler(self._learners(columns, float(self.a)), self._rule(), exclusive=exclusive)

    @property
    def _sampler(self) -> Sampler:
        engine = self._recorded().engine
        assert isinstance(engine, Sampler)
        return engine

    # --- a stream with all its labels ---

    def fit(self, X: Any, y: Any) -> Self:
        """Go through rows as if labels were seen only as far as they are asked for.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, labels)
            All labels: classes, or an indicator matrix.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: a margin for every row and column, and an update for every label that is learned;
        two numbers for every row and column are kept.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from squareone import SelectiveSamplingClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> SelectiveSamplingClassifier(a=0.1, k=1.0).fit(X, y).queried_.shape
        (1797,)
        """
        self._forget()
        try:
            X, Y = self._first(X, y, None)
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            order = rng.permutation(X.shape[0]) if self.shuffle else None
            margins = np.empty_like(Y)
            asked = np.empty((Y.shape[0], self._sampler.labels.size), bool)
            for part, block in self._blocks(X, order):
                margins[part], asked[part] = self._sampler.simulate(block, Y[part])
            self._record.changed()
            self._tell(Y, margins, asked, np.arange(Y.shape[0]) if order is None else order)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _tell(self, Y: Array, margins: Array, asked: Array, order: Array) -> None:
        """Set what a simulated stream has shown."""
        raise NotImplementedError

    # --- labels that come later ---

    def _decide(self, X: Any) -> Array:
        X = self._checked(X)
        found = [self._sampler.query(block)[1] for _, block in self._blocks(X, None)]
        self._record.changed()
        return self._shaped(np.vstack(found))

    def _shaped(self, asked: Array) -> Array:
        return asked if self._recorded().targets.multilabel else asked[:, 0]

    def _learn_given(self, X: Any, y: Any, given: Any) -> None:
        """Labels of rows, where they were given; no row at all is no harm."""
        if (X.shape[0] if hasattr(X, "shape") else len(X)) == 0:
            return
        X = self._checked(X)
        if given is not None:
            mask = self._mask(X.shape[0], given)
            if self._record.targets.multilabel:
                y = _where(mask, y, X)
            else:
                chosen = np.flatnonzero(mask)
                if chosen.size == 0:
                    return
                X, y = rows_of(X)[chosen].X, np.asarray(y)[chosen]
                mask = mask[chosen]
        else:
            mask = np.ones((X.shape[0], self._sampler.labels.size), bool)
        for stretch in self._stretches(y, X):
            some, own = self._part(X, y, stretch)
            Y, told = self._columns(own, some), mask[stretch]
            for part, block in self._blocks(some, None):
                self._sampler.learn(block, Y[part], told[part])
        self._record.changed()

    def _mask(self, n: int, given: Any) -> Array:
        """Which labels are known (n, s), checked."""
        mask, wanted = np.asarray(given), (n, self._sampler.labels.size)
        if mask.dtype != bool or mask.shape not in (wanted, wanted[: 2 - (wanted[1] == 1)]):
            msg = (
                f"{mask.dtype} of shape {mask.shape}: truth values are expected, one for every "
                f"label of the rows, {wanted if wanted[1] > 1 else wanted[:1]}"
            )
            raise ValueError(msg)
        return mask.reshape(wanted)


def _where(mask: Array, y: Any, X: Any) -> Array:
    """An indicator (n, labels) with zeros for labels that are not known, whatever stands there."""
    y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    check_consistent_length(X, y)
    return np.where(mask, y, 0) if y.shape == mask.shape else y  # which is refused later on
