"""A stream under way, from a file: every array is looked at before anything goes on from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..fitting import part_states as state
from ..kernels import Kernel
from ..persistence import INTEGERS, Fields, refuse
from ..persistence.stored_rows import rows_from
from . import (
    Always,
    Average,
    DiagonalLearners,
    DualLearners,
    Engine,
    Hierarchy,
    Hypotheses,
    Learners,
    Penalised,
    PrimalLearners,
    Sampler,
    SideBySide,
    SketchedLearners,
    State,
)

_FLOAT = (np.float64,)


def restore_record(estimator: Any, found: Fields) -> None:
    """Set what :meth:`Streaming._fitted_state` gave."""
    with found.inner("record") as fields:
        kernel = fields.take("kernel", Kernel)
        intercept, form = fields.take("intercept", bool), fields.take("form", str)
        columns = fields.take("columns", int)
        targets = estimator._targets_from(fields.inner("targets"), columns)
        d = fields.take("n_features", int)
        estimator._check_parameters()
        estimator._restore_features(found, d)
        if d < 1 or intercept != bool(estimator.fit_intercept):
            refuse(fields.where, "there are no features, or another constant")
        state.check_kernel(kernel, d, f"{fields.where}.kernel")
        record = estimator._kind_of_record(targets, kernel, d)
        record.intercept, record.passes = intercept, fields.take("passes", int)
        record.extra = _extra(fields.inner("extra"))
        estimator.kernel_, estimator._record = kernel, record
        record.form = estimator._chosen_form(columns)
        if record.form != form or record.passes < 1:
            refuse(fields.where, f"form {form!r} does not belong to these parameters")
        record.engine = estimator._engine(columns, targets)
        record.engine.restore(_engine_state(fields.inner("engine"), record.engine))
        record.changed()
    for name in _shown(estimator):
        if found.given(name):
            setattr(estimator, name, found.take(name, object))


def shown_state(estimator: Any) -> dict[str, Any]:
    """What a simulated stream has shown."""
    return {name: vars(estimator).get(name) for name in _shown(estimator)}


def _shown(estimator: Any) -> tuple[str, ...]:
    return getattr(estimator, "_shown_attributes", ())


def _extra(found: Fields) -> dict[str, Any]:
    with found:
        return {name: found.take(name, int) for name in found.names()}


def _counts(found: Fields, name: str, size: int) -> Any:
    return found.array(name, (size,), INTEGERS, least=0)


def _engine_state(found: Fields, engine: Engine | Hierarchy) -> State:
    with found:
        if isinstance(engine, SideBySide):
            runs = found.take("runs", list)
            if len(runs) != len(engine.runs):
                refuse(found.where, f"{len(engine.runs)} runs are expected, got {len(runs)}")
            return {
                "runs": [
                    _run_state(Fields(each, f"{found.where}.runs"), run)
                    for each, run in zip(runs, engine.runs, strict=True)
                ]
            }
        if isinstance(engine, Hierarchy):
            return _hierarchy_state(found, engine)
        t = engine.learners.columns
        common = {
            "learners": _learners_state(found.inner("learners"), engine.learners),
            "rounds": _whole(found, "rounds"),
        }
        if isinstance(engine, Always):
            return {
                **common,
                "squares": found.array("squares", (t,), _FLOAT, least=0.0),
                "weight": found.number("weight"),
            }
        assert isinstance(engine, Sampler)
        return {
            **common,
            "labels": _counts(found, "labels", engine.labels.size),
            "positives": _counts(found, "positives", t),
            "energies": found.array("energies", (t,), _FLOAT),
            "log_determinants": found.array("log_determinants", (t,), _FLOAT),
            "updates": _counts(found, "updates", t),
        }


def _hierarchy_state(found: Fields, engine: Hierarchy) -> State:
    learned = found.take("learners", list)
    if len(learned) != len(engine.families):
        refuse(found.where, f"{len(engine.families)} families are expected, got {len(learned)}")
    return {
        "learners": [
            _learners_state(Fields(each, f"{found.where}.learners"), family.learners)
            for each, family in zip(learned, engine.families, strict=True)
        ],
        "rounds": _whole(found, "rounds"),
        "mistakes": _whole(found, "mistakes"),
        "loss": found.number("loss"),
    }


def _whole(found: Fields, name: str) -> int:
    value = found.take(name, int)
    if value < 0:
        refuse(f"{found.where}.{name}", f"a number at or above zero is expected, got {value}")
    return int(value)


def _run_state(found: Fields, run: Any) -> State:
    with found:
        learners = _learners_state(found.inner("learners"), run.learners)
        return {
            "learners": learners,
            "hypotheses": _hypotheses_state(
                found.inner("hypotheses"), run.hypotheses, run.learners, learners
            ),
            "rounds": _whole(found, "rounds"),
            "loss": found.number("loss"),
            "updates": _counts(found, "updates", run.learners.columns),
        }


def _hypotheses_state(
    found: Fields, hypotheses: Hypotheses, learners: Learners, of_learners: State
) -> State:
    t = learners.columns
    most = of_learners["points"].shape[0] if "points" in of_learners else learners.features
    with found:
        if isinstance(hypotheses, Average):
            total = found.array("total", (None, None), _FLOAT)
            return {"total": total, "since": _whole(found, "since")}
        if isinstance(hypotheses, Penalised):
            made = found.array("made", (None,), INTEGERS, least=0)
            weights = found.take("weights", list)
            for W in weights:
                fits = isinstance(W, np.ndarray) and W.ndim == 2 and W.dtype == np.float64
                if not fits or W.shape[0] > most or W.shape[1] > t or not np.isfinite(W).all():
                    refuse(found.where, "weights are not those of these columns")
            if len(weights) not in (0, made.size):
                refuse(found.where, f"{made.size} hypotheses have {len(weights)} weights")
            losses = found.array("losses", made.shape, _FLOAT, least=0.0)
            return {"made": made, "losses": losses, "weights": weights}
        return {}


def _learners_state(found: Fields, learners: Learners) -> State:
    with found:
        return _READ[type(learners)](found, learners)


def _groups(
    found: Fields, learners: Learners, read: Callable[[Fields, int], State]
) -> list[State | None]:
    groups = found.take("groups", list)
    if len(groups) != learners.groups:
        refuse(found.where, f"{learners.groups} groups are expected, got {len(groups)}")
    c = learners.columns if learners.shared else 1
    result: list[State | None] = []
    for each in groups:
        if each is None:
            result.append(None)
            continue
        with Fields(each, f"{found.where}.groups") as inner:
            result.append(read(inner, c))
    return result


def _primal(found: Fields, learners: Learners) -> State:
    d = learners.features

    def inverse(each: Fields, c: int) -> State:
        rows = each.array("rows", (None, d), _FLOAT)
        return {
            "inverse": each.array("inverse", (d, d), _FLOAT),
            "A": each.array("A", (d, d), _FLOAT),
            "V": each.array("V", (c, d), _FLOAT),
            "rows": rows,
            "targets": each.array("targets", (rows.shape[0], c), _FLOAT),
            "scale": each.number("scale", positive=True),
            "since": _whole(each, "since"),
        }

    weights = found.array("weights", (learners.columns, d), _FLOAT)
    return {"weights": weights, "groups": _groups(found, learners, inverse)}


def _diagonal(found: Fields, learners: Learners) -> State:
    d = learners.features
    return {
        "V": found.array("V", (d, learners.columns), _FLOAT),
        "diagonal": found.array("diagonal", (d, learners.groups), _FLOAT, least=learners.a),
    }


def _sketch(found: Fields, learners: Learners) -> State:
    assert isinstance(learners, SketchedLearners)
    d = learners.features

    def sketch(each: Fields, c: int) -> State:
        S = each.array("S", (None, d), _FLOAT)
        if S.shape[0] > 2 * learners.size:
            refuse(each.where, f"at most {2 * learners.size} rows are expected, got {S.shape[0]}")
        gram = each.array("gram", (S.shape[0], S.shape[0]), _FLOAT)
        if not np.allclose(gram, S @ S.T, atol=1e-8 * np.abs(gram).max(initial=0.0)):
            refuse(each.where, "gram is not that of its rows")
        return {
            "S": S,
            "gram": gram,
            "V": each.array("V", (d, c), _FLOAT),
            "products": each.array("products", (S.shape[0], c), _FLOAT),
            "ridge": each.number("ridge", positive=True),
        }

    return {"groups": _groups(found, learners, sketch)}


def _dual(found: Fields, learners: Learners) -> State:
    rounds = found.array("rounds", (None,), INTEGERS, least=0)
    count = rounds.size
    points = rows_from(found, "points", count, np.dtype(np.float64))
    if points.shape[1] != learners.features:
        refuse(found.where, f"points have {points.shape[1]} features, not {learners.features}")

    def factor(each: Fields, c: int) -> State:
        members = each.array("members", (None,), INTEGERS, least=0)
        m = members.size
        if np.unique(members).size < m or (members >= count).any():
            refuse(each.where, "members are not among the points")
        L = each.array("L", (m, m), _FLOAT)
        if (np.diagonal(L) <= 0).any():
            refuse(each.where, "the factor is singular")
        targets = each.array("targets", (m, c), _FLOAT)
        return {"members": members, "L": L, "targets": targets, "since": _whole(each, "since")}

    groups = _groups(found, learners, factor)
    if any(each is None for each in groups):
        refuse(found.where, "a group is missing")
    return {
        "points": points,
        "rounds": rounds,
        "seen": _whole(found, "seen"),
        "coefficients": found.array("coefficients", (count, learners.columns), _FLOAT),
        "groups": groups,
    }


_READ: dict[type[Learners], Callable[[Fields, Learners], State]] = {
    PrimalLearners: _primal,
    DiagonalLearners: _diagonal,
    SketchedLearners: _sketch,
    DualLearners: _dual,
}
