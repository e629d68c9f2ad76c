"""StreamLearner: a stream under way, from the rows that come to the model that predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.preprocessing import normalize

from ..arrays import Array, blocks, square_length
from ..errors import IllConditionedWarning, ScaleError
from ..fitting.feature_scales import one_width_for_all, warn_of_stream_scales
from ..fitting.status_warnings import WORTH_A_WARNING
from ..kernels import Kernel, Linear
from ..kernels.base import check_range
from ..rows import rows_of
from ..rows.checks import check_scale
from .engines import Method
from .first_rows import (
    WIDTH_ROWS,
    FirstRows,
    LearnedRows,
    medians,
    same_numbers,
    stacked,
    with_width,
)
from .forms import choose_form, make_learners
from .hierarchy import Hierarchy
from .learners import Learners
from .named_rows import FeatureNames, refuse_new
from .recent_values import RecentValues
from .rollback import Restorable
from .sampling import Sampler
from .stream_targets import ClassTargets

# Rows that are learned from one block to the next, and that are predicted together.
_LEARNED_ROWS, _PREDICTED_ROWS = 256, 4096
# |x|² above which a single row is looked at, and above which it is out of range with its weight.
_LARGE, _LARGEST = 1e200, 1e300
# Rows that come one by one, after which it is looked at whether digits are lost; before that after
# one, two, four and so on.
_LOOK = 64
# Features for each number of a dictionary, from which on it is a sparse row where that is faster.
_SPARSE = 8


@dataclass(frozen=True)
class StreamSettings:
    """Parameters of a stream, checked: those it began with, which it keeps.

    Attributes
    ----------
    parameters : dict
        As the user has written them, for messages and files.
    kernel : Kernel
        With "median" for a width that follows from the first rows.
    method : Method
    form : {"auto", "primal", "dual", "diagonal"}
        Of the learners.
    budget : int or None
    budget_rule : str
    intercept : bool
        Whether there is a constant feature.
    unit_rows : bool
        Whether rows are learned with unit length.
    zeros_for_missing : bool
        Whether features that a dictionary lacks are zero.
    new_features : bool
        Whether keys that come later become features.
    """

    parameters: dict[str, Any]
    kernel: Kernel
    method: Method
    form: str
    budget: int | None
    budget_rule: str
    intercept: bool
    unit_rows: bool
    zeros_for_missing: bool
    new_features: bool


class StreamLearner(Restorable):
    """What was learned from a stream so far, and what learns more of it.

    Rows ``X`` (b, d) are dense or CSR, and were checked.

    Parameters
    ----------
    settings : StreamSettings
    targets : ClassTargets, NumberTargets or NodeLabels
    n_features : int
        Zero as long as no row says how many.
    names : FeatureNames or None
    kernel : Kernel, optional
        With numbers for its parameters; by default that of a stream without a row.

    Attributes
    ----------
    form : str
        Of the learners.
    engine : Engine or Hierarchy
    first_rows : FirstRows or None
        As long as the width of the kernel may still change.
    recent : RecentValues or None
        What probabilities follow from.
    passes : int
        How often each row was seen.
    weighted : bool
        Whether a row had another weight than one.
    warned : bool
        Whether it was said that digits are lost.
    """

    def __init__(
        self,
        settings: StreamSettings,
        targets: Any,
        n_features: int,
        names: FeatureNames | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.settings, self.targets = settings, targets
        self.passes = 1
        self.weighted = self.warned = False
        self.set_features(n_features, names, kernel)

    def set_features(
        self, d: int, names: FeatureNames | None, kernel: Kernel | None = None
    ) -> None:
        """Begin, for rows of so many features; no row was seen yet."""
        settings, columns = self.settings, self.targets.column_count
        self.n_features, self.names = d, names
        self.kernel = with_width(settings.kernel, np.empty((0, d))) if kernel is None else kernel
        self.form = settings.method.form or choose_form(
            settings.form,
            self.kernel,
            settings.parameters["kernel"],
            settings.budget,
            d + settings.intercept,
            settings.method.matrices(self.targets),
        )
        self.engine: Any = self._new_engine(columns)
        self.recent = self._new_recent(columns)
        self.first_rows: FirstRows | None = None
        if medians(settings.kernel):
            self.first_rows = FirstRows(np.empty((0, d)), columns)
        self._one_width = self.first_rows is None and one_width_for_all(self.kernel)
        self.changed()

    def _new_engine(self, columns: int) -> Any:
        return self.settings.method.engine(columns, self.targets, self._new_learners)

    def _new_learners(self, columns: int, alpha: float, **more: Any) -> Learners:
        settings = self.settings
        return make_learners(
            self.form,
            self.kernel,
            self.n_features,
            columns,
            alpha,
            intercept=settings.intercept,
            shared=settings.method.shared(self.targets),
            budget=settings.budget,
            budget_rule=settings.budget_rule,
            **more,
        )

    def _new_recent(self, columns: int) -> RecentValues | None:
        """An empty memory of values, where probabilities are made of them."""
        if not isinstance(self.targets, ClassTargets):
            return None
        return RecentValues(
            columns,
            exclusive=not self.targets.multilabel and columns > 1,
            offsets=not (self.settings.intercept and self.settings.method.every_row),
        )

    # --- all or nothing ---

    def parts(self) -> tuple[Restorable, ...]:
        """The engine, and the values that probabilities follow from, or where labels end."""
        if self.recent is not None:
            return (self.engine, self.recent)
        if isinstance(self.targets, Restorable):
            return (self.engine, self.targets)
        return (self.engine,)

    @property
    def to_settle(self) -> bool:
        """Whether something is kept until what was learned is sure to stand."""
        return self.form == "diagonal" or self.settings.method.settles

    # --- what predicts ---

    def changed(self) -> None:
        """Something was learned."""
        self._weights: Array | None = None
        self._model: Any = None

    @property
    def weights(self) -> Array:
        """Of the hypothesis that predicts: (d, t) or (points, t)."""
        if self._weights is None:
            self._weights = self.engine.weights()
        return self._weights

    @property
    def model(self) -> Any:
        """What predicts: a Hyperplane, a KernelExpansion, or those of a hierarchy."""
        if self._model is None:
            self._model = self.engine.model(self.kernel, intercept=self.settings.intercept)
        return self._model

    @property
    def columns(self) -> int:
        """How many are learned."""
        return self.targets.column_count

    @property
    def unit_rows(self) -> bool:
        """Whether rows are learned, and predicted, with unit length."""
        return self.settings.unit_rows

    def values(self, X: Any) -> Array:
        """Margins (n, t) of rows, by the hypothesis that predicts."""
        if isinstance(self.engine, Hierarchy):
            found = np.empty((X.shape[0], self.columns))
            for part, block in rows_of(X).row_blocks(_PREDICTED_ROWS):
                found[part] = self.model.values(self.as_learned(block.X))
            return found
        values = self.model.values(X)
        if not self.unit_rows:
            return values
        lengths = np.empty(values.shape[0])
        for part, block in rows_of(X).row_blocks(_PREDICTED_ROWS):
            lengths[part] = np.sqrt(block.squares())
        return values / np.where(lengths > 0, lengths, 1.0)[:, None]

    def dual_learners(self, name: str) -> Any:
        """What learns in the dual form, for an attribute with this name."""
        if isinstance(self.engine, Hierarchy):
            msg = f"{name}: siblings have support points of their own"
            raise AttributeError(msg)
        if self.form != "dual":
            msg = f'{name} is for form="dual", and this is form={self.form!r}: see coef_'
            raise AttributeError(msg)
        return self.engine.learners

    # --- many rows ---

    def check_rows(self, X: Any) -> None:
        """Refuse rows whose kernel values, or squares, leave the range of float64."""
        if X.shape[0] and not isinstance(self.kernel, Linear):
            check_range(self.kernel, X)
        elif X.shape[0]:
            check_scale(X, "X")

    def learn(self, X: Any, y: Any, weights: Array | None = None) -> None:
        """More rows, with what their targets were read as; a new class is added where it comes."""
        for some, own, part in self._stretches(X, y):
            each = None if weights is None else weights[part]
            self.learn_columns(some, self.read(own), each)

    def _stretches(self, X: Any, y: Any) -> Iterator[tuple[Any, Any, slice]]:
        """Runs of rows in which no class is added: one, as a rule."""
        n = X.shape[0]
        parts = self.targets.stretches(y) if isinstance(self.targets, ClassTargets) else []
        if len(parts) < 2:
            yield X, y, slice(0, n)
            return
        for part in parts:
            yield rows_of(X)[np.arange(part.start, part.stop)].X, y[part], part

    def read(self, y: Any) -> Array:
        """Targets (b, t) in float64; classes that were not there become columns."""
        if isinstance(self.targets, ClassTargets):
            unknown = self.targets.unknown(y)
            if unknown:
                self._add_classes(unknown)
        return self.targets.rows(y)

    def _add_classes(self, new: list[Any]) -> None:
        targets = self.targets
        if not targets.grows:
            known = targets.classes.tolist()
            msg = (
                f"y contains {new[:5]}, and the classes are {known[:20]}: name all classes at "
                "the start, classes=[...]"
            )
            if "new_classes" in self.settings.parameters:
                msg += ', or set new_classes="add"'
            raise ValueError(msg)
        self.targets = targets.with_classes(new)
        for _ in new:
            self.engine.add_class()
            if self.first_rows is not None:
                self.first_rows = self.first_rows.with_class()
        self.recent = self._new_recent(self.columns)
        self.changed()

    def learn_columns(
        self, X: Any, Y: Array, weights: Array | None = None, order: Array | None = None
    ) -> Array:
        """Learn rows block by block, in their ``order`` (n,), or as they are.

        Returns
        -------
        array (n, …)
            What the engine says of the rows, each before it was learned; zero for those of weight
            zero.
        """
        told = np.empty(0)
        for part, some in self._blocks(X, order):
            rows, each = np.arange(X.shape[0])[part], None
            if weights is not None:
                counts = weights[part] > 0
                if not counts.all():
                    some, rows = some[np.flatnonzero(counts)], rows[counts]
                    if rows.size == 0:
                        continue
                each = weights[rows]
            said = self._learn_block(some, Y[rows], each)
            if told.size == 0:
                told = np.zeros((X.shape[0], *said.shape[1:]))
            told[rows] = said
        self.changed()
        self._look_at_rounding()
        return told

    def _blocks(self, X: Any, order: Array | None = None) -> Iterator[tuple[Any, Any]]:
        """Blocks of rows as the learners take them, and which they are."""
        rows = rows_of(X)
        if order is None:
            for part, block in rows.row_blocks(_LEARNED_ROWS):
                yield part, self.as_learned(block.X)
            return
        for part in blocks(order.size, _LEARNED_ROWS):
            yield order[part], self.as_learned(rows[order[part]].X)

    def as_learned(self, X: Any) -> Any:
        """Rows in float64, with the constant feature where there is one, or of unit length."""
        X = X.astype(np.float64, copy=False)
        if not self.settings.intercept or self.form == "dual":
            X = csr_matrix(X) if issparse(X) else X
        else:
            ones = np.ones((X.shape[0], 1))
            X = hstack([X, ones], format="csr") if issparse(X) else np.hstack([X, ones])
        return normalize(X) if self.unit_rows and X.shape[0] else X

    def _learn_block(
        self, X: Any, Y: Array, weights: Array | None, known: Array | None = None
    ) -> Array:
        """Learn rows as the engine takes them; what it says of them, before they were learned."""
        if weights is not None:
            _check_weighted(X, weights)
            self.weighted = True
        if self.first_rows is not None:
            self._adapt_width(X)
        if self._one_width:
            self._look_at_units(X)
        told = self._learn(X, Y, weights, known)
        if self.first_rows is not None:
            rows = LearnedRows(X, Y, weights, known)
            self.first_rows = self.first_rows.with_learned(rows)
        return told

    def _look_at_units(self, X: Any) -> None:
        """With a width that was given, say of the first hundred rows what is said of all of a fit.

        Of rows that came one by one those are looked at that have become points.
        """
        rounds = self.engine.rounds
        if not rounds < WIDTH_ROWS <= rounds + X.shape[0]:
            return
        rows = X[:WIDTH_ROWS]
        if rounds and not isinstance(self.engine, Hierarchy):
            rows = stacked(self.engine.learners.points.matrix(), rows)
        self._warn_of_units(rows)

    def _warn_of_units(self, rows: Any) -> None:
        names = None if self.names is None else self.names.names
        warn_of_stream_scales(self.kernel, rows, names)

    def _learn(self, X: Any, Y: Array, weights: Array | None, known: Array | None) -> Array:
        if known is None:
            told = self.engine.learn(X, Y, weights)
        else:
            told = self.engine.learn(X, Y, weights, known)
            known = np.broadcast_to(known, Y.shape)
        if self.recent is not None:
            self.recent.add(told, Y, weights, known)
        return told

    def _adapt_width(self, X: Any) -> None:
        """Rows come: as long as there are few, the width is the median distance between them."""
        assert self.first_rows is not None
        first = self.first_rows.with_rows(X)
        self.first_rows = None if first.complete else first
        if first.complete:
            self._warn_of_units(first.rows)
        kernel = with_width(self.settings.kernel, first.rows)
        if same_numbers(kernel, self.kernel):
            return
        seen, self.kernel = self.engine, kernel
        self.engine = self._new_engine(first.columns)
        self.recent = self._new_recent(first.columns)
        for event in first.events:
            if event is None:
                self.engine.add_class()
                self.recent = self._new_recent(self.engine.columns)
            else:
                self._learn(event.X, event.Y, event.weights, event.given)
        if isinstance(seen, Sampler):
            self.engine.count_as(seen)

    def _look_at_rounding(self) -> None:
        """Say that digits are lost, once."""
        if self.warned:
            return
        estimate = self.engine.rounding()
        if estimate > WORTH_A_WARNING:
            self.warned = True
            warnings.warn(
                f"features depend on each other, or are so large beside alpha="
                f"{self.settings.parameters['alpha']!r} that digits are lost: rounding may change "
                f"what was learned by a relative {min(estimate, 1.0):.1g}. Use a larger alpha, "
                "leave out a feature that others contain, or rescale, for instance with "
                "sklearn.preprocessing.StandardScaler",
                IllConditionedWarning,
                stacklevel=3,
            )

    # --- labels that are asked for ---

    def simulate(self, X: Any, Y: Array, order: Array | None) -> tuple[Array, Array]:
        """Margins (n, t) and labels that are asked for (n, s), each of which is learned at once."""
        margins, asked = np.empty_like(Y), np.empty((Y.shape[0], self.engine.labels.size), bool)
        for part, block in self._blocks(X, order):
            if self.first_rows is not None:
                self._adapt_width(block)
            if self._one_width:
                self._look_at_units(block)
            truth = Y[part]
            told, wanted = self.engine.simulate(block, truth)
            margins[part], asked[part] = told, wanted
            assert self.recent is not None
            self.recent.add(told, truth, None, np.broadcast_to(wanted, truth.shape))
            if self.first_rows is not None:
                rows = np.flatnonzero(wanted.any(axis=1))
                learned = LearnedRows(block[rows], truth[rows], None, wanted[rows])
                self.first_rows = self.first_rows.with_learned(learned)
        self.changed()
        self._look_at_rounding()
        return margins, asked

    def query(self, X: Any) -> Array:
        """Labels (n, s) that are asked for, of rows that come next."""
        found = []
        for _, block in self._blocks(X):
            if self.first_rows is not None:
                self._adapt_width(block)
            found.append(self.engine.query(block)[1])
        self.changed()
        return np.vstack(found)

    def chances(self, X: Any, number: int) -> Array:
        """With which probability labels (n, s) would be asked for, in round ``number``."""
        found = [self.engine.chances(block, number) for _, block in self._blocks(X)]
        return np.vstack(found) if found else np.empty((0, self.engine.labels.size))

    def learn_known(self, X: Any, y: Array, known: Array, weights: Array | None) -> None:
        """Labels of rows, as far as they are known (n, s)."""
        for some, own, stretch in self._stretches(X, y):
            Y, told = self.read(own), known[stretch]
            w = np.ones(Y.shape[0]) if weights is None else weights[stretch]
            for part, block in self._blocks(some):
                rows = np.flatnonzero(w[part])
                if rows.size:
                    each = None if weights is None else w[part][rows]
                    self._learn_block(block[rows], Y[part][rows], each, told[part][rows])
        self.changed()
        self._look_at_rounding()

    # --- one row at a time ---

    def learn_one(self, x: Any, y: Any, weights: Array | None = None) -> None:
        """Learn a row: numbers (d,), a CSR matrix (1, d) that was checked, or a dictionary."""
        named = type(x) is not np.ndarray and isinstance(x, Mapping)
        row = self._named_row(x) if named else self._row(x)
        target = self.targets.row(y)
        if target is None:  # a class that was not there
            target = self.read(np.array([y]))
        self._learn_block(row, target, weights)
        self.changed()
        rounds = self.engine.rounds
        if rounds % _LOOK == 0 or rounds & (rounds - 1) == 0:
            self._look_at_rounding()

    def margins_of_one(self, x: Any) -> Array:
        """(t,) of a row or a dictionary, by the hypothesis that predicts."""
        if self.n_features == 0:
            return np.zeros(self.columns)
        if type(x) is np.ndarray or not isinstance(x, Mapping):
            return self._margins(self._row(x))
        names = self._feature_names()
        new = names.new_in(x)
        if not new:
            return self._margins(self._row_of(x, names))
        if not self.settings.new_features:
            refuse_new(new)
        return self._margins_with_new(x, new)

    def _margins(self, row: Any) -> Array:
        """(t,) of a row (1, d) as the learners take it."""
        if isinstance(self.engine, Hierarchy):
            return self.engine.margins(row)
        if self.form == "dual":
            return self.model.values(row)[0]
        return (row @ self.weights)[0]

    def _row(self, x: Any) -> Any:
        """One row (1, d) as the learners take it: looked at, but not more than needed."""
        if type(x) is not np.ndarray and issparse(x):
            return self.as_learned(x)
        if self.n_features == 0:
            self.set_features(positive_count(np.size(x), "the length of x"), None)
        d, settings = self.n_features, self.settings
        constant = settings.intercept and self.form != "dual"
        row = np.empty((1, d + constant))
        try:
            row[0, :d] = x
        except (TypeError, ValueError) as error:
            msg = f"x: {d} numbers are expected, one per feature, got {_described(x)}"
            raise ValueError(msg) from error
        if (x.shape if type(x) is np.ndarray else np.shape(x)) != (d,):
            msg = f"x: {d} numbers are expected, one per feature, got {_described(x)}"
            raise ValueError(msg)
        if constant:
            row[0, d] = 1.0
        if not square_length(row[0]) < _LARGE:
            if not np.isfinite(row).all():
                msg = "x has NaN or infinity: finite numbers are expected, and nothing was learned"
                raise ValueError(msg)
            self.check_rows(row[:, :d])
        if settings.unit_rows:
            length = float(np.sqrt(row[0] @ row[0]))
            return row / length if length > 0 else row
        return row

    # --- rows as dictionaries ---

    def _named_row(self, x: Mapping[Any, Any]) -> Any:
        """A dictionary as a row (1, d), after its new keys have become features."""
        if self.n_features == 0:
            if not x:
                msg = (
                    "x is empty: the first row names the features, unless start(n_features=[names])"
                    " does"
                )
                raise ValueError(msg)
            self.set_features(len(x), FeatureNames(x))
        new = self._feature_names().new_in(x)
        if new:
            if not self.settings.new_features:
                refuse_new(new)
            self._add_features(new)
        return self._row_of(x, self._feature_names())

    def _row_of(self, x: Mapping[Any, Any], names: FeatureNames) -> Any:
        """A dictionary without new keys as the learners take it: sparse if it is for the few."""
        zeros = self.settings.zeros_for_missing
        if self.form != "diagonal" or _SPARSE * len(x) > self.n_features:
            return self._row(names.row(x, zeros=zeros))
        places, values = names.entries(x, zeros=zeros)
        if not square_length(values) < _LARGE:
            return self._row(names.row(x, zeros=zeros))  # which looks at it
        order = np.argsort(places)
        row = (values[order], places[order], np.array([0, places.size]))
        return self.as_learned(csr_matrix(row, shape=(1, self.n_features)))

    def _feature_names(self) -> FeatureNames:
        if self.names is None:
            msg = (
                "x is a dictionary, and the features of this stream have no names: begin it with "
                "start(n_features=[names]), with dictionaries or with a table whose columns have "
                "names"
            )
            raise ValueError(msg)
        return self.names

    def _add_features(self, new: list[Any]) -> None:
        """Features that were zero so far."""
        if any(np.ndim(value) for value in self.kernel.get_params(deep=True).values()):
            msg = f"x has {new[0]!r}, and {self.kernel} has no width for another feature"
            raise ValueError(msg)
        d, count = self.n_features, len(new)
        self.engine.add_features(d, count)
        if self.first_rows is not None:
            self.first_rows = self.first_rows.with_features(d, count)
        self.n_features = d + count
        self.names = self._feature_names().with_names(new)
        self.changed()

    def _margins_with_new(self, x: Mapping[Any, Any], new: list[Any]) -> Array:
        """As if keys that no row has had were features, which were zero in all of them."""
        names = self._feature_names()
        if isinstance(self.kernel, Linear):  # a feature that was zero has no weight
            zeros = self.settings.zeros_for_missing
            known = names.row({k: v for k, v in x.items() if k in names.places}, zeros=zeros)
            others = FeatureNames(new).row({key: x[key] for key in new}, zeros=False)
            if not np.isfinite(others).all():
                msg = "x has NaN or infinity: finite numbers are expected"
                raise ValueError(msg)
            return self._margins(self._row(known)) * self._share(known, others)
        before = self.snapshot(0)
        try:
            return self._margins(self._named_row(x)).copy()
        finally:
            self.roll_back(before)

    def _share(self, known: Array, others: Array) -> float:
        """What other numbers of a row leave of those that are known, where it is rescaled."""
        part, whole = float(known @ known), float(known @ known + others @ others)
        return float(np.sqrt(part / whole)) if self.unit_rows and whole > 0 else 1.0


def _check_weighted(X: Any, weights: Array) -> None:
    """Refuse rows whose squares leave the range of float64 with their weights."""
    with np.errstate(over="ignore"):
        largest = float((rows_of(X).squares() * weights).max())
    if not largest < _LARGEST:
        msg = (
            f"rows with a weight of {weights.max():.3g} leave the range of float64: divide the "
            "weights, and alpha, by a number of that size"
        )
        raise ScaleError(msg)


def _described(x: Any) -> str:
    """What came in place of a row."""
    shape = np.shape(x) if not isinstance(x, str) else None
    return type(x).__name__ if shape is None else f"{type(x).__name__} of shape {shape}"


def positive_count(value: Any, name: str) -> int:
    """A number of features, or of targets, checked."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        msg = f"{name}={value!r}: a whole number of at least one is expected"
        raise ValueError(msg)
    return int(value)
