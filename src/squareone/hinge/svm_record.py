"""What a support vector machine remembers of its fit, and what a file keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..fitting import part_states as state
from ..kernels import Kernel, Linear, Precomputed
from ..models import Calibration, Hyperplane, KernelExpansion
from ..persistence import FLOATS, INTEGERS, Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from ..targets import Labels

#: Columns of the path that are numbers, one for every λ that was tried.
PATH_NUMBERS = (
    "alpha",
    "C",
    "sigma",
    "rows",
    "primal",
    "dual",
    "gap",
    "kkt_violation",
    "support_vectors",
    "margin_rows",
    "systems",
    "loo_error",
    "loo_loss",
    "score",
    "exact",
)


@dataclass
class SVMRecord:
    """The model, its support vectors, the path, and values of models that have not seen a row.

    Attributes
    ----------
    model : KernelExpansion or Hyperplane
    kernel : Kernel
    targets : Labels
    alpha : float
    support : array (s,)
        Which of the user's rows have a coefficient in some column.
    dual : array (s, t)
        Their coefficients.
    path : dict of array (p,)
    kept : array (n,)
        Numbers of the rows of positive weight.
    Y : array (n, t)
        Their targets.
    values : array (n, t)
        Their values at the fit.
    user_weights : array (n,) or None
    class_weights : array (k,) or None
    left_out_rows : array (r,) or None
    left_out : array (r, t) or None
        Values of models that have not seen the row.
    left_out_by : {"exact", "folds"} or None
    radius : array (n, t) or None
        How far exact ones may be off.
    center_indices : array (r,) or None
        Which of the user's rows the centers of the model are; None where all rows were.
    calibrated_by : str or None
    calibration : Calibration or None
    n_features : int
    """

    model: KernelExpansion | Hyperplane
    kernel: Kernel
    targets: Labels
    alpha: float
    support: Array
    dual: Array
    path: dict[str, Array]
    kept: Array
    Y: Array
    values: Array
    user_weights: Array | None
    class_weights: Array | None
    left_out_rows: Array | None
    left_out: Array | None
    left_out_by: str | None
    radius: Array | None
    center_indices: Array | None
    calibrated_by: str | None
    calibration: Calibration | None
    n_features: int

    @property
    def centered(self) -> bool:
        """Whether few centers carry the coefficients of the model."""
        return self.center_indices is not None

    @property
    def sample(self) -> Self:
        """The rows behind it, as far as they are kept."""
        return self

    @property
    def alphas(self) -> Array:
        """λ of every column (t,)."""
        return np.full(self.Y.shape[1], self.alpha)

    @property
    def scored_rows(self) -> Array:
        """Rows (r,) that have values of models that have not seen them."""
        self._need_left_out()
        assert self.left_out_rows is not None
        return self.left_out_rows

    @property
    def comparable_scored_values(self) -> Array:
        """These values (r, t)."""
        self._need_left_out()
        assert self.left_out is not None
        return self.left_out

    @property
    def comparable_values(self) -> Array:
        """The same for every row (n, t), in their order."""
        rows, values = self.scored_rows, self.comparable_scored_values
        if not np.array_equal(np.sort(rows), np.arange(self.kept.size)):
            msg = "not every row was left out once: these values are there with folds, or cv=None"
            raise AttributeError(msg)
        return values[np.argsort(rows)]

    def _need_left_out(self) -> None:
        if self.left_out is None:
            msg = (
                "calibration=None and one alpha: no rows were left out. Fit with a calibration "
                "for leave-one-out values"
            )
            raise AttributeError(msg)

    def of_choice(self, name: str) -> float:
        """A column of the path where the alpha is that of the fit, on all rows."""
        rows = self.path["rows"] == self.path["rows"].max()
        here = np.flatnonzero(rows & (self.path["alpha"] == self.alpha))
        return float(self.path[name][here[-1]])

    @property
    def best_score(self) -> float:
        """The score of the alpha of the fit; refused where none was computed."""
        score = self.of_choice("score")
        if np.isnan(score):
            msg = "one alpha was given and calibration=None: nothing was scored"
            raise AttributeError(msg)
        return score

    @property
    def shown_center_coefficients(self) -> Array:
        """Coefficients (m,) or (m, t) of few centers."""
        if not self.centered:
            msg = "center_coef_ is for a fit with centers: see dual_coef_ and support_"
            raise AttributeError(msg)
        return self.targets.coefficients(self.model.coefficients)

    @property
    def shown_hyperplane(self) -> Array:
        """Coefficients (1, d) or (t, d) of a linear model."""
        if not isinstance(self.model, Hyperplane):
            msg = (
                f"coef_ is for a hyperplane, and this is an expansion in {self.kernel}: see "
                "dual_coef_ and support_"
            )
            raise AttributeError(msg)
        return np.atleast_2d(self.targets.coefficients(self.model.coefficients).T)

    @property
    def shown_intercepts(self) -> Array:
        """b of every column (t,)."""
        found = self.targets.coefficients(self.model.intercepts[None, :])
        return found if found.ndim == 1 else found[0]

    # --- in a file ---

    def state(self) -> dict[str, Any]:
        """All of it, as numbers, texts, arrays and the kernel."""
        model = self.model
        centers = None if isinstance(model, Hyperplane) else model.centers
        return {
            "kernel": self.kernel,
            "targets": state.of_targets(self.targets),
            "coefficients": model.coefficients,
            "intercepts": model.intercepts,
            "centers": None if centers is None else of_rows(centers),
            "alpha": float(self.alpha),
            "support": self.support,
            "dual": self.dual,
            "path": dict(self.path),
            "kept": self.kept,
            "Y": self.Y,
            "values": self.values,
            "user_weights": self.user_weights,
            "class_weights": self.class_weights,
            "left_out_rows": self.left_out_rows,
            "left_out": self.left_out,
            "left_out_by": self.left_out_by,
            "radius": self.radius,
            "center_indices": self.center_indices,
            "calibrated_by": self.calibrated_by,
            "calibration": self.calibration and state.of_calibration(self.calibration),
            "n_features": int(self.n_features),
        }

    @classmethod
    def from_state(cls, found: Fields) -> SVMRecord:
        """What :meth:`state` gave, from a file; refused where it cannot be one."""
        with found:
            kernel = found.take("kernel", Kernel)
            Y = found.array("Y", (None, None), FLOATS)
            n, t = Y.shape
            targets = state.targets_from(found.inner("targets"), t)
            if not isinstance(targets, Labels):
                refuse(found.where, "classes belong to a classifier")
            d = found.take("n_features", int)
            state.check_kernel(kernel, d, f"{found.where}.kernel")
            kept = found.array("kept", (n,), INTEGERS, least=0)
            support = found.array("support", (None,), INTEGERS, least=0)
            if not np.isin(support, kept).all():
                refuse(found.where, "support vectors are not among the rows")
            indices = _maybe(found, "center_indices", (None,), dtypes=INTEGERS, least=-1)
            model = _model_from(found, kernel, support, indices, t, d)
            record = cls(
                model=model,
                kernel=kernel,
                targets=targets,
                alpha=found.number("alpha", positive=True),
                support=support,
                dual=found.array("dual", (support.size, t)),
                path=_path_from(found.inner("path")),
                kept=kept,
                Y=Y,
                values=found.array("values", (n, t)),
                user_weights=_maybe(found, "user_weights", (n,), least=0.0),
                class_weights=_maybe(found, "class_weights", targets.classes.shape, least=0.0),
                left_out_rows=None,
                left_out=None,
                left_out_by=None,
                radius=_maybe(found, "radius", (n, t), finite=False),
                center_indices=indices,
                calibrated_by=found.take("calibrated_by", str, type(None)),
                calibration=None,
                n_features=d,
            )
            record._read_left_out(found)
            if found.given("calibration"):
                record.calibration = state.calibration_from(
                    found.inner("calibration"), _columns(record)
                )
        return record

    def _read_left_out(self, found: Fields) -> None:
        """The values of rows that were left out, where there are any."""
        n, t = self.Y.shape
        if not found.given("left_out"):
            found.take("left_out_rows", type(None))
            found.take("left_out_by", type(None))
            return
        self.left_out = found.array("left_out", (None, t))
        self.left_out_rows = found.array(
            "left_out_rows", (self.left_out.shape[0],), INTEGERS, least=0
        )
        self.left_out_by = found.take("left_out_by", str)
        if (self.left_out_rows >= n).any() or self.left_out_by not in ("exact", "folds"):
            refuse(found.where, "rows were left out that are not there")


def _columns(record: SVMRecord) -> int:
    """Columns of decision values."""
    return record.targets.decisions(record.Y[:1]).shape[1]


def _maybe(found: Fields, name: str, shape: tuple[int | None, ...], **bounds: Any) -> Array | None:
    return found.array(name, shape, **bounds) if found.given(name) else None


def _model_from(
    found: Fields, kernel: Kernel, support: Array, centers: Array | None, t: int, d: int
) -> KernelExpansion | Hyperplane:
    """Of the rows that are ``centers`` (m,), or where there are none of those of ``support``."""
    points = support if centers is None else centers
    coefficients = found.array("coefficients", (None, t))
    intercepts = found.array("intercepts", (t,), (np.float64,))
    given = isinstance(kernel, Precomputed)
    linear = isinstance(kernel, Linear) and centers is None
    if coefficients.shape[0] != (d if linear else points.size):
        refuse(found.where, f"coefficients have shape {coefficients.shape}")
    if linear or given:
        found.take("centers", type(None))
    if linear:
        return Hyperplane(coefficients, intercepts)
    rows = None if given else rows_from(found, "centers", points.size, coefficients.dtype)
    if rows is not None and rows.shape[1] != d:
        refuse(found.where, f"centers have {rows.shape[1]} features, not {d}")
    return KernelExpansion(kernel, rows, points, coefficients, intercepts)


def _path_from(found: Fields) -> dict[str, Array]:
    with found:
        path = {}
        size: int | None = None
        for name in PATH_NUMBERS:
            path[name] = found.array(name, (size,), (np.float64,), finite=False)
            size = path[name].size
        return path
