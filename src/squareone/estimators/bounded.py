"""Bounds on the errors of a classifier."""

from __future__ import annotations

from numbers import Real

import numpy as np

from ..arrays import Array
from ..fitting import diagnostics as hindsight
from ..selection.error_bounds import stability_bound
from .probable import Probable


class Bounded(Probable):
    """The part of a classifier that bounds its errors; not for use by itself."""

    @property
    def loo_error_bound_(self) -> float | Array:
        """Share of rows that may be misclassified when left out; one per label for several.

        At least the leave-one-out error rate (Rifkin, Yeo & Poggio 2003, section 7.7), from the
        fitted values alone. Without an intercept only: with one it does not hold.
        """
        record = self._recorded()
        if self._labels().code is not None:
            msg = "loo_error_bound_ is for classes one against all, not for a code: use that coding"
            raise AttributeError(msg)
        if record.sample.intercept:
            msg = (
                "loo_error_bound_ holds only without an intercept: fit with fit_intercept=False "
                "for it, or take the exact leave-one-out errors, which loo_predictions_ gives"
            )
            raise AttributeError(msg)
        if record.sample.thin:
            msg = (
                "loo_error_bound_ is for a fit with all rows as centers: loo_predictions_ gives "
                "the leave-one-out errors themselves"
            )
            raise AttributeError(msg)
        rows = hindsight.may_err(record)
        # several classes: a row is right if all its columns are
        multilabel = self._labels().multilabel
        return rows.mean(axis=0) if multilabel else float(rows.any(axis=1).mean())

    def stability_bound(self, delta: float = 0.05, kappa: float | None = None) -> float | Array:
        """Bound the error rate on unseen rows by algorithmic stability.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 − δ over the draw of independent rows.
        kappa : float, optional
            √k(x, x) at most, for every x there can be; by default the largest of the training rows.

        Returns
        -------
        float or array of shape (k,)
            A bound on the expected square loss, which is at least the error rate; for several
            classes or labels one for each column. Far above one unless λ is much larger than √n
            times k(x, x).

        Notes
        -----
        Bousquet & Elisseeff (2002), theorems 12 and 22. For σ and λ not chosen on the rows, without
        an intercept or weights; otherwise it is refused.

        **Cost**: n·k operations beyond the leave-one-out values.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> from squareone.kernels import Gaussian
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RLSClassifier(Gaussian(1.0), alpha=1.0, fit_intercept=False).fit(X, y == 0)
        >>> bool(model.stability_bound() > 1.0)  # nothing is said at such a λ
        True
        """
        record = self._recorded()
        if not isinstance(delta, Real) or not 0 < delta < 1:
            msg = f"delta={delta!r}: a number between 0 and 1, such as 0.05, is expected"
            raise ValueError(msg)
        if self._labels().code is not None:
            msg = "stability_bound is for classes one against all, not for a code: use that coding"
            raise ValueError(msg)
        if record.sample.intercept or record.sample.weights is not None:
            msg = (
                "stability_bound holds without an intercept and without weights only: fit with "
                "fit_intercept=False, and no sample_weight or class_weight"
            )
            raise ValueError(msg)
        if record.sample.thin:
            msg = "stability_bound is for a fit with all rows as centers: use centers=None"
            raise ValueError(msg)
        if not record.alphas.min() > 0:
            msg = "stability_bound needs an alpha above zero"
            raise ValueError(msg)
        if self.path_["alpha"].size > 1:
            msg = (
                "stability_bound needs a width and an alpha that were not chosen on these rows: "
                "fit with numbers for both, found on other rows"
            )
            raise ValueError(msg)
        if kappa is None:
            kappa = float(np.sqrt(record.diagonal.max()))
        elif not isinstance(kappa, Real) or not 0 < kappa < np.inf:
            msg = f"kappa={kappa!r}: a number above zero, the square root of k(x, x), is expected"
            raise ValueError(msg)
        found = stability_bound(hindsight.residuals(record), record.alphas, kappa, delta)
        return float(found[0]) if found.size == 1 else found
