"""What the estimators of a stream share: rows as they come, many or one at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ...arrays import Array, blocks
from ...fitting.part_states import targets_from
from ...kernels import Constant, Kernel, Linear
from ...kernels.base import check_range
from ...kernels.names import BY_NAME, kernel_from
from ...kernels.widths import free_width
from ...online import FORMS, RULES, DualLearners, Learners
from ...online.stream_files import restore_record, shown_state
from ...persistence import Fields, refuse
from ...rows import rows_of
from ...targets import Labels, Responses
from .. import validation
from .learned import Learned
from .record import Engine, StreamRecord

# Rows that are learned from one block to the next.
_ROWS = 256
# Numbers in the matrices of all groups up to which A⁻¹ is kept, and features.
_PRIMAL_NUMBERS, _PRIMAL_FEATURES = 2**25, 2048
# A number above which a single row is looked at.
_LARGE = 1e100


class Streaming(Learned):
    """The common part of the estimators of a stream; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "a": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(BY_NAME)), Kernel],
        "form": [StrOptions({"auto", *FORMS})],
        "sketch_size": [Interval(Integral, 1, None, closed="left")],
        "budget": [None, Interval(Integral, 1, None, closed="left")],
        "budget_rule": [StrOptions(set(RULES))],
        "fit_intercept": ["boolean"],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    _kind_of_record: ClassVar[type[StreamRecord]] = StreamRecord

    a: Any
    form: str
    sketch_size: int
    budget: int | None
    budget_rule: str
    fit_intercept: bool
    epochs: int
    shuffle: bool
    random_state: Any

    # --- what a subclass says ---

    @abstractmethod
    def _first_targets(self, y: Any, X: Any, classes: Any) -> Labels | Responses:
        """The targets of a stream that begins with ``y``."""

    @abstractmethod
    def _engine(self, columns: int, targets: Labels | Responses) -> Engine:
        """What learns, for so many columns; nothing was seen yet."""

    @abstractmethod
    def _columns(self, y: Any, X: Any) -> Array:
        """Targets (b, t) in float64; nothing is changed where they are refused."""

    @abstractmethod
    def _target_of_one(self, y: Any) -> Array:
        """The target (1, t) of one row; nothing is changed where it is refused."""

    @abstractmethod
    def _answer(self, margins: Array) -> Any:
        """What is said of a row with these margins (t,)."""

    def _show(self, margins: Array) -> None:
        """Set what the last pass of ``fit`` has shown, from margins (n, t) before each row."""

    # --- learning ---

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, in their order or shuffled, as often as ``epochs`` says.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, t)
            Targets; for a classifier classes, or an indicator matrix of several labels per row.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: ``epochs`` times that of all rows, told for each estimator; a block of 256 rows is
        held at a time, and a margin for every row and column.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> SecondOrderPerceptron(epochs=2, shuffle=True).fit(X, y).n_rounds_
        300
        """
        self._forget()
        try:
            X, Y = self._first(X, y, None)
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            for _ in range(self.epochs):
                order = rng.permutation(X.shape[0]) if self.shuffle else None
                margins = self._take(X, Y, order)
            self._recorded().passes = self.epochs
            self._show(margins)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any) -> Self:
        if not hasattr(self, "_record"):
            self._take(*self._first_of_all(X, y, classes), None)
            return self
        X = self._checked(X)
        for part in self._stretches(y, X):
            some, own = self._part(X, y, part)
            self._take(some, self._columns(own, some), None)
        return self

    def _checked(self, X: Any) -> Any:
        """More rows of a stream that has begun."""
        self._recorded()
        X = validation.check_rows(self, X, reset=False, sparse=True)
        self._check_rows_of_kernel(X)
        return X

    def _first_of_all(self, X: Any, y: Any, classes: Any) -> tuple[Any, Array]:
        """The first rows; where they are refused there is no stream."""
        try:
            return self._first(X, y, classes)
        except BaseException:
            self._forget()
            raise

    def _stretches(self, y: Any, X: Any) -> list[slice]:
        """Runs of rows in which no column is added, looked at as a whole: one, as a rule."""
        return [slice(0, X.shape[0])]

    @staticmethod
    def _part(X: Any, y: Any, part: slice) -> tuple[Any, Any]:
        if (part.start, part.stop) == (0, X.shape[0]):
            return X, y
        return rows_of(X)[np.arange(part.start, part.stop)].X, np.asarray(y)[part]

    def _first(self, X: Any, y: Any, classes: Any) -> tuple[Any, Array]:
        """Rows and targets of the first call; all is set up for them."""
        self._check_parameters()
        X = validation.check_rows(self, X, reset=True, sparse=True)
        targets = self._first_targets(y, X, classes)
        self._set_up(X, targets)
        return X, self._columns(y, X)

    def _check_parameters(self) -> None:
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    def _set_up(self, X: Any, targets: Labels | Responses, columns: int | None = None) -> None:
        self.kernel_ = self._resolved_kernel(X)
        self._check_rows_of_kernel(X)
        if isinstance(targets, Labels):
            columns = targets.classes.size
            columns = 1 if columns == 2 and not targets.multilabel else columns
        assert columns is not None
        self._record = self._kind_of_record(targets, self.kernel_, self.n_features_in_)
        self._record.intercept = bool(self.fit_intercept)
        self._record.form = self._chosen_form(columns)
        self._record.engine = self._engine(columns, targets)

    def _resolved_kernel(self, X: Any) -> Kernel:
        kernel = kernel_from(self.kernel)
        kernel.check_parameters()
        if not kernel.has_formula:
            msg = (
                "a precomputed kernel has values between rows that are there from the start: give "
                "a kernel that can be evaluated on rows as they come"
            )
            raise ValueError(msg)
        name = free_width(kernel)
        if name:  # there is nothing to choose it by yet
            kernel = clone(kernel).set_params(**{name: "median"})
        if name and X.shape[0] < 2:
            msg = (
                f"{self.kernel!r} has no width yet, and n_samples = {X.shape[0]} is too few for a "
                "median distance between rows: give sigma a number"
            )
            raise ValueError(msg)
        found = kernel.resolve(X, np.random.RandomState(0))
        found.check_chosen()
        return found

    def _check_rows_of_kernel(self, X: Any) -> None:
        if X.shape[0] and not isinstance(self.kernel_, Linear):
            check_range(self.kernel_, X)
        elif X.shape[0]:
            validation.check_scale(X, "X")

    def _chosen_form(self, columns: int) -> str:
        """Exact, unless another one is asked for."""
        linear = isinstance(self.kernel_, Linear)
        if self.form not in ("auto", "dual"):
            if not linear:
                msg = (
                    f"form={self.form!r} is for the linear kernel, and kernel={self.kernel!r}: use "
                    'form="dual"'
                )
                raise ValueError(msg)
            if self.budget is not None:
                msg = (
                    f"budget={self.budget} limits the points of a kernel expansion, and "
                    f'form={self.form!r} has none: use form="dual", or budget=None'
                )
                raise ValueError(msg)
            return self.form
        if self.form == "dual" or not linear or self.budget is not None:
            return "dual"
        d = self.n_features_in_ + self.fit_intercept
        small = d <= _PRIMAL_FEATURES and self._matrices(columns) * d * d <= _PRIMAL_NUMBERS
        return "primal" if small else "dual"

    def _shared(self) -> bool:
        """Whether every learned row counts for all columns."""
        return False

    def _matrices(self, columns: int) -> int:
        """How many A there are."""
        return 1 if self._shared() else columns

    def _learners(self, columns: int, a: float, **settings: Any) -> Learners:
        """Those of the form that was chosen."""
        record = self._record
        shared = self._shared()
        if record.form == "dual":
            return DualLearners(
                self.n_features_in_,
                columns,
                a,
                shared=shared,
                kernel=self.kernel_ + Constant(1.0) if self.fit_intercept else self.kernel_,
                budget=self.budget,
                rule=self.budget_rule,
                **settings,
            )
        if record.form == "sketch":
            settings["size"] = self.sketch_size
        d = self.n_features_in_ + self.fit_intercept
        return FORMS[record.form](d, columns, a, shared=shared, **settings)

    def _take(self, X: Any, Y: Array, order: Array | None) -> Array:
        """Learn from rows, block by block; ``order`` (n,) is theirs, or another one.

        Returns
        -------
        array (n, …)
            What the engine says of the rows, each before it was learned.
        """
        record, told = self._recorded(), np.empty(0)
        for part, some in self._blocks(X, order):
            each = record.engine.learn(some, Y[part])
            if told.size == 0:
                told = np.empty((X.shape[0], *each.shape[1:]))
            told[part] = each
        record.changed()
        return told

    def _blocks(self, X: Any, order: Array | None) -> Iterator[tuple[Any, Any]]:
        """Blocks of rows as the learners take them, and which they are."""
        rows = rows_of(X)
        if order is None:
            for part, block in rows.row_blocks(_ROWS):
                yield part, self._as_learned(block.X)
            return
        for part in blocks(order.size, _ROWS):
            yield order[part], self._as_learned(rows[order[part]].X)

    def _as_learned(self, X: Any) -> Any:
        """Rows in float64, with the constant feature where there is one."""
        X = X.astype(np.float64, copy=False)
        if not self.fit_intercept or self._record.form == "dual":
            return csr_matrix(X) if issparse(X) else X
        ones = np.ones((X.shape[0], 1))
        return hstack([X, ones], format="csr") if issparse(X) else np.hstack([X, ones])

    # --- one row at a time ---

    def _begin(
        self, n_features: Any, targets: Callable[[], Any], columns: int | None = None
    ) -> Self:
        """A stream of which no row is there yet."""
        self._forget()
        self._check_parameters()
        try:
            self.n_features_in_ = positive_count(n_features, "n_features")
            self._set_up(np.empty((0, self.n_features_in_)), targets(), columns)
        except BaseException:
            self._forget()
            raise
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one row: the fast way, without scikit-learn's checks.

        Parameters
        ----------
        x : array-like of shape (d,), or sparse matrix of shape (1, d)
            The row.
        y : label or float, or as many as a row has in a call of ``partial_fit``
            Its class or target; zeros and ones for several labels.

        Returns
        -------
        self

        Notes
        -----
        A row of another length, or with NaN, is refused, and nothing is learned from it.

        **Cost**: that of a row, told for each estimator, and some millionths of a second.

        Examples
        --------
        >>> from squareone import IncrementalRLSClassifier, IncrementalRLSRegressor
        >>> model = IncrementalRLSClassifier().start(classes=["even", "odd"], n_features=2)
        >>> for x, y in [([0.0, 1.0], "odd"), ([1.0, 0.0], "even")]:
        ...     model = model.learn_one(x, y)
        >>> model.predict_one([0.2, 1.0]), model.n_rounds_
        ('odd', 2)
        >>> model = IncrementalRLSRegressor(a=0.01).start(n_features=1)
        >>> for x in (1.0, 2.0, 3.0):
        ...     model = model.learn_one([x], 2 * x + 1)
        >>> print(f"{model.predict_one([4.0]):.1f}")
        9.0
        """
        row, target = self._one(x), self._target_of_one(y)
        record = self._record
        record.engine.learn(row, target)
        record.changed()
        return self

    def predict_one(self, x: Any) -> Any:
        """What is predicted for one row: the fast way.

        Parameters
        ----------
        x : array-like of shape (d,), or sparse matrix of shape (1, d)
            The row.

        Returns
        -------
        label or float, or an array or tuple where there are several
            As ``predict`` has it for a row.

        Notes
        -----
        **Cost**: a margin for each column; in the dual form a kernel value for each point.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> SecondOrderPerceptron().fit(X, y).predict_one(X[0])
        0
        """
        return self._answer(self._margins_of_one(x))

    def _one(self, x: Any) -> Any:
        """One row (1, d) as the learners take it: looked at, but not more than needed."""
        try:
            record = self._record
        except AttributeError:
            name = type(self).__name__
            msg = (
                f"This {name} instance is not fitted yet: call start, or partial_fit with some "
                "rows, before the first row by itself"
            )
            raise NotFittedError(msg) from None
        if issparse(x):
            return self._as_learned(self._checked(x))
        d = self.n_features_in_
        constant = record.intercept and record.form != "dual"
        row = np.empty((1, d + constant))
        try:
            row[0, :d] = x
        except (TypeError, ValueError) as error:
            msg = f"x: {d} numbers are expected, one per feature, got {_described(x)}"
            raise ValueError(msg) from error
        if np.shape(x) != (d,):
            msg = f"x: {d} numbers are expected, one per feature, got {_described(x)}"
            raise ValueError(msg)
        if constant:
            row[0, d] = 1.0
        if not (row.max() < _LARGE and row.min() > -_LARGE):
            if not np.isfinite(row).all():
                msg = "x has NaN or infinity: finite numbers are expected, and nothing was learned"
                raise ValueError(msg)
            self._check_rows_of_kernel(row[:, :d])
        return row

    def _margins_of_one(self, x: Any) -> Array:
        """(t,), by the hypothesis that predicts."""
        row = self._one(x)
        record = self._record
        if record.form == "dual":
            return record.model.values(row)[0]
        return (row @ record.weights)[0]

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        shown = shown_state(self)
        return {**self._features_state(), "record": self._recorded().state(), **shown}

    def _restore(self, found: Fields) -> None:
        restore_record(self, found)

    def _targets_from(self, found: Fields, columns: int) -> Any:
        """Those of a file."""
        targets = targets_from(found, columns)
        if isinstance(targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        return targets


def _described(x: Any) -> str:
    """What came in place of a row."""
    shape = np.shape(x) if not isinstance(x, dict | str) else None
    return type(x).__name__ if shape is None else f"{type(x).__name__} of shape {shape}"


def positive_count(value: Any, name: str) -> int:
    """A number of features, or of targets, checked."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        msg = f"{name}={value!r}: a whole number of at least one is expected"
        raise ValueError(msg)
    return int(value)
