"""A model of a table in a file: the estimator, its schema, and what is known of its errors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..errors import FileFormatError
from ..persistence import Fields, refuse
from ..persistence.save_load import load_with_facts, save_with_facts
from .table_classifier import TableClassifier
from .table_encoder import TableEncoder
from .table_regressor import TableRegressor

__all__ = ["MeasuredErrors", "TableModel"]

#: What this file format of facts is called, and its number.
_KIND, _NUMBER = "table model", 1


@dataclass(frozen=True)
class MeasuredErrors:
    """What was measured of a model, on rows it has not seen.

    Attributes
    ----------
    how : str
        In words.
    verdict : str
        In a sentence or two what they mean.
    optimistic : bool
        Whether the choice was made by these numbers.
    rows : int
        Rows whose errors were measured.
    error, guess : (float, float)
        Of the model, and of the mean or the commonest class: the root mean square error or the
        share of wrong decisions, with its standard error.
    trees : (float, float) or None
        The same of boosted trees.
    explained : float
        The share of the mean square loss of guessing that the model takes away.
    errors : array (m,) or None
        Targets less predictions, ascending, of a regression.
    threshold : float or None
        Of the probability of the second of two classes.
    """

    how: str
    verdict: str
    optimistic: bool
    rows: int
    error: tuple[float, float]
    guess: tuple[float, float]
    trees: tuple[float, float] | None
    explained: float
    errors: Array | None = None
    threshold: float | None = None

    def state(self) -> dict[str, Any]:
        """What a file has of it."""
        return {
            "how": self.how,
            "verdict": self.verdict,
            "optimistic": self.optimistic,
            "rows": self.rows,
            "error": list(self.error),
            "guess": list(self.guess),
            "trees": None if self.trees is None else list(self.trees),
            "explained": self.explained,
            "errors": self.errors,
            "threshold": self.threshold,
        }

    @classmethod
    def restore(cls, found: Fields) -> Self:
        """From a file, checked."""
        with found:
            errors = (
                found.array("errors", (None,), (np.float64,)) if found.given("errors") else None
            )
            if errors is not None and (not errors.size or (np.diff(errors) < 0).any()):
                refuse(found.where, "errors in ascending order are expected")
            return cls(
                how=found.take("how", str),
                verdict=found.take("verdict", str),
                optimistic=found.take("optimistic", bool),
                rows=found.take("rows", int),
                error=_pair(found, "error"),
                guess=_pair(found, "guess"),
                trees=_pair(found, "trees") if found.given("trees") else None,
                explained=found.take("explained", float),
                errors=errors,
                threshold=found.number("threshold") if found.given("threshold") else None,
            )


def _pair(found: Fields, name: str) -> tuple[float, float]:
    values = found.take(name, list)
    if len(values) != 2 or not all(isinstance(value, float | int) for value in values):
        refuse(f"{found.where}.{name}", "a number and its standard error are expected")
    return float(values[0]), float(values[1])


@dataclass
class TableModel:
    """A fitted estimator of tables, and what has to be known to use it on another table.

    Attributes
    ----------
    estimator : TableRegressor or TableClassifier
    target : str
    task : str
    source : dict
        Of the table it was fitted to: ``name``, ``sha256``, ``rows`` (of the file), ``used``, and
        how it is written (``said``).
    settings : dict of str to str
        How it was fitted, as the options of the command line.
    versions : dict of str to str
    measured : MeasuredErrors
    means, deviations : array (k,)
        Of the encoded columns of the training rows, to see whether later tables are like them.
    """

    estimator: Any
    target: str
    task: str
    source: dict[str, Any]
    settings: dict[str, str]
    versions: dict[str, str]
    measured: MeasuredErrors
    means: Array = field(repr=False)
    deviations: Array = field(repr=False)

    @property
    def encoder(self) -> TableEncoder:
        """The fitted encoder."""
        return self.estimator.encoder_

    @property
    def needed(self) -> list[str]:
        """Names of the columns that predictions need."""
        return [column.name for column in self.encoder.columns_ if column.outputs]

    @property
    def words(self) -> list[str]:
        """Names of the columns that are text, whatever another file makes of them."""
        return [column.name for column in self.encoder._encoded if column.content == "words"]

    @property
    def classes(self) -> list[str]:
        """Names of the classes; none for numbers."""
        return [str(each) for each in getattr(self.estimator, "classes_", ())]

    @property
    def centers(self) -> int:
        """Rows, or other points, that the model contains; zero for a hyperplane."""
        return len(getattr(self.estimator, "center_indices_", ()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it; :func:`squareone.load` reads the estimator, :meth:`load` all of it."""
        facts = {
            "kind": _KIND,
            "number": _NUMBER,
            "target": self.target,
            "task": self.task,
            "source": self.source,
            "settings": self.settings,
            "versions": self.versions,
            "measured": self.measured.state(),
            "means": self.means,
            "deviations": self.deviations,
        }
        save_with_facts(self.estimator, facts, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote, checked."""
        estimator, facts = load_with_facts(path)
        if facts is None or not isinstance(estimator, TableRegressor | TableClassifier):
            msg = (
                f"{os.fspath(path)!r} is a model without a table's schema: squareone.load reads "
                "it in Python, and squareone fit writes models that can be used here"
            )
            raise FileFormatError(msg)
        with facts:
            if facts.take("kind", str) != _KIND or facts.take("number", int) != _NUMBER:
                refuse(facts.where, "these are of a later version: upgrade squareone")
            with facts.inner("source") as source:
                known = {name: source.take(name, str) for name in ("name", "sha256", "said")}
                counts = {name: source.take(name, int) for name in ("rows", "used")}
            k = estimator.encoder_.output_columns_.size
            found = cls(
                estimator=estimator,
                target=facts.take("target", str),
                task=facts.take("task", str),
                source=known | counts,
                settings=_texts(facts, "settings"),
                versions=_texts(facts, "versions"),
                measured=MeasuredErrors.restore(facts.inner("measured")),
                means=facts.array("means", (k,), (np.float64,)),
                deviations=facts.array("deviations", (k,), (np.float64,), least=0.0),
            )
        expected = "classification" if isinstance(estimator, TableClassifier) else "regression"
        if found.task != expected:
            refuse("facts.task", f"{expected} is expected, got {found.task!r}")
        return found


def _texts(found: Fields, name: str) -> dict[str, str]:
    with found.inner(name) as inner:
        return {key: inner.take(key, str) for key in inner.names()}
