"""RLSRegressor."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, alone
from ..fitting import diagnostics
from ..fitting.intervals import IntervalRequest, intervals, travelling_rule
from ..fitting.kernel_choice import FoldModel
from ..fitting.progress import Progress
from ..kernels import Kernel
from ..models.jackknife_intervals import METHODS
from ..targets import Responses
from .array_libraries import follows_rows
from .base import RegularisedLeastSquares
from .fitted_attributes import FromResult
from .mixins import RegressionMixin


class RLSRegressor(RegressionMixin, RegularisedLeastSquares):
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
        distance between training rows instead, ``Gaussian(ard=True)`` a width for every feature,
        and ``Gaussian(metric="learned")`` a metric that is learned in rounds. ``"auto"`` chooses
        among Gaussian, Matérn, Laplacian and linear kernels, each with and without such a metric,
        by folds that learn everything anew. Features of different units should be scaled first.
    alpha : float, sequence of float or "auto", default="auto"
        λ. A sequence is a grid to choose from, *not* one penalty per target. With a number nothing
        is chosen but the width, where that is ``"auto"``. ``alpha="auto"`` takes a grid from the
        spectrum, widened while the best value sits at its edge and, by squared error, refined
        around it; or, for more rows, a bracketed search that looks at a handful of values.
    solver : str, default="auto"
        ``"cholesky"``: one factorisation per λ, the least memory. ``"spectral"``: an
        eigendecomposition, every λ. ``"svd"`` and ``"gram"``: for the linear kernel, accurate and
        fast respectively. ``"krylov"``: for the linear kernel, conjugate gradients for every λ at
        once, with leverages estimated by random probes. With ``centers``: ``"rectangle"``, all rows
        and every λ; ``"pcg"``, the same solution by conjugate gradients; ``"nystrom"``, an
        approximate matrix in the fit and all rows in predictions; ``"subset"``, the rows that are
        centers and no others. ``"auto"`` decides by cost, memory and conditioning: it takes
        ``"krylov"`` for sparse rows only, and with ``centers`` ``"rectangle"`` or ``"pcg"``;
        :meth:`plan` shows why.
    centers : int, "auto", array-like of shape (m, d), Selector or None, default=None
        The points that carry coefficients. None: all rows, exactly. A number: so many random rows.
        ``"auto"``: all rows where memory and time allow, otherwise as many as these do. An array:
        these points. A selector of :mod:`squareone.centers`: what it chooses.
    criterion : {"loo", "gcv", "holdout", "marginal_likelihood"}, default="loo"
        How σ and λ are chosen: exact leave-one-out, generalised cross-validation, one held-out
        part (``validation_fraction``), in closed form too, so that all rows stay in the final fit,
        or the likelihood of the targets under a Gaussian process.
    cv : int, splitter, iterable of splits or None, default=None
        Choose by exact cross-validation over these folds instead, in closed form.
    scoring : str, callable or None, default=None
        A scikit-learn scorer for the pooled held-out predictions; None means minus the mean
        squared error. A width is chosen by it on at most 800 rows.
    fit_intercept : bool, default=True
        Whether to fit b. It is not penalised; add ``Constant()`` to the kernel for one that is.
    alpha_per_target : bool, default=False
        Choose a λ for every target column by itself.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``criterion="holdout"``.
    memory_limit : int, str or None, default=None
        Bytes, or a text such as ``"2GiB"``; by default what the machine has free. What does not
        fit is refused before it is allocated.
    device : {"cpu", "cuda", "cuda:1", "auto"} or None, default=None
        Where kernel matrices are made and factored: in the machine's memory, or on a GPU, by
        PyTorch (the extra ``torch``). ``"auto"``: the first GPU, or the CPU where there is none,
        and the plan says which. None: where the rows are, if they are tensors on a GPU (with
        scikit-learn's ``array_api_dispatch``), or else the CPU.
    keep_factor : bool, default=True
        Keep the factorisation (n² numbers with a kernel), so that what was not needed by the fit
        can be computed later. It is never pickled.
    random_state : int, RandomState instance or None, default=None
        For the rows behind the median distance, those a search for the width or a bracketed search
        starts with, the held-out part, centers, the rows of ``loo_rows``, and random probes. None
        means 0: the same fit every time.
    verbose : int, default=0
        1: how far a fit is that takes more than a second, on stderr (as bars where rich is
        installed); 2: also every λ and width looked at. scikit-learn's callbacks
        (``set_callbacks``) are supported where its version has them.
    tol : float, default=1e-4
        The relative residual at which ``"krylov"`` and ``"pcg"`` stop; other solvers have none.
    max_iter : int or None, default=None
        Their iterations at most, with a warning; None means 1,000.
    loo_rows : int, "auto" or None, default="auto"
        With centers: the leave-one-out error is over so many random rows, None means all.
        ``"auto"``: all of up to 20,000, otherwise 5,000 (4,000 with ``"pcg"`` and ``"nystrom"``).
        The plan says so, and ``path_`` has the standard error.
    time_limit : float or None, default=None
        Seconds that ``centers="auto"`` may spend, as far as the plan can tell. None: a fixed number
        of flops, so that the choice is the same on every machine.
    checkpoint : str, PathLike or None, default=None
        A file in which ``"rectangle"``, ``"nystrom"`` and ``"pcg"`` keep how far they are: as soon
        as the width is found, and then every five seconds while they pass over the rows (less
        often where writing takes more than a twentieth of the time). A shorter fit writes nothing.
        The same fit goes on from there after an interruption; the file is removed at the end, and
        one of another fit is refused.
    scale : float or "auto", default="auto"
        s, in the units of y: the Gaussian process behind ``return_std``, the gaussian interval and
        the likelihood has kernel s²k and noise s²λ/w. ``"auto"``: the most likely one.

    Attributes
    ----------
    alpha_ : float or array of shape (t,)
        The chosen λ.
    kernel_ : Kernel
        The kernel, with every parameter a number; with ``ard=True`` its ``sigma`` is an array (d,).
    path_ : dict of 1-D arrays
        ``alpha``, ``score``, its ``standard_error`` (over rows; NaN where unknown),
        ``effective_dof`` and ``bits`` (precision of that step) of every λ looked at, and where
        scores are estimates by probes their expected ``bias``; with iterations the relative
        ``residual`` at each, above ``tol`` for λ that could not win any more;
        ``pandas.DataFrame(path_)`` works. With ``alpha_per_target`` also ``score_0`` and so on;
        ``score`` is then their mean. Where the width was searched also ``sigma`` and
        ``rows``: first the looks of that search, on so many rows, and last the path at the chosen
        width on all of them. Where the kernel was chosen or a metric learned also ``kernel``,
        ``preparation`` (of rows: zero, if not of a table), ``power`` and ``rounds`` of the metric,
        ``stage`` (the rows looked at grow from one to the next; −1 for what is not of the choice),
        ``chosen`` (the candidate that won) and ``honest``: first what was tried, by folds that
        learned everything anew, then the rest at the final metric, which has seen the rows.
    rounds_ : int
        Rounds of the learned metric, zero where a plain kernel was better. Only where the kernel
        was chosen, or its metric learned.
    best_score_ : float or array of shape (t,)
        Score of the chosen λ (and width) by the criterion; greater is better. Where the kernel was
        chosen or a metric learned, minus the mean square error, or the scorer, of folds that
        learned all but which kernel and how many rounds anew; other folds than those of the choice
        unless ``cv`` is given.
    loo_predictions_ : array of shape (n,) or (n, t)
        The prediction at each row of the fit without that row; an estimate with ``"krylov"`` and
        ``"pcg"``. A row that is a center is left out together with it. With ``loo_rows`` all rows
        all the same, computed when first asked for.
    loo_residuals_ : array of shape (n,) or (n, t)
        Targets less those predictions.
    leverages_ : array of shape (n,), or (n, t) with a λ per target
        Diagonal of the hat matrix.
    effective_dof_ : float or array of shape (t,)
        Trace of the hat matrix, the intercept included.
    gacv_ : float or array of shape (t,)
        The mean square leave-one-out error with every leverage replaced by their mean.
    log_marginal_likelihood_, scale_ : float or array of shape (t,)
        Of the Gaussian process at the chosen σ and λ.
    dual_coef_ : array of shape (m,) or (m, t)
        Coefficients of the kernel expansion; not with the linear kernel.
    centers_ : array of shape (m, d)
        The points they belong to: all training rows of positive weight, or with ``centers`` those
        that do not depend on the others (with ``"nystrom"`` all rows again).
    center_indices_ : array of shape (m,)
        Which rows those are; −1 for points that are no rows.
    dropped_centers_ : array of int
        Which of the centers asked for, by position, were dropped because the others determine them.
        Only with centers.
    explained_trace_ : float
        The share tr(K̃)/tr(K) of the kernel matrix that the centers explain. Only with centers;
        computed when first asked for.
    coef_ : array of shape (d,) or (t, d)
        Coefficients of the hyperplane; only with the linear kernel. What is assigned to it, or
        written into it, counts in predictions, files and exports; so it is with ``dual_coef_`` and
        ``intercept_``. What the fit computed, leave-one-out values for instance, stays.
    intercept_ : float or array of shape (t,)
        b.
    n_iter_ : int
        Iterations of ``"krylov"`` or ``"pcg"`` for the targets (``"pcg"``: of all λ together); 1
        for other solvers.
    residual_ : float
        The relative residual they ended at; zero for other solvers.
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
    ``"cholesky"``. With the linear kernel and d < n features nd² to 6nd² flops. With sparse rows of
    s stored numbers and the linear kernel, 4s flops per target (or probe) and iteration. A search
    for the width takes ten to twenty eigendecompositions of at most 800 rows and, beyond these,
    about five looks at all rows of n²d + 2n³/3 flops each, in float32 where λ allows; the best λ by
    ``"cholesky"`` then needs one more, in place of a search of its own.

    With m centers: ``"rectangle"`` nm(d + m) + 10m³ multiplications, 6m² numbers and every λ;
    ``"pcg"`` nm(d + 2t) for each iteration, 3m² numbers; ``"nystrom"`` as ``"rectangle"``, and
    n(d + 2m) more for every row that is left out; ``"subset"`` as an exact fit of m rows. Rows may
    be a stream, and are never all in memory. A search for the width looks at 20,000 rows and
    1,000 centers at most.

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
    sigma = 0.29, alpha = 0.79
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RegularisedLeastSquares._parameter_constraints,
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        centers: Any = None,
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        device: str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        tol: float = 1e-4,
        max_iter: int | None = None,
        loo_rows: int | str | None = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        scale: float | str = "auto",
    ) -> None:
        super().__init__(
            kernel,
            alpha,
            solver=solver,
            centers=centers,
            criterion=criterion,
            cv=cv,
            scoring=scoring,
            fit_intercept=fit_intercept,
            alpha_per_target=alpha_per_target,
            validation_fraction=validation_fraction,
            memory_limit=memory_limit,
            device=device,
            keep_factor=keep_factor,
            random_state=random_state,
            verbose=verbose,
            tol=tol,
            max_iter=max_iter,
            loo_rows=loo_rows,
            time_limit=time_limit,
            checkpoint=checkpoint,
        )
        self.scale = scale

    @follows_rows
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict targets, and how sure the Gaussian process behind the model is of them.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).
        return_std : bool, default=False
            Return also the posterior standard deviation of f at each row, without the noise of a
            new target, in the units of y.

        Returns
        -------
        array of shape (m,) or (m, t), or a pair of them

        Notes
        -----
        **Cost**: m·n·(d + t) multiplications with a kernel, in bounded memory; m·d·t without. The
        standard deviations take n²m flops more with ``cholesky``, n·m·d with features.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import RLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> mean, deviation = RLSRegressor().fit(X[:300], y[:300]).predict(X[300:], return_std=True)
        >>> mean.shape == deviation.shape == (142,)
        True
        """
        record = self._recorded()
        rows = self._rows(X)
        with self._place().active():
            values = record.targets.shaped(record.model.values(rows))
        if not return_std:
            return values
        deviations = diagnostics.standard_deviations(record, rows, noise=False)
        return values, record.targets.shaped(deviations)

    @follows_rows
    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        method: str = "jackknife+",
        loo_rows: int | str | None = "auto",
        bounds: tuple[float | None, float | None] | None = None,
    ) -> Array:
        """Intervals that contain a new target with a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).
        coverage : float, default=0.9
            The share of new targets to be covered.
        method : {"jackknife+", "jackknife", "minmax", "adaptive", "gaussian"}, default="jackknife+"
            ``"jackknife+"``: from the predictions and errors of all leave-one-out models (Barber et
            al. 2021). For exchangeable rows, and σ and λ not chosen on them, at least
            2·coverage − 1 is guaranteed, and about ``coverage`` is seen. ``"minmax"``: wider, and
            ``coverage`` itself is guaranteed. ``"jackknife"``: the prediction ± a quantile of the
            leave-one-out errors; nothing is guaranteed. ``"adaptive"``: that with a width that
            follows the noise: the size of the errors is learned from themselves, once per fit, and
            the quantile is that of errors over the size expected at their row; about ``coverage``
            is seen, where intervals are narrow and where they are wide. ``"gaussian"``: from the
            posterior of a Gaussian process with normal noise; right if that is.
        loo_rows : int, "auto" or None, default="auto"
            How many training rows are left out, each in turn: random ones, the same at every call;
            None means all. The guarantees are the same, since a random part of the rows is
            exchangeable with a new one whatever the others are; fewer only make the ends noisier.
            ``"auto"``: all of up to 4,000, otherwise 1,000 (``"jackknife"`` and ``"adaptive"``:
            all). Where the fit took its leave-one-out error over some of the rows (its own
            ``loo_rows``), these are all there are.
        bounds : tuple of (low, high), default=None
            What a target cannot be below or above, either of which may be None; the same for all
            targets. Ends beyond are moved there, which loses no target.

        Returns
        -------
        array of shape (m, 2) or (m, t, 2)
            Lower and upper ends.

        Notes
        -----
        Exact, without any fit, with weights and an intercept. A row counts once whatever its
        weight; rows of weight zero do not.

        **Cost**: 2n²m flops with ``cholesky``, twice that with ``spectral``, n·m·d with features,
        in blocks; with ``loo_rows`` = q, 2n²q once and 2nqm, or q·m·d with features; nothing beyond
        a prediction for ``"jackknife"``, two for ``"adaptive"``, which the first time learns the
        size, for each target with a kernel qm(d + m) + 10m³ multiplications for q rows and
        m = min(q, 1000) centers, with features some seventy products of the basis with a column,
        and with ``krylov`` as much as a fit. ``verbose`` shows how far it is.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import RLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = RLSRegressor().fit(X[:300], y[:300])
        >>> low, high = model.predict_interval(X[300:], coverage=0.9).T
        >>> round(float(((low <= y[300:]) & (y[300:] <= high)).mean()), 2)
        0.9

        Where the noise depends on the row, so does the width:

        >>> low, high = model.predict_interval(X[300:], method="adaptive").T
        >>> round(float((high - low).max() / (high - low).min()), 1)
        3.2
        """
        asked = _interval_request(coverage, method, loo_rows, bounds)
        record = self._recorded()
        rows, prepare = self._rows(X), self._rows_of_folds(X)
        if record.interval_rule is not None:
            found = record.interval_rule.intervals(rows, prepare)
        else:
            with Progress(self.verbose, title=type(self).__name__) as progress:
                found = intervals(record, rows, asked, progress, prepare)
        assert isinstance(record.targets, Responses)
        return found[:, 0] if record.targets.vector else found

    log_marginal_likelihood_: FromResult[float | Array] = FromResult(
        lambda record: alone(record.log_likelihoods),
        """Log density of the targets under the Gaussian process, at the chosen σ and λ.

        With ``scale="auto"`` at the most likely scale; with an intercept that of the contrasts,
        which it does not change. One per target for several.
        """,
    )
    scale_: FromResult[float | Array] = FromResult(
        lambda record: alone(record.scales),
        "s, by which the Gaussian process scales the kernel and the noise, in the units of y.",
    )

    def _travelling(self, question: str, args: tuple[Any, ...], named: dict[str, Any]) -> Self:
        own = super()._travelling(question, args, named)
        if question == "predict_interval":
            asked = _interval_request(*args, **named)
            rule = travelling_rule(self._recorded(), asked)
            own._record = replace(own._record, interval_rule=rule)
        return own

    def _rows_of_folds(self, X: Any) -> Callable[[FoldModel], Any] | None:
        """How a model of a fold takes new rows; None where it does so as the fit does."""
        return None

    def _more_of_request(self) -> dict[str, Any]:
        return {"scale": None if isinstance(self.scale, str) else float(self.scale)}


def _interval_request(
    coverage: float = 0.9,
    method: str = "jackknife+",
    loo_rows: int | str | None = "auto",
    bounds: tuple[float | None, float | None] | None = None,
) -> IntervalRequest:
    """What ``predict_interval`` is asked, checked."""
    if not isinstance(coverage, Real) or not 0 < coverage < 1:
        msg = f"coverage={coverage!r}: a number between 0 and 1, such as 0.9, is expected"
        raise ValueError(msg)
    if method not in METHODS:
        msg = f"method={method!r}: one of {', '.join(map(repr, METHODS))} is expected"
        raise ValueError(msg)
    whole = isinstance(loo_rows, Integral) and not isinstance(loo_rows, bool) and loo_rows >= 2
    if loo_rows is not None and loo_rows != "auto" and not whole:
        msg = f'loo_rows={loo_rows!r}: "auto", None or a number of rows from 2 on is expected'
        raise ValueError(msg)
    return IntervalRequest(float(coverage), method, loo_rows, bounds)
