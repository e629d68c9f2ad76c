"""A learned kernel as numbers, texts and arrays for a file, and back, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import Kernel, Linear
from ..persistence import INTEGERS, Fields, refuse
from .kernel_choice import FoldModel
from .learned_kernel import TRIALS, LearnedKernel
from .part_states import check_kernel

# What is in the columns of trials: texts, whole numbers and others.
_KINDS = dict(zip(TRIALS, "Uifiiffib", strict=True))
#: Bytes of rows, and features, that models of folds may have in a file, all folds together; beyond
#: them these models are left out. An encoder is about a kilobyte of text for every feature.
MOST_FILE_BYTES, MOST_FILE_FEATURES = 2**25, 10_000


def models_for_file(learned: LearnedKernel) -> list[FoldModel]:
    """The models of folds that a file has: all, or none where their rows or features are many."""
    rows = [model.rows for model in learned.models if model.rows is not None]
    few = sum(each.shape[1] for each in rows) <= MOST_FILE_FEATURES
    return learned.models if few and sum(each.nbytes for each in rows) <= MOST_FILE_BYTES else []


def of_learned_kernel(learned: LearnedKernel) -> dict[str, Any]:
    """Its fields, for :func:`learned_kernel_from`."""
    return {
        "preparation": int(learned.preparation),
        "power": float(learned.power),
        "rounds": int(learned.rounds),
        "score": learned.score,
        "trials": dict(learned.trials),
        "pool": learned.pool,
        "rows": learned.rows,
        "values": learned.values,
        "folds": learned.folds,
        "models": [
            {
                "kernel": model.kernel,
                "train": model.train,
                "coefficients": model.coefficients,
                "intercepts": model.intercepts,
                "rows": model.rows,
            }
            for model in models_for_file(learned)
        ],
    }


def learned_kernel_from(found: Fields, n: int, t: int, d: int) -> LearnedKernel:
    """For ``n`` rows of ``d`` features and ``t`` target columns."""
    with found:
        rounds = found.take("rounds", int)
        power, preparation = found.number("power"), found.take("preparation", int)
        score = found.array("score", (None,), (np.float64,))
        if rounds < 0 or power < 0 or preparation < 0 or (rounds > 0) != (power > 0):
            refuse(found.where, "rounds, power and preparation do not belong together")
        with found.inner("trials") as columns:
            trials = {name: columns.take(name, np.ndarray) for name in TRIALS}
        if len({values.shape for values in trials.values()}) != 1 or trials["score"].ndim != 1:
            refuse(found.where, "the columns of trials are of different lengths")
        for name, kind in _KINDS.items():
            if trials[name].dtype.kind != kind:
                refuse(found.where, f"trials.{name} is of {trials[name].dtype}")
        pool = found.array("pool", (None,), INTEGERS, least=0)
        rows = found.array("rows", (None,), INTEGERS, least=0)
        for name, numbers in (("pool", pool), ("rows", rows)):
            if numbers.size == 0 or (np.diff(numbers) <= 0).any() or numbers[-1] >= n:
                refuse(found.where, f"{name} does not say which rows these are")
        if not np.isin(rows, pool).all():
            refuse(found.where, "rows are not in the pool")
        values = found.array("values", (rows.size, t))
        folds = found.array("folds", rows.shape, INTEGERS, least=0)
        models = [
            _model_from(Fields(each, f"{found.where}.models.{i}"), pool.size, t, d)
            for i, each in enumerate(found.take("models", list))
        ]
        if models and folds.max() >= len(models):
            refuse(found.where, "a fold has no model")
    return LearnedKernel(
        preparation, power, rounds, score, trials, pool, rows, values, folds, models
    )


def _model_from(found: Fields, p: int, t: int, d: int) -> FoldModel:
    with found:
        kernel, rows = found.take("kernel", Kernel), None
        if found.given("rows"):
            rows = found.array("rows", (None, None))
            d = rows.shape[1]
        check_kernel(kernel, d, f"{found.where}.kernel")
        if not kernel.has_formula:
            refuse(found.where, "the kernel of a fold is to be evaluated on rows")
        train = found.array("train", (None,), INTEGERS, least=0)
        if train.size == 0 or train.max() >= p:
            refuse(found.where, "train does not say which rows these are")
        size = d if isinstance(kernel, Linear) else train.size
        if rows is not None and rows.shape[0] != (0 if isinstance(kernel, Linear) else size):
            refuse(found.where, f"{rows.shape[0]} rows do not belong to {size} coefficients")
        coefficients = found.array("coefficients", (size, t))
        return FoldModel(kernel, train, coefficients, found.array("intercepts", (t,)), rows)
