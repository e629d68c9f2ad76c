"""OROLSRegressor."""

from __future__ import annotations

from typing import Any

from ..arrays import Array
from .array_libraries import lazy_on_dask
from .mixins import RegressionMixin
from .orols import OrthogonalLeastSquares


class OROLSRegressor(RegressionMixin, OrthogonalLeastSquares):
    """Sparse kernel regression by order-recursive orthogonal least squares.

    Centers are chosen greedily among the training rows. The columns of the kernel matrix that
    belong to them are made orthogonal as they come, :math:`K_m = Q_m U_m`, the weights of the
    orthogonal columns are penalised by λ, and λ is re-estimated at every step. No kernel matrix
    between all rows exists at any time, and all models on the way are kept.

    Parameters
    ----------
    kernel : str, Kernel or list of them, default="gaussian"
        A name or an object of :mod:`squareone.kernels`. A width that is ``"auto"`` is chosen by
        cross-validation, together with ε. With a list, every step chooses the point *and* the
        kernel.
    max_centers : int or None, default=None
        Centers at most; None: 6√n, at least 200, and at most n/2, with a ``ConvergenceWarning``
        where models were still getting better there.
    candidates : int or None, default=None
        So many random points are looked at in every step; None: all, or 64 drawn ones (see
        ``selection``).
    stopping : {"gcv", "bic", "mdl", "validation"} or int, default="gcv"
        Which model on the path is the best: the one with the least generalised cross-validation, in
        which a chosen center counts 0.75 degrees of freedom more than a given one; Bayesian
        information; description length, in which *which* points are chosen counts, too; or error
        on held-out rows (the fit is then repeated with all rows and that many centers). A number:
        that many centers.
    lambda_update : {"gcv", "evidence"} or float, default="gcv"
        How λ follows from the last one at every step: by formula (30) of the paper, which
        minimises the generalised cross-validation where it settles; by the evidence; a number: λ.
    selection : {"sampled", "residual", "greedy"}, default="sampled"
        The next center is, of some points drawn by their squared residuals (``candidates``, 64
        unless it is given), the one that reduces the regularised loss most; or the point with the
        largest residual; or, of all points, the one that reduces the loss most. The last evaluates
        n kernel values for every candidate in every step: ``candidates=59`` finds one of the best
        5 % with a probability of 95 %.
    epsilon : float or "auto", default="auto"
        ε, which is added to k(x, x) of a center at its own row, so that its residual is no reason
        for it to fit itself. It acts as the λ of :class:`RLSRegressor`: with all points as centers,
        ``lambda_update=0`` and no intercept the fit is that one's. Predictions are without it, also
        at training rows. ``"auto"``: 0.001, 0.01 or 0.1 times the mean k(x, x), by
        cross-validation.
    condition_limit : float or None, default=None
        The path ends where the lengths of the orthogonal columns differ by more; None: by the
        inverse square root of the machine epsilon.
    fit_intercept : bool, default=True
        Whether there is a constant, which is not penalised.
    shared_centers : bool, default=False
        For several targets: one path, with the same centers and λ for all of them. Otherwise each
        has its own, as if it were fitted by itself.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``stopping="validation"``.
    memory_limit : int, str or None, default=None
        Bytes, or a text such as ``"2GiB"``; by default what the machine has free.
    random_state : int, RandomState instance or None, default=None
        For the rows and folds of the search, random candidates and held-out rows. None means 0.
    verbose : int, default=0
        1: how far a fit is that takes more than a second; 2: also every step.

    Attributes
    ----------
    n_centers_ : int or array of shape (t,)
        Centers of the chosen model.
    path_ : dict of 1-D arrays
        Every model on the path; ``pandas.DataFrame(path_)`` works.
    lambda_ : float or array of shape (t,)
        λ of the chosen model.
    epsilon_ : float
        ε.
    kernel_ : Kernel or list of Kernel
        With every parameter a number.
    search_ : dict of 1-D arrays
        ``sigma`` and ``epsilon`` that were tried, and the mean square ``error`` on held-out rows.
    centers_ : array of shape (m, d)
        The points of all targets; ``center_indices_`` (m,) are their rows, ``center_kernels_`` (m,)
        the numbers of their kernels.
    dual_coef_ : array of shape (m,) or (m, t)
    intercept_ : float or array of shape (t,)
    stopped_by_ : str or list of str
        Why a path ends: ``"max_centers"``, ``"criterion"`` (its best model was long ago),
        ``"condition_limit"``, ``"candidates"`` (all others depend on those chosen) or ``"exact"``
        (the residual is rounding).
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    See Also
    --------
    OROLSClassifier : The same for classes.
    RLSRegressor : All rows as centers, exactly; or centers that are not chosen by the targets.

    Notes
    -----
    **Cost**, for m centers: 8nm² flops, most of them in products of matrices, n·m·d for the
    columns, and nm numbers. A prediction takes m·d multiplications.

    References
    ----------
    .. [1] Andelic, Schafföner, Katz, Krüger & Wendemuth, "Updates for nonlinear discriminants",
       IJCAI 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone import OROLSRegressor
    >>> x = np.linspace(-10, 10, 200)[:, None]
    >>> y = np.sinc(x[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> model = OROLSRegressor(stopping=10).fit(x, y)
    >>> error = model.predict(x) - np.sinc(x[:, 0] / np.pi)
    >>> bool(np.sqrt(np.mean(error**2)) < 0.03)
    True
    >>> model.at(5).centers_.shape
    (5, 1)
    """

    @lazy_on_dask
    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,) or (m, t)

        Notes
        -----
        **Cost**: as many kernel values as there are centers for each row, in bounded memory.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import OROLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> OROLSRegressor(stopping=10).fit(X, y).predict(X[:3]).shape
        (3,)
        """
        return self._recorded().targets.shaped(self._values(X))
