"""The result of a greedy fit: paths of models, and any model on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..fitting import part_states as state
from ..kernels import Kernel, Precomputed
from ..models import KernelExpansion, SumOfExpansions
from ..persistence import INTEGERS, Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from ..rows import rows_of
from ..targets import Labels, Responses
from . import GreedyPath

# The arrays of a path in a file, and its texts and numbers.
_CURVES = ("penalties", "gcv", "criterion", "errors", "degrees", "conditions")


@dataclass
class GreedyRecord:
    """The paths of a fit, the points on them, and how far each is followed.

    Attributes
    ----------
    kernels : list of Kernel
    targets : Responses or Labels
    groups : list of array
        Which target columns each path has.
    paths : list of GreedyPath
    counts : list of int
        Centers of the model, path by path.
    candidates : array (u,)
        All that are on a path, ascending: the kernel's number times n, and the point's.
    points : array (u, d), CSR matrix or None
        Their rows; None for a precomputed kernel.
    numbers : array (n,)
        Which of the user's rows the n of the fit are.
    unit : float
        In which the targets were fitted.
    dtype : dtype
    n_features : int
    """

    kernels: list[Kernel]
    targets: Responses | Labels
    groups: list[Array]
    paths: list[GreedyPath]
    counts: list[int]
    candidates: Array
    points: Any
    numbers: Array
    unit: float
    dtype: np.dtype
    n_features: int

    @property
    def model(self) -> KernelExpansion | SumOfExpansions:
        """The model that was chosen."""
        return self._made[0]

    @property
    def chosen(self) -> Array:
        """Candidates of the model (u,)."""
        return self._made[1]

    @property
    def coefficients(self) -> Array:
        """(u, t)."""
        return self._made[2]

    @property
    def intercepts(self) -> Array:
        """(t,)."""
        return self._made[3]

    @property
    def shown_intercepts(self) -> float | Array:
        """The constant: a number, or (t,); for classes (1,), (k,) or (labels,)."""
        found = self.targets.coefficients(self.intercepts[None, :])[0]
        single = isinstance(self.targets, Labels) and not np.ndim(found)
        return np.array([found]) if single else found

    @cached_property
    def _made(self) -> tuple[Any, Array, Array, Array]:
        t = sum(group.size for group in self.groups)
        used = [
            path.candidates[:count] for path, count in zip(self.paths, self.counts, strict=True)
        ]
        union = np.unique(np.concatenate(used)) if used else np.empty(0, int)
        C, intercepts = np.zeros((union.size, t)), np.zeros(t)
        for group, path, count, own in zip(self.groups, self.paths, self.counts, used, strict=True):
            found, constant = path.coefficients(count)
            places = np.searchsorted(union, own)
            C[np.ix_(places, group)] = found * self.unit
            intercepts[group] = constant * self.unit
        n = self.numbers.size
        parts = []
        for number, kernel in enumerate(self.kernels):
            here = union // n == number
            places = np.searchsorted(self.candidates, union[here])
            centers = None if self.points is None else self.points[places]
            indices = self.numbers[union[here] % n]
            constant = intercepts if number == 0 else np.zeros(t)
            coefficients = C[here].astype(self.dtype)
            parts.append(KernelExpansion(kernel, centers, indices, coefficients, constant))
        model = parts[0] if len(parts) == 1 else SumOfExpansions(parts)
        return model, union, C.astype(self.dtype), intercepts

    def followed(self, counts: list[int]) -> GreedyRecord:
        """The same with other numbers of centers."""
        return replace(self, counts=counts)

    def centers(self) -> Any:
        """The points of the model (u, d)."""
        return self.points[np.searchsorted(self.candidates, self.chosen)]

    def table(self) -> dict[str, Array]:
        """Every model on the paths, as columns of equal length."""
        rows: dict[str, list[Array]] = {}
        square = self.unit**2
        n = self.numbers.size
        for number, path in enumerate(self.paths):
            steps = np.arange(path.longest + 1)
            center = np.full(steps.size, -1)
            center[1:] = self.numbers[path.candidates % n]
            kernel = np.full(steps.size, -1)
            kernel[1:] = path.candidates // n
            again = np.zeros(steps.size, int)
            again[1:] = path.repeats
            columns = {
                "model": np.full(steps.size, number),
                "centers": steps,
                "center": center,
                "kernel": kernel,
                "lambda": path.penalties,
                "gcv": path.gcv * square,
                "criterion": path.criterion,
                "training_error": path.errors * square,
                "effective_dof": path.degrees,
                "condition": path.conditions,
                "reorthogonalised": again,
            }
            for name, values in columns.items():
                rows.setdefault(name, []).append(values)
        return {name: np.concatenate(values) for name, values in rows.items()}

    # --- in a file ---

    def state(self) -> dict[str, Any]:
        """All of it, as numbers, texts, arrays and kernels."""
        return {
            "kernels": list(self.kernels),
            "targets": state.of_targets(self.targets),
            "groups": [group.tolist() for group in self.groups],
            "counts": [int(count) for count in self.counts],
            "candidates": self.candidates,
            "points": None if self.points is None else of_rows(self.points),
            "numbers": self.numbers,
            "unit": float(self.unit),
            "bits": 8 * self.dtype.itemsize,
            "n_features": int(self.n_features),
            "paths": [_of_path(path) for path in self.paths],
        }

    @classmethod
    def from_state(cls, found: Fields) -> GreedyRecord:
        """What :meth:`state` gave, from a file; refused where it cannot be one."""
        with found:
            kernels = found.take("kernels", list)
            if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
                refuse(found.where, "there are no kernels")
            numbers = found.array("numbers", (None,), INTEGERS, least=0)
            candidates = found.array("candidates", (None,), INTEGERS, least=0)
            n, d = numbers.size, found.take("n_features", int)
            if (np.diff(candidates) <= 0).any() or (candidates >= n * len(kernels)).any():
                refuse(found.where, "candidates are not points of these rows")
            bits = found.take("bits", int)
            if bits not in (32, 64) or d < 1:
                refuse(found.where, "there is no such type, or there are no features")
            dtype = np.dtype(f"f{bits // 8}")
            given = any(isinstance(kernel, Precomputed) for kernel in kernels)
            points = None
            if given:
                found.take("points", type(None))
            else:
                points = rows_from(found, "points", candidates.size, dtype)
                if points.shape[1] != d:
                    refuse(found.where, f"points have {points.shape[1]} features, not {d}")
            for kernel in kernels:
                state.check_kernel(kernel, d, f"{found.where}.kernels")
            groups = [np.array(group, int) for group in found.take("groups", list)]
            t = sum(group.size for group in groups)
            together = np.sort(np.concatenate(groups)) if groups else np.empty(0, int)
            if t == 0 or not np.array_equal(together, np.arange(t)):
                refuse(found.where, "groups do not share out the columns")
            unit = found.number("unit", positive=True)
            targets = state.targets_from(found.inner("targets"), t)
            paths = [
                _path_from(Fields(values, f"{found.where}.paths"), n, candidates, group.size)
                for values, group in zip(found.take("paths", list), groups, strict=True)
            ]
            counts = found.take("counts", list)
            fits = len(counts) == len(paths) and all(
                type(count) is int and 0 <= count <= path.longest
                for count, path in zip(counts, paths, strict=True)
            )
            if not fits:
                refuse(found.where, "there are not so many centers")
        return cls(
            kernels, targets, groups, paths, counts, candidates, points, numbers, unit, dtype, d
        )


def _of_path(path: GreedyPath) -> dict[str, Any]:
    return {
        **{name: getattr(path, name) for name in _CURVES},
        "candidates": path.candidates,
        "triangle": path.triangle,
        "projections": path.projections,
        "repeats": path.repeats,
        "free": path.free,
        "best": int(path.best),
        "ended": path.ended,
        "skipped": int(path.skipped),
    }


def _path_from(found: Fields, n: int, known: Array, t: int) -> GreedyPath:
    with found:
        candidates = found.array("candidates", (None,), INTEGERS, least=0)
        m = candidates.size
        if np.unique(candidates).size < m or not np.isin(candidates, known).all():
            refuse(found.where, "its centers are not among the points")
        free = found.take("free", int)
        if free not in (0, 1):
            refuse(found.where, f"free is 0 or 1, got {free}")
        size = m + free
        triangle = found.array("triangle", (size, size), (np.float64,))
        if (np.diagonal(triangle) <= 0).any():
            refuse(found.where, "its triangle is singular")
        projections = found.array("projections", (size, t), (np.float64,))
        curves = {
            name: found.array(name, (m + 1,), (np.float64,), finite=name == "penalties")
            for name in _CURVES
        }
        if (curves["penalties"] < 0).any():
            refuse(found.where, "λ is negative")
        repeats = found.array("repeats", (m,), INTEGERS, least=0)
        best, skipped = found.take("best", int), found.take("skipped", int)
        if not 0 <= best <= m:
            refuse(found.where, f"there are {m} centers, not {best}")
        return GreedyPath(
            n,
            candidates,
            triangle,
            projections,
            repeats=repeats,
            free=free,
            best=best,
            ended=found.take("ended", str),
            skipped=skipped,
            **curves,
        )


def rows_at(X: Any, rows: Array) -> Any:
    """Some rows of an array, a CSR matrix or a stream."""
    return rows_of(X)[rows].X
