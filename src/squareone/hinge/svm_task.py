"""What a support vector machine is fitted to, and its kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..arrays import Array, copy_triangle, power_of_two
from ..errors import MemoryLimitError
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.tiles import kernel_matrix
from ..planning.available_memory import memory_limit as bytes_allowed
from ..planning.available_memory import readable
from ..selection.objective import HeldOutScorer
from ..targets import Labels
from .kernel_systems import FeatureSystem, KernelSystem, MatrixSystem

# Matrices (n, n) that a fit holds at its peak, and those of left-out values beside them.
_MATRICES, _LEFT_OUT_MATRICES = 2, 2


@dataclass(frozen=True)
class SVMTask:
    """Rows, columns of signs, and how λ is chosen.

    Attributes
    ----------
    kernel : Kernel
    X : array (n, d) or CSR matrix of float64, or a kernel matrix (n, n)
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
    folds : list of (array, array) or None
        Rows that are scored, and those that are fitted; None for leave-one-out values.
    left_out : bool
        Whether values that rows have not seen are wanted at the λ in the end.
    memory_limit : float, str or None
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
    folds: list[tuple[Array, Array]] | None
    left_out: bool
    memory_limit: float | str | None

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

    def part(self, rows: Array) -> SVMTask:
        """The same for some rows, without a scorer: for a search on few of them."""
        return replace(
            self,
            X=self.X[np.ix_(rows, rows)] if self.given else self.X[rows],
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            user_weights=None if self.user_weights is None else self.user_weights[rows],
            scorer=None,
            folds=None,
        )

    def check_memory(self) -> None:
        """Refuse what does not fit, before it is allocated."""
        limit = bytes_allowed(self.memory_limit)
        searched = self.alphas is None or self.alphas.size > 1
        left_out = self.folds is None and (self.left_out or searched)
        matrices = _MATRICES + _LEFT_OUT_MATRICES * left_out - self.by_features
        needed = 8.0 * self.n * (self.n * matrices + 60.0 * self.Y.shape[1])
        if needed > limit:
            fits = int(np.sqrt(limit / (8.0 * matrices)))
            msg = (
                f"{self.n:,} rows need {readable(needed)} for the kernel matrix and what is made "
                f"of it, and {readable(limit)} are there: fit about {fits:,} rows, or choose C by "
                "cv=5 and set calibration=None, which needs less"
            )
            raise MemoryLimitError(msg)


@dataclass(frozen=True)
class ScaledSystem:
    """A kernel matrix in units in which its largest number is about one.

    Attributes
    ----------
    system : KernelSystem
    unit : float
        A power of two; λ is divided by it, and coefficients are.
    level : float
        The mean of k(x, x) in this unit.
    """

    system: KernelSystem
    unit: float
    level: float

    @classmethod
    def of(cls, task: SVMTask) -> ScaledSystem:
        """Of a task, with the constant in the kernel where the intercept is penalised.

        Cost: n²d/2 multiplications and n²/2 evaluations, n² numbers; features are copied.
        """
        constant = task.intercept == "penalised"
        if task.by_features:
            return cls._of_features(task.X, constant)
        if task.given:
            K = np.array(task.X, np.float64)
            copy_triangle(K, to_upper=True)
        else:
            check_range(task.kernel, task.X)
            K = kernel_matrix(task.kernel, task.X, both_triangles=True)
        unit = power_of_two(np.diagonal(K))
        if unit != 1.0:
            K /= unit
        level = float(np.diagonal(K).mean())
        if constant:
            K += 1.0 / unit
        return cls(MatrixSystem(K), unit, level)

    @classmethod
    def _of_features(cls, X: Array, constant: bool) -> ScaledSystem:
        root = power_of_two(X)
        unit = root * root
        Z = np.empty((X.shape[0], X.shape[1] + constant))
        np.divide(X, root, out=Z[:, : X.shape[1]])
        system = FeatureSystem(Z[:, : X.shape[1]])
        level = float(system.diagonal.mean())
        if constant:
            Z[:, -1] = 1.0 / root
            system = FeatureSystem(Z)
        return cls(system, unit, level)

    def part(self, rows: Array) -> ScaledSystem:
        """Of some rows."""
        system = self.system
        if isinstance(system, FeatureSystem):
            return ScaledSystem(FeatureSystem(system.Z[rows]), self.unit, self.level)
        assert isinstance(system, MatrixSystem)
        return ScaledSystem(MatrixSystem(system.K[np.ix_(rows, rows)]), self.unit, self.level)
