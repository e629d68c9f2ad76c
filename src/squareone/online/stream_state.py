"""Streams in files: every array is looked at before a stream goes on from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..fitting import part_states
from ..kernels import Kernel
from ..persistence import INTEGERS, Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from .diagonal import DiagonalLearners
from .dual import DualLearners
from .engines import Engine, IncrementalEngine, RidgeComparison
from .first_rows import WIDTH_ROWS, FirstRows, LearnedRows
from .hierarchy import Hierarchy
from .hypotheses import Average, Hypotheses, Penalised
from .learners import Learners, State
from .named_rows import FeatureNames
from .node_labels import NodeLabels
from .perceptron import PerceptronEngine
from .primal import PrimalLearners
from .sampling import Sampler, SamplingMethod
from .stream_learner import StreamLearner, StreamSettings

_FLOAT = (np.float64,)


def stream_state(stream: StreamLearner) -> dict[str, Any]:
    """All of a stream, for a file."""
    settings, targets = stream.settings, stream.targets
    nodes = isinstance(targets, NodeLabels)
    return {
        "started": settings.parameters,
        "targets": targets.state() if nodes else part_states.of_targets(targets),
        "columns": int(stream.columns),
        "n_features": int(stream.n_features),
        "names": None if stream.names is None else list(stream.names.names),
        "kernel": stream.kernel,
        "intercept": settings.intercept,
        "form": stream.form,
        "passes": int(stream.passes),
        "weighted": stream.weighted,
        "warned": stream.warned,
        "engine": _stored(stream.engine.state()),
        "first_rows": stream.first_rows and _of_first_rows(stream.first_rows),
        "recent": stream.recent and stream.recent.state(),
        "extra": {} if settings.method.seed is None else {"seed": settings.method.seed},
    }


def _stored(values: Any) -> Any:
    """The state of learners with sparse points as a file has them."""
    if isinstance(values, dict):
        return {
            name: of_rows(each) if name == "points" else _stored(each)
            for name, each in values.items()
        }
    return [_stored(each) for each in values] if isinstance(values, list) else values


def _of_first_rows(first: FirstRows) -> dict[str, Any]:
    return {
        "rows": of_rows(first.rows),
        "count": int(first.rows.shape[0]),
        "columns": int(first.columns),
        "events": [each and _of_learned(each) for each in first.events],
    }


def _of_learned(rows: LearnedRows) -> dict[str, Any]:
    return {
        "X": of_rows(rows.X),
        "Y": rows.Y,
        "weights": rows.weights,
        "given": rows.given,
    }


def stream_from_state(
    found: Fields, d: int, settings: StreamSettings, targets_from: Callable[[Fields, int], Any]
) -> StreamLearner:
    """What :func:`stream_state` gave, of ``d`` features; ``settings`` are of its parameters.

    ``targets_from`` reads targets of so many columns.
    """
    kernel = found.take("kernel", Kernel)
    form, columns = found.take("form", str), found.take("columns", int)
    targets = targets_from(found.inner("targets"), columns)
    if d < 0 or found.take("intercept", bool) != settings.intercept:
        refuse(found.where, "there are no features, or another constant")
    part_states.check_kernel(kernel, d, f"{found.where}.kernel")
    settings = _seeded(settings, found.inner("extra"))
    stream = StreamLearner(settings, targets, d, _names(found, d), kernel)
    stream.passes = found.take("passes", int)
    stream.weighted, stream.warned = found.take("weighted", bool), found.take("warned", bool)
    if stream.form != form or stream.passes < 1:
        refuse(found.where, f"form {form!r} does not belong to these parameters")
    stream.engine.restore(_engine_state(found.inner("engine"), stream.engine))
    if stream.recent is not None:
        stream.recent.restore(found.inner("recent"))
    elif found.given("recent"):
        refuse(found.where, "there are no probabilities here")
    stream.first_rows = None
    if found.given("first_rows"):
        stream.first_rows = _first_rows(found.inner("first_rows"), d, stream)
    stream.changed()
    return stream


def _seeded(settings: StreamSettings, found: Fields) -> StreamSettings:
    with found:
        if not isinstance(settings.method, SamplingMethod) or settings.method.seed is None:
            return settings
        method = settings.method.seeded(found.take("seed", int))
        return replace(settings, method=method)


def _names(found: Fields, d: int) -> FeatureNames | None:
    if not found.given("names"):
        return None
    names = found.take("names", list)
    if len(names) != d or not all(isinstance(name, str | int | float) for name in names):
        refuse(found.where, f"{len(names)} names of {d} features")
    return FeatureNames(names)


def _first_rows(found: Fields, d: int, stream: StreamLearner) -> FirstRows:
    with found:
        count, columns = found.take("count", int), found.take("columns", int)
        rows = rows_from(found, "rows", count, np.dtype(np.float64))
        if not 0 <= count < WIDTH_ROWS or rows.shape[1] != d or columns < 1:
            refuse(found.where, f"{count} rows of {rows.shape[1]} features, and {columns} columns")
        events: list[LearnedRows | None] = []
        for each in found.take("events", list):
            if each is None:
                events.append(None)
                continue
            with Fields(each, f"{found.where}.events") as event:
                events.append(_learned_rows(event, d, stream))
    return FirstRows(rows, columns, tuple(events))


def _learned_rows(found: Fields, d: int, stream: StreamLearner) -> LearnedRows:
    kinds = (np.float64, np.bool_)
    Y = found.array("Y", (None, None), kinds)
    b = Y.shape[0]
    X = rows_from(found, "X", b, np.dtype(np.float64))
    if X.shape[1] != d or not 1 <= Y.shape[1] <= stream.columns:
        refuse(found.where, f"{X.shape[1]} features and {Y.shape[1]} columns do not belong here")
    weights = found.array("weights", (b,), _FLOAT) if found.given("weights") else None
    if weights is not None and (weights <= 0).any():
        refuse(found.where, "weights are above zero")
    given = found.array("given", (b, None), (np.bool_,)) if found.given("given") else None
    if (given is not None) != isinstance(stream.engine, Sampler):
        refuse(found.where, "labels that are not known belong to what asks for them")
    if given is not None and given.shape[1] not in (1, Y.shape[1]):
        refuse(found.where, f"{given.shape[1]} labels for {Y.shape[1]} columns")
    return LearnedRows(X, Y, weights, given)


def _counts(found: Fields, name: str, size: int) -> Any:
    return found.array(name, (size,), INTEGERS, least=0)


def _engine_state(found: Fields, engine: Engine | Hierarchy) -> State:
    with found:
        if isinstance(engine, RidgeComparison):
            given = found.take("contenders", list)
            if len(given) != len(engine.contenders):
                refuse(
                    found.where, f"{len(engine.contenders)} ridges are expected, got {len(given)}"
                )
            s = engine.contenders[0].losses.size
            return {
                "contenders": [
                    _engine_state(Fields(each, f"{found.where}.contenders"), contender)
                    for each, contender in zip(given, engine.contenders, strict=True)
                ],
                "lost": found.array("lost", (len(given), s), _FLOAT, least=0.0),
            }
        if isinstance(engine, Hierarchy):
            return _hierarchy_state(found, engine)
        t = engine.learners.columns
        learned = _learners_state(found.inner("learners"), engine.learners)
        common = {"learners": learned, "rounds": _whole(found, "rounds")}
        if isinstance(engine, IncrementalEngine):
            return {
                **common,
                "squares": found.array("squares", (t,), _FLOAT, least=0.0),
                "weight": found.number("weight"),
            }
        if isinstance(engine, PerceptronEngine):
            return {
                **common,
                "hypotheses": _hypotheses_state(
                    found.inner("hypotheses"), engine.hypotheses, engine.learners, learned
                ),
                "loss": found.number("loss"),
                "updates": _counts(found, "updates", t),
            }
        assert isinstance(engine, Sampler)
        return {
            **common,
            **{name: _whole(found, name) for name in ("open", "asked", "offered")},
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


def _hypotheses_state(
    found: Fields, hypotheses: Hypotheses, learners: Learners, of_learners: State
) -> State:
    t = learners.columns
    by_point = "points" in of_learners and of_learners["primal"] is None
    # with a constant feature, if it is not in the features yet
    most = of_learners["points"].shape[0] if by_point else learners.features + 1
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
    assert isinstance(learners, PrimalLearners)
    d = learners.features

    def factor(each: Fields, c: int) -> State:
        L = each.array("L", (d, d), _FLOAT)
        rows = each.array("rows", (None, d), _FLOAT)
        j = rows.shape[0]
        M = each.array("M", (j, j), _FLOAT)
        if not np.diagonal(L).all() or (np.diagonal(M) < 1.0).any() or np.triu(L, 1).any():
            refuse(each.where, "L or M is no factor")
        if j >= learners.rows_that_wait(L):
            refuse(each.where, f"{j} rows do not wait for others")
        return {
            "L": L,
            "T": each.array("T", (d, c), _FLOAT),
            "rows": rows,
            "targets": each.array("targets", (j, c), _FLOAT),
            "Z": each.array("Z", (j, d), _FLOAT),
            "M": M,
            "since": _whole(each, "since"),
            "rounding": each.take("rounding", float),
        }

    weights = found.array("weights", (learners.columns, d), _FLOAT)
    return {"weights": weights, "groups": _groups(found, learners, factor)}


def _diagonal(found: Fields, learners: Learners) -> State:
    d = learners.features
    return {
        "V": found.array("V", (d, learners.columns), _FLOAT),
        "diagonal": found.array("diagonal", (d, learners.groups), _FLOAT, least=learners.alpha),
    }


def _dual(found: Fields, learners: Learners) -> State:
    assert isinstance(learners, DualLearners)
    rounds = found.array("rounds", (None,), INTEGERS, least=0)
    count = rounds.size
    points = rows_from(found, "points", count, np.dtype(np.float64))
    if points.shape[1] != learners.features:
        refuse(found.where, f"points have {points.shape[1]} features, not {learners.features}")
    primal = None
    if found.given("primal"):
        inner = learners.empty_primal()
        if inner is None:
            refuse(found.where, "weights of the features are for the linear kernel")
        primal = _learners_state(found.inner("primal"), inner)

    def factor(each: Fields, c: int) -> State:
        members = each.array("members", (None,), INTEGERS, least=0)
        m = members.size
        if np.unique(members).size < m or (members >= count).any():
            refuse(each.where, "members are not among the points")
        L = each.array("L", (m, m) if primal is None else (0, 0), _FLOAT)
        ridges = each.array("ridges", (m,), _FLOAT)
        if (np.diagonal(L) <= 0).any() or (ridges <= 0).any():
            refuse(each.where, "the factor is singular")
        targets = each.array("targets", (m, c), _FLOAT)
        return {
            "members": members,
            "L": L,
            "targets": targets,
            "ridges": ridges,
            "since": _whole(each, "since"),
        }

    groups = _groups(found, learners, factor)
    if any(each is None for each in groups):
        refuse(found.where, "a group is missing")
    return {
        "points": points,
        "rounds": rounds,
        "seen": _whole(found, "seen"),
        "primal": primal,
        "coefficients": found.array("coefficients", (count, learners.columns), _FLOAT),
        "groups": groups,
    }


_READ: dict[type[Learners], Callable[[Fields, Learners], State]] = {
    PrimalLearners: _primal,
    DiagonalLearners: _diagonal,
    DualLearners: _dual,
}
