"""What a support vector machine is fitted to, and its kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..arrays import Array, copy_triangle, power_of_two
from ..centers import Selector
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.tiles import kernel_matrix
from ..planning.available_memory import memory_limit as bytes_allowed
from ..selection.objective import HeldOutScorer
from ..targets import Labels
from .center_features import CenterFeatures
from .kernel_systems import FeatureSystem, KernelSystem, MatrixSystem
from .svm_plan import SVMPlan


@dataclass(frozen=True)
class Fold:
    """Rows that are left out together.

    Attributes
    ----------
    rows, rest : array
        Rows that are scored, and those that are fitted.
    kernel : Kernel or None
        Where it was learned from ``rest`` alone; its width may still be ``"auto"``.
    """

    rows: Array
    rest: Array
    kernel: Kernel | None = None


@dataclass(frozen=True)
class SVMTask:
    """Rows, columns of signs, and how λ is chosen.

    Attributes
    ----------
    kernel : Kernel
    X : array (n, d) or CSR matrix of float64, a kernel matrix (n, n), or with centers any rows
    Y : array (n, t)
        ±1; zero where a row takes no part in a column.
    weights, user_weights : array (n,) or None
        Of the fit, and without those of classes.
    targets : Labels
    squared : bool
        Which loss.
    intercept : {"penalised", True, False}
    alphas : array or None
        λ to choose from; None to look for it.
    tolerance : float
        Relative gap of the solutions on the path.
    scorer : callable or None
    folds : list of Fold or None
        None for leave-one-out values.
    left_out : bool
        Whether values that rows have not seen are wanted at the λ in the end.
    memory_limit : float, str or None
    kept : array (n,)
        The user's numbers of the rows, of ``n_rows`` in all.
    n_rows : int
    selector : Selector or None
        Of the centers, of which there are ``n_centers``; None where all rows are.
    n_centers : int
    spare_folds : callable or None
        Folds for the λ that was chosen, where exact leave-one-out values cost too much.
    judged : array or None
        Rows that left-out values are made of, where the kernel was learned from the others; None
        for all of them.
    """

    kernel: Kernel
    X: Any
    Y: Array
    weights: Array | None
    user_weights: Array | None
    targets: Labels
    squared: bool
    intercept: Literal["penalised"] | bool
    alphas: Array | None
    tolerance: float
    scorer: HeldOutScorer | None
    folds: list[Fold] | None
    left_out: bool
    memory_limit: float | str | None
    kept: Array
    n_rows: int
    selector: Selector | None = None
    n_centers: int = 0
    spare_folds: Callable[[], list[Fold]] | None = None
    judged: Array | None = None

    @property
    def n(self) -> int:
        """Rows."""
        return self.Y.shape[0]

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    @property
    def free_intercept(self) -> bool:
        """Whether there is an intercept that is not penalised."""
        return self.intercept is True

    @property
    def column_weights(self) -> Array:
        """Weights (n, t), zero where a row takes no part in a column."""
        w = np.ones(self.n) if self.weights is None else self.weights.astype(np.float64)
        return w[:, None] * (self.Y != 0)

    @property
    def signs(self) -> Array:
        """±1 (n, t)."""
        return np.where(self.Y < 0, -1.0, 1.0)

    @property
    def by_features(self) -> bool:
        """Whether the features are fewer than the rows, and dense."""
        dense = isinstance(self.X, np.ndarray)
        return isinstance(self.kernel, Linear) and dense and self.X.shape[1] < self.n

    @property
    def seen(self) -> Array:
        """Rows (r,) that leave-one-out values are made of."""
        return np.arange(self.n) if self.judged is None else self.judged

    def part(self, rows: Array) -> SVMTask:
        """The same for some rows, all of them centers, without a scorer or folds."""
        return replace(
            self,
            X=self.X[np.ix_(rows, rows)] if self.given else _in_float64(self.X[rows]),
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            user_weights=None if self.user_weights is None else self.user_weights[rows],
            scorer=None,
            folds=None,
            kept=self.kept[rows],
            selector=None,
            n_centers=0,
            spare_folds=None,
            judged=None,
        )

    def plan(self) -> SVMPlan:
        """What it will hold, from shapes alone."""
        limit = bytes_allowed(self.memory_limit)
        searched = self.alphas is None or self.alphas.size > 1
        left_out = self.folds is None and (self.left_out or searched)
        features, centers, reason = 0, 0, "all rows, exactly"
        if self.selector is not None:
            features, centers, reason = self.n_centers, self.n_centers, "centers were asked for"
            if getattr(self.X, "by_tasks", False):
                reason += "; their features are held here on the client, not by workers"
        elif self.by_features:
            features, reason = self.X.shape[1], "fewer features than rows, and a linear kernel"
        copied = sum(fold.rest.size * (features or fold.rest.size) for fold in self.folds or [])
        columns = self.Y.shape[1]
        return SVMPlan(self.n, columns, features, centers, left_out, copied, limit, reason)


@dataclass(frozen=True)
class ScaledSystem:
    """A kernel matrix in units in which its largest number is about one.

    Attributes
    ----------
    system : KernelSystem
    unit : float
        A power of two; λ is divided by it, and coefficients are.
    level : float
        The mean of k(x, x) in this unit; for a linear kernel the spread of the rows, which does not
        depend on how far from zero they are.
    constant : bool
        Whether a constant was added to the kernel, for an intercept that is penalised.
    centers : CenterFeatures or None
        Of which the features are.
    origin : array (d,) or None
        What was taken off dense rows of a linear kernel whose intercept is not penalised: with
        Σβ = 0 it moves that alone, and rows far from zero keep their digits.
    """

    system: KernelSystem
    unit: float
    level: float
    constant: bool
    centers: CenterFeatures | None = None
    origin: Array | None = None

    @classmethod
    def of(cls, task: SVMTask, rng: np.random.RandomState | None = None) -> ScaledSystem:
        """Of a task, with the constant in the kernel where the intercept is penalised.

        Centers are drawn by ``rng``.

        Cost: n²d/2 multiplications and n²/2 evaluations, n² numbers; features are copied.
        """
        constant = task.intercept == "penalised"
        if task.selector is not None:
            assert rng is not None
            args = task.kernel, task.X, task.selector, task.kept, task.n_rows, rng
            centers, Z = CenterFeatures.of(*args)
            return cls._of_features(Z, constant, centers)
        X, origin = task.X, None
        if task.free_intercept and isinstance(task.kernel, Linear) and isinstance(X, np.ndarray):
            origin = X.mean(axis=0)
            X = X - origin
        if task.by_features:
            return replace(cls._of_features(X, constant), origin=origin)
        if task.given:
            K = np.array(task.X, np.float64)
            copy_triangle(K, to_upper=True)
        else:
            check_range(task.kernel, X)
            K = kernel_matrix(task.kernel, X, both_triangles=True)
        unit = power_of_two(np.diagonal(K))
        if unit != 1.0:
            K /= unit
        level = float(np.diagonal(K).mean())
        if isinstance(task.kernel, Linear):
            spread = level - float(K.mean())
            level = spread if spread > 1e-14 * level else level
        if constant:
            K += 1.0 / unit
        return cls(MatrixSystem(K), unit, level, constant, origin=origin)

    @classmethod
    def _of_features(
        cls, X: Array, constant: bool, centers: CenterFeatures | None = None
    ) -> ScaledSystem:
        """Of features, or of those of centers in their unit."""
        root = power_of_two(X)
        unit = root * root * (1.0 if centers is None else centers.basis.unit)
        Z = np.empty((X.shape[0], X.shape[1] + constant))
        np.divide(X, root, out=Z[:, : X.shape[1]])
        system = FeatureSystem(Z[:, : X.shape[1]])
        level = float(system.diagonal.mean())
        if centers is None:
            level = float(system.Z.var(axis=0).sum()) or level
        if constant:
            Z[:, -1] = 1.0 / np.sqrt(unit)
            system = FeatureSystem(Z)
        return cls(system, unit, level, constant, centers)

    def hyperplane(self, rows: Any, C: Array, b: Array, dtype: np.dtype) -> tuple[Array, Array]:
        """Coefficients (d, t) in ``dtype``, and b (t,), of a linear kernel.

        For coefficients C (s, t) of ``rows`` (s, d), and b, in the user's unit.
        """
        if self.origin is None:
            return np.asarray(rows.T @ C).astype(dtype), b
        W = ((rows - self.origin).T @ C).astype(dtype)
        return W, b - self.origin @ W.astype(np.float64)

    def center_coefficients(self, C: Array) -> Array:
        """Coefficients (r, t) of the centers, for those of rows (n, t) in the user's unit."""
        assert isinstance(self.system, FeatureSystem)
        assert self.centers is not None
        basis = self.centers.basis
        root = np.sqrt(self.unit / basis.unit)
        return basis.backward(root * (self.system.Z[:, : basis.size].T @ C))

    def part(self, rows: Array) -> ScaledSystem:
        """Of some rows."""
        return replace(self, system=self.system.part(rows))


def _in_float64(X: Any) -> Any:
    return X.astype(np.float64, copy=False)
