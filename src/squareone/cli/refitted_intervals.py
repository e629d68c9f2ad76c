"""Intervals by the jackknife+ over folds: models that never saw a fold, fitted again for it.

Encoder, kernel, metric and λ are all found without the fold, which a model in a file cannot give:
its encoder has seen every row. So the training table is needed again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..models.jackknife_intervals import jackknife_plus, rank_of
from ..report.outer_errors import fitted_to, outer_folds
from ..tables.encoded_rows import rows_of_table
from ..tables.settled_table import settled
from ..tables.table_model import TableModel
from .console import Console
from .table_problem import TableProblem, counted

__all__ = ["RefittedIntervals"]

# Numbers that are in memory at once: a prediction without each training row, for some new rows.
_NUMBERS = 1 << 22


@dataclass
class RefittedIntervals:
    """Models of folds, and what they got wrong of the rows they have not seen.

    Attributes
    ----------
    models : list of TableRegressor
        Each without one fold.
    folds : array (m,)
        Which model has not seen a row.
    errors : array (m,)
        Targets of these rows less the predictions of that model.
    """

    models: list[Any]
    folds: Array
    errors: Array

    @classmethod
    def of(cls, model: TableModel, problem: TableProblem, console: Console) -> RefittedIntervals:
        """Fit again without each fold of the rows that the error of the model was measured on.

        **Cost**: five whole fits up to 5,000 rows, one beyond; it is said before.
        """
        X = settled(problem.X, "jackknife+")
        given = {"groups": problem.groups, "order": problem.order}
        seed = int(model.settings.get("seed", 0))
        parts, how = outer_folds(problem.y, problem.task, **given, seed=seed)
        seconds = sum(model.estimator.plan_.stages.values())
        console.note(
            f"jackknife+ fits {counted(len(parts), 'model')} again ({how}), where that in the file "
            f"took {seconds:,.0f} s"
        )
        models, folds, errors = [], [], []
        for number, (train, test) in enumerate(parts):
            console.progress(f"fold {number + 1} of {len(parts)}")
            weights, groups = (
                None if each is None else each[train] for each in (problem.weights, problem.groups)
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = rows_of_table(X, train)
                again = clone(model.estimator).set_params(verbose=0)
                fitted_to(again, rows, problem.y[train], weights, groups)
                predicted = again.predict(rows_of_table(X, test))
            models.append(again)
            folds.append(np.full(test.size, number))
            errors.append(problem.y[test] - predicted)
        return cls(models, np.concatenate(folds), np.concatenate(errors))

    def ends(self, rows: Any, values: Array, level: float) -> Array:
        """Lower and upper ends (b, 2) for new rows with predictions ``values`` (b,).

        The order statistics of f₋ₖ(x) − |e_i| and f₋ₖ(x) + |e_i| over the rows i of all folds k
        (Barber, Candès, Ramdas & Tibshirani 2021, CV+): at least 2·level − 1 are covered, about
        ``level`` as a rule.
        """
        rank = rank_of(level, self.errors.size)
        apart = np.column_stack([each.predict(rows) for each in self.models])
        found = np.empty((values.size, 2))
        step = max(1, _NUMBERS // self.errors.size)
        for start in range(0, values.size, step):
            part = slice(start, start + step)
            moves = values[part, None] - apart[part][:, self.folds]
            found[part] = jackknife_plus(values[part], moves, self.errors, rank)
        return found
