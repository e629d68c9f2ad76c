"""A fitted estimator as a file."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from ..files import Fields, refuse
from ..targets import Labels
from . import state
from .afterwards import Afterwards
from .record import Record
from .validation import restore_names


class Written(Afterwards):
    """Saving, restoring and export; a part of the estimators, not for use by itself."""

    def _fitted_state(self) -> dict[str, Any]:
        """What a file keeps of a fit; for a subclass to add to, and to :meth:`_restore`."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else names.tolist(),
            "plan": state.of_plan(self.plan_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        """Set what :meth:`_fitted_state` gave, from a file."""
        record = Record.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self._show(record, state.plan_from(found.inner("plan")))
        self.n_features_in_ = found.take("n_features_in", int)
        if self.n_features_in_ != record.n_features:
            refuse(found.where, f"{record.n_features} features are not {self.n_features_in_}")
        restore_names(self, found, record.n_features)
