"""The parts of a fit as numbers, texts and arrays, and back again from a file, checked."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..models import CALIBRATIONS, Calibration, from_state
from ..persistence import FLOATS, INTEGERS, Fields, refuse
from ..planning import Plan, Task
from ..planning.machine_speed import KINDS
from ..selection import Folds, GeneralisedCrossValidation, LeaveOneOut, MarginalLikelihood, Path
from ..selection.criteria import Criterion, Fold
from ..solvers.contract import Candidate, Work
from ..targets import Code, Coding, Labels, Responses

Plain = TypeVar("Plain")


# --- targets ---


def of_targets(targets: Responses | Labels) -> dict[str, Any]:
    """``vector``, or ``classes`` (k,), ``multilabel`` and the ``code``."""
    if isinstance(targets, Responses):
        return {"vector": targets.vector}
    # the labels of an indicator matrix are numbered
    classes = None if targets.multilabel else targets.classes
    return {
        "classes": classes,
        "multilabel": targets.multilabel,
        "code": targets.code and _of_code(targets.code),
    }


def _of_code(code: Code) -> dict[str, Any]:
    """Its ``coding``, ``matrix`` (k, c) and ``turn`` (t, c)."""
    return {"coding": code.coding, "matrix": code.matrix, "turn": code.turn}


def _code_from(found: Fields, k: int, t: int) -> Code:
    """For ``k`` classes and ``t`` solved columns."""
    with found:
        coding = found.take("coding", Coding)
        matrix = found.array("matrix", (k, None), (np.float64,))
        turn = found.array("turn", (t, matrix.shape[1]), (np.float64,))
        if not np.array_equal(matrix, coding.matrix(k)):
            refuse(found.where, f"this is not the code of {coding!r} for {k} classes")
        return Code(coding, matrix, turn)


def targets_from(found: Fields, t: int) -> Responses | Labels:
    """For ``t`` columns."""
    with found:
        if found.has("vector"):
            vector = found.take("vector", bool)
            if vector and t != 1:
                refuse(found.where, f"a vector has one column, not {t}")
            return Responses(vector)
        multilabel = found.take("multilabel", bool)
        coded = found.given("code")
        if not found.given("classes"):
            if not multilabel or coded:
                refuse(found.where, "there are no classes")
            return Labels(np.arange(t), True)
        classes = found.take("classes", np.ndarray)
        fitting = classes.size > 2 if coded else classes.size == (2 if t == 1 else t)
        if multilabel or classes.ndim != 1 or not fitting:
            refuse(found.where, f"{classes.shape} classes do not belong to {t} columns")
        if np.unique(classes).size < classes.size:
            refuse(found.where, "a class stands there twice")
        code = _code_from(found.inner("code"), classes.size, t) if coded else None
        return Labels(classes, False, code)


# --- kernel ---


def check_kernel(kernel: Kernel, d: int, where: str) -> None:
    """Refuse a kernel that is not ready for rows of ``d`` features."""
    kernel.check_parameters()
    for name, value in kernel.get_params(deep=True).items():
        metric = name.rpartition("__")[2] == "metric"
        if metric and value is None:
            continue
        if value is None or isinstance(value, str | list):
            refuse(where, f"{name} is not a number yet")
        if not isinstance(value, np.ndarray):
            continue
        for_features = value.shape[:1] if metric else value.shape
        if for_features != (d,) or not (metric or name.endswith("sigma")):
            refuse(where, f"{name} has shape {value.shape}, and there are {d} features")


# --- calibration ---


def of_calibration(calibration: Calibration) -> dict[str, Any]:
    """Its ``method``, ``exclusive`` and the ``arrays`` of its own state."""
    method = next(name for name, kind in CALIBRATIONS.items() if kind is type(calibration))
    return {
        "method": method,
        "exclusive": calibration.exclusive,
        "arrays": calibration.state(),
    }


def calibration_from(found: Fields, t: int) -> Calibration:
    """For ``t`` columns."""
    with found:
        method, exclusive = found.take("method", str), found.take("exclusive", bool)
        arrays = found.take("arrays", dict)
        with Fields(arrays, f"{found.where}.arrays") as each:
            arrays = {name: each.array(name, (None,), FLOATS + INTEGERS) for name in arrays}
        calibration = from_state(method, arrays, exclusive=exclusive)
        if not (arrays.get("slopes", np.ones(1)) > 0).all():
            refuse(found.where, "probabilities have to increase with the values")
        if arrays.get("offsets", np.ones(t)).shape != (t,):
            refuse(found.where, f"offsets do not belong to {t} columns")
    seen = calibration.probabilities(np.zeros((1, t)))
    if seen.shape != (1, t) or not ((seen >= 0) & (seen <= 1)).all():
        refuse(found.where, f"it does not make probabilities of {t} values")
    return calibration


# --- path, looks and criterion ---


def of_path(path: Path | None) -> dict[str, Array] | None:
    """Its columns."""
    if path is None:
        return None
    return {f.name: getattr(path, f.name) for f in fields(Path) if f.name != "squares"}


def path_from(found: Fields, columns: int) -> Path:
    """With ``columns`` rows of scores."""
    with found:
        alphas = found.array("alphas", (None,), least=0.0)
        size = alphas.size
        if size == 0 or (np.diff(alphas) <= 0).any():
            refuse(found.where, "λ are not ascending")
        table = (columns, size)
        chosen = found.array("chosen", (columns,), INTEGERS, least=0)
        if not chosen.max() < size:
            refuse(found.where, "chosen does not say which λ these are")
        return Path(
            alphas,
            found.array("scores", table, finite=False),
            found.array("errors", table, finite=False),
            found.array("bias", table, finite=False),
            found.array("tie", table, finite=False),
            found.array("reported", table, finite=False),
            found.array("dof", (size,), finite=False),
            found.array("bits", (size,), INTEGERS, least=1),
            found.array("residuals", (size,), finite=False),
            np.empty((0, size)),
            chosen,
        )


def of_criterion(criterion: Criterion) -> dict[str, Any]:
    """Its ``name``, with a ``scale``, or the rows of folds one after the other."""
    state: dict[str, Any] = {"name": criterion.name}
    if isinstance(criterion, MarginalLikelihood):
        state["scale"] = criterion.scale
    elif isinstance(criterion, Folds):
        state["sizes"] = np.array([fold.removed.size for fold in criterion.folds])
        state["removed"] = np.concatenate([fold.removed for fold in criterion.folds])
        state["scored"] = np.concatenate([fold.scored for fold in criterion.folds])
    return state


def criterion_from(found: Fields, n: int) -> Criterion:
    """For ``n`` rows."""
    with found:
        name = found.take("name", str)
        if name == LeaveOneOut.name:
            return LeaveOneOut()
        if name == GeneralisedCrossValidation.name:
            return GeneralisedCrossValidation()
        if name == MarginalLikelihood.name:
            given = found.given("scale")
            return MarginalLikelihood(found.number("scale", positive=True) if given else None)
        sizes = found.array("sizes", (None,), INTEGERS, least=1)
        removed = found.array("removed", (int(sizes.sum()),), INTEGERS, least=0)
        scored = found.array("scored", removed.shape, (np.bool_,))
        ends = np.cumsum(sizes)[:-1]
        folds = [
            Fold(*rows)
            for rows in zip(np.split(removed, ends), np.split(scored, ends), strict=True)
        ]
        for fold in folds:
            rows = fold.removed
            if (np.diff(rows) <= 0).any() or not rows[-1] < n or rows.size == n:
                refuse(found.where, "a fold is not one of these rows")
        if not folds or name not in ("cv", "holdout"):
            refuse(found.where, f"{name!r} is not known")
        return Folds(folds, name)


# --- dataclasses of numbers and texts ---


def of_plan(plan: Plan) -> dict[str, Any]:
    """Its fields, those of the task and of every candidate."""
    return asdict(plan)


def plan_from(found: Fields) -> Plan:
    """A plan that can be printed."""
    with found:
        candidates = [
            _candidate(Fields(values, f"{found.where}.candidates"))
            for values in found.take("candidates", list)
        ]
        plan = Plan(
            plain(Task, found.inner("task")),
            candidates,
            found.take("solver", str),
            found.take("reason", str),
            found.take("memory_limit", float),
            {name: float(seconds) for name, seconds in found.take("stages", dict).items()},
            tuple(str(name) for name in found.take("untried", tuple)),
        )
        if plan.solver not in [candidate.solver for candidate in candidates]:
            refuse(found.where, f"solver {plan.solver!r} is not among the candidates")
        return plan


def _candidate(found: Fields) -> Candidate:
    with found:
        work = tuple(
            plain(Work, Fields(values, f"{found.where}.work"))
            for values in found.take("work", tuple)
        )
        for part in work:
            if part.kind not in KINDS or part.bits not in (32, 64):
                refuse(found.where, f"{part.kind}-{part.bits} is not known")
        return Candidate(
            found.take("solver", str),
            work,
            found.take("bytes", float),
            found.take("form", str),
            found.take("refused", str),
            found.take("least", float),
        )


def plain(kind: type[Plain], found: Fields) -> Plain:
    """A dataclass whose fields are numbers, texts and flags."""
    expected = _types(kind)  # type: ignore[arg-type]
    with found:
        return kind(**{name: found.take(name, *kinds) for name, kinds in expected.items()})


@cache
def _types(kind: type) -> dict[str, tuple[type, ...]]:
    """What may stand in the fields of a dataclass."""
    hints = get_type_hints(kind)
    return {
        field.name: get_args(hints[field.name]) or (hints[field.name],) for field in fields(kind)
    }
