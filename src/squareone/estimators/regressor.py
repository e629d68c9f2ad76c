"""RLSRegressor."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from ..arrays import Array
from ..targets import Responses
from .base import RegularisedLeastSquares
from .target_validation import check_responses


class RLSRegressor(RegressorMixin, RegularisedLeastSquares):
    r"""Regularised least squares (kernel ridge) regression that chooses σ and λ by leave-one-out.

    Minimises :math:`\sum_i w_i (y_i - f(x_i) - b)^2 + \lambda \|f\|^2` over functions f of the
    kernel's space and an unpenalised intercept b. λ is the *total-loss* λ, scikit-learn's
    ``alpha``; the per-point λ of Rifkin, Yeo & Poggio (2003) is λ / n. One factorisation gives
    every λ and, for each, the exact leave-one-out error. The width σ of the kernel is searched,
    from few rows to all, where it is ``"auto"``.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        ``"gaussian"`` (or ``"rbf"``), ``"linear"``, ``"polynomial"``, ``"laplacian"``,
        ``"matern"``, ``"precomputed"``, or an object of :mod:`squareone.kernels` such as
        ``Gaussian(sigma=2.0)``, a sum or a product. By name, or with ``sigma="auto"``, the width is
        chosen together with λ, by the same criterion; ``Gaussian(sigma="median")`` takes the median
        distance between training rows instead, and ``Gaussian(ard=True)`` a width for every
        feature. Features of different units should be scaled first.
    alpha : float, sequence of float or "auto", default="auto"
        λ. A sequence is a grid to choose from, *not* one penalty per target. With a number nothing
        is chosen but the width, where that is ``"auto"``. ``alpha="auto"`` takes a grid from the
        spectrum, widened while the best value sits at its edge and, by squared error, refined
        around it; or, for more rows, a bracketed search that looks at a handful of values.
    solver : {"auto", "cholesky", "spectral", "svd", "gram"}, default="auto"
        ``"cholesky"``: one factorisation per λ, the least memory. ``"spectral"``: an
        eigendecomposition, every λ. ``"svd"`` and ``"gram"``: for the linear kernel, accurate and
        fast respectively. ``"auto"`` decides by cost, memory and conditioning; :meth:`plan` shows
        why.
    criterion : {"loo", "gcv", "holdout"}, default="loo"
        How σ and λ are chosen: exact leave-one-out, generalised cross-validation, or one held-out
        part (``validation_fraction``), the last in closed form too: all rows stay in the final fit.
    cv : int, splitter, iterable of splits or None, default=None
        Choose by exact cross-validation over these folds instead, in closed form.
    scoring : str, callable or None, default=None
        A scikit-learn scorer for the pooled held-out predictions; None means minus the mean
        squared error. A width is chosen by it on at most 1,000 rows.
    fit_intercept : bool, default=True
        Whether to fit b. It is not penalised; add ``Constant()`` to the kernel for one that is.
    alpha_per_target : bool, default=False
        Choose a λ for every target column by itself.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``criterion="holdout"``.
    memory_limit : int, str or None, default=None
        Bytes, or a text such as ``"2GiB"``; by default what the machine has free. What does not
        fit is refused before it is allocated.
    keep_factor : bool, default=True
        Keep the factorisation (n² numbers with a kernel), so that what was not needed by the fit
        can be computed later. It is never pickled.
    random_state : int, RandomState instance or None, default=None
        For the rows behind the median distance, those a search for the width or a bracketed search
        starts with, and the held-out part. None means 0: the same fit every time.
    verbose : int, default=0
        1: how far a fit is that takes more than a second, on stderr (as bars where rich is
        installed); 2: also every λ and width looked at. scikit-learn's callbacks
        (``set_callbacks``) are supported where its version has them.

    Attributes
    ----------
    alpha_ : float or array of shape (t,)
        The chosen λ.
    kernel_ : Kernel
        The kernel, with every parameter a number; with ``ard=True`` its ``sigma`` is an array (d,).
    path_ : dict of 1-D arrays
        ``alpha``, ``score``, ``effective_dof`` and ``bits`` (precision of that step) of every λ
        looked at; ``pandas.DataFrame(path_)`` works. With ``alpha_per_target`` also ``score_0``
        and so on; ``score`` is then their mean. Where the width was searched also ``sigma`` and
        ``rows``: first the looks of that search, on so many rows, and last the path at the chosen
        width on all of them.
    best_score_ : float or array of shape (t,)
        Score of the chosen λ (and width) by the criterion; greater is better.
    loo_predictions_ : array of shape (n,) or (n, t)
        The prediction at each row of the fit without that row.
    effective_dof_ : float or array of shape (t,)
        Trace of the hat matrix, the intercept included.
    dual_coef_ : array of shape (m,) or (m, t)
        Coefficients of the kernel expansion; not with the linear kernel.
    centers_ : array of shape (m, d)
        The rows they belong to: all training rows of positive weight.
    center_indices_ : array of shape (m,)
        Which rows those are.
    coef_ : array of shape (d,) or (t, d)
        Coefficients of the hyperplane; only with the linear kernel.
    intercept_ : float or array of shape (t,)
        b.
    plan_ : Plan
        The candidates, the choice, why, and the seconds each stage took.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : array of shape (d,)
        Their names, where X had string column names.

    See Also
    --------
    RLSClassifier : The same for classes.

    Notes
    -----
    **Cost**, for n rows: n²d + n³/3 flops and n² numbers for one λ; about 9n³ and 3n² for all of
    them with ``"spectral"``; about 4n³, most of it in float32, and n² numbers for the best one by
    ``"cholesky"``. With the linear kernel and d < n features nd² to 6nd² flops. A search for the
    width takes ten to twenty eigendecompositions of at most 1,000 rows and, beyond these, about
    five looks at all rows of n²d + 2n³/3 flops each, in float32 where λ allows; the best λ by
    ``"cholesky"`` then needs one more, in place of a search of its own.

    A row of weight zero leaves the fit. At a given λ and width a weight of two equals a repeated
    row; a λ chosen by leave-one-out differs, because that leaves out a *row*.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RLSRegressor().fit(X, y)
    >>> round(float(-model.best_score_) ** 0.5, 1)  # leave-one-out root mean square error
    54.1
    >>> print(f"sigma = {model.kernel_.sigma:.2f}, alpha = {model.alpha_:.2f}")
    sigma = 0.29, alpha = 0.64
    """

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,) or (m, t)

        Notes
        -----
        **Cost**: m·n·(d + t) multiplications with a kernel, in bounded memory; m·d·t without.
        """
        values = self._values(X)
        return self._record.targets.shaped(values)

    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Responses, Array]:
        y = check_responses(y, X)
        targets = Responses.of(y)
        return y, targets, targets.columns(y)

    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
