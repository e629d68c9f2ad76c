"""A fitted estimator as a file."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from ..fitting import part_states as state
from ..fitting.result import Record
from ..persistence import Fields, refuse
from ..targets import Labels
from .afterwards import Afterwards


class Written(Afterwards):
    """Saving, restoring and export; a part of the estimators, not for use by itself."""

    def _fitted_state(self) -> dict[str, Any]:
        """What a file keeps of a fit; for a subclass to add to, and to :meth:`_restore`."""
        return {
            **self._features_state(),
            "plan": state.of_plan(self.plan_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        """Set what :meth:`_fitted_state` gave, from a file."""
        record = Record.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self._show(record, state.plan_from(found.inner("plan")))
        self._restore_features(found, record.n_features)
