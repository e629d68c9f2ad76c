"""TableEncoder: a table as people have it becomes an array of numbers, for kernel methods.

scikit-learn's transformers were not used inside. QuantileTransformer puts the smallest value at
−5.2, even if more than half of the rows have it, and its quantiles are equally far in rank, few in
the tails; its encoders and scalers do not all take weights; and a ColumnTransformer of them keeps
no reasons, and cannot be checked field by field when a file is loaded. skrub's TableVectorizer
needs pandas and matplotlib, some 120 MB installed, for a library that needs neither.
"""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..errors import EmptyColumnWarning, IdentifierWarning, ScaleError, UnseenValuesWarning
from ..estimators.array_libraries import as_numpy, lazy_on_dask
from ..parameters import NamedParameters
from ..persistence import Fields, refuse
from ..planning.text_table import Table as TextTable
from ..rows.checks import first_not_finite, is_dask, requested_type
from ..rows.column_problems import refuse_missing
from ..targets.target_validation import check_weights
from ..texts import listed
from .column_choice import (
    DROPPED,
    ChoiceRules,
    EncodedColumn,
    Unseen,
    called_identifier,
    choose,
)
from .column_parts import MOST_HASHES, TargetMeans
from .columns import Column, Table, columns_of
from .number_pieces import MOST_PIECES
from .target_means import TASKS, out_of_fold_means, target_columns

__all__ = ["ColumnSummary", "TableEncoder"]

#: What ``scaling`` may be.
SCALINGS = ("standard", "quantile", "pieces")
# The share of the rows of a column above which transform warns of what is not known, if there are
# so many such rows at least: of a few rows any share says little.
_WARNED, _FEWEST_WARNED = 0.2, 10
# What set_output takes.
_CONTAINERS = ("default", "pandas", "polars")
# Columns that a message lists.
_listed = partial(listed, most=10)


class NothingToEncodeError(ValueError):
    """No column has values that vary."""


class ColumnSummary(NamedTuple):
    """What a column was taken for: its name, its kind, why, and the names of its outputs."""

    name: str
    kind: str
    why: str
    outputs: tuple[str, ...]


class TableEncoder(TransformerMixin, NamedParameters):
    r"""Make an array of numbers of a table with numbers, words, dates, booleans and gaps.

    What a column is gets decided at ``fit``, and ``summary()`` says why. Distances between the
    outputs mean the same in all columns, as kernels need it: two levels of words are 1 apart,
    numbers have standard deviation 1.

    ===========  ================================================================================
    numbers      scaled; a gap is the median, and an indicator where gaps occur. Also text that
                 ``float`` reads in every row ("12.5", not "1,234"), unless it has leading zeros.
                 Durations are seconds
    booleans     ½ and −½, 0 for a gap, which has an indicator
    words        two levels ½ and −½; up to ``max_levels`` an indicator over √2 for each, those of
                 fewer than ``rare`` rows together; more levels have the mean of the targets, out of
                 fold, or a hash. Gaps are a level. An ordered categorical has its order, too
    dates        a running number, scaled, the season and the time of day as points of a circle, and
                 the day of the week, as far as they vary; with a time zone all of it in UTC. Also
                 text that is an ISO date in every row
    dropped      columns that are empty or constant, and identifiers: text that is different in nine
                 rows of ten, and whole numbers that differ in every row and count from 0 or 1 on,
                 or have "id" and the like in their name. Measurements never are
    ===========  ================================================================================

    Parameters
    ----------
    scaling : {"standard", "quantile", "pieces"}, default "standard"
        Of numbers and dates: to mean 0 and standard deviation 1; or to the normal scores of their
        ranks, which no outlier reaches and no increasing map of a column changes; or ``n_pieces``
        columns for intervals that have about as many rows each, which a learned metric can weigh
        apart, so that thresholds are found. Beyond the values of the training rows the last two are
        constant.
    n_pieces : int, default 8
        Intervals at most of a number with ``scaling="pieces"``; of one with fewer different values
        one between any two neighbours.
    max_levels : int, default 30
        More levels than this get the mean of the targets, or a hash.
    rare : int, default 3
        Levels of fewer rows are one, which is also that of a level that comes later.
    many_levels : {"target", "hash"}, default "target"
        For more than ``max_levels`` levels. Without y they are hashed.
    n_hash : int, default 32
        Columns of a hash.
    smoothing : float, default 10.0
        Rows that the mean of all is worth in the mean of a level.
    task : {"auto", "regression", "classification"}, default "auto"
        What y is. Words, booleans and up to 20 different whole numbers are classes for "auto". A
        mean for every class, one for two classes, one for every target of a regression.
    drop_identifiers : bool, default True
    n_folds : int, default 5
        Folds from which ``fit_transform`` computes means of targets.
    dtype : dtype, default float64
        ``float32`` takes half the memory.
    random_state : int, RandomState or None, default None
        Draws the folds.

    Attributes
    ----------
    columns_ : list of ColumnSummary
        ``(name, kind, why, outputs)`` for every column.
    dropped_ : dict
        Names and reasons of columns that are not encoded.
    output_columns_ : object array (n_outputs,)
        The name of the column that each output comes from.
    n_features_in_ : int
    feature_names_in_ : object array (d,)
        Where a data frame came, its names as text.

    Notes
    -----
    ``fit_transform(X, y)`` is not ``fit(X, y).transform(X)`` where words have many levels: the
    training rows get means of targets from the folds they are not in, so that no row's own target
    is in its features. New rows get those of all training rows.

    A row of weight zero does not count, and one of weight w counts as w rows.

    Later tables are matched by name: the order of columns does not matter, and columns that were
    not there at fit are ignored, as in ``sklearn.compose.ColumnTransformer``; so are those that
    were dropped. Check that the target is not among the columns at fit. Arrays need as many columns
    as there were. A level that is not known has zeros, as far from all levels, or is with the rare
    ones; a gap where there was none is the median, or zeros. :meth:`unseen` counts both, and
    ``transform`` warns where they are more than a fifth of the rows of a column, and at least ten.

    None, NaN, NaT, ``pandas.NA``, nulls and text of blanks are gaps. Bytes are UTF-8. Words and
    numbers in one column are words; dates with anything else are refused. Times are kept to the
    microsecond.

    **Cost**: a few passes over every column, a sort with ``"quantile"`` and ``"pieces"``; for words
    one dictionary lookup per row. Memory: the outputs, and one column more.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.tables import TableEncoder
    >>> X = [[1.0, "red"], [2.0, "blue"], [None, "red"], [6.0, "red"]]
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0=(gap)', 'x1=red']
    >>> encoder.transform([[3.0, "blue"], [None, "green"]]).round(2).tolist()
    [[0.0, 0.0, -0.5], [-0.46, 1.0, 0.0]]
    >>> {name: tuple(counts) for name, counts in encoder.unseen([[3.0, "green"]]).items()}
    {'x1': (1, 0)}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scaling": [StrOptions(set(SCALINGS))],
        "n_pieces": [Interval(Integral, 1, MOST_PIECES, closed="both")],
        "max_levels": [Interval(Integral, 2, None, closed="left")],
        "rare": [Interval(Integral, 1, None, closed="left")],
        "many_levels": [StrOptions({"target", "hash"})],
        "n_hash": [Interval(Integral, 1, MOST_HASHES, closed="both")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "task": [StrOptions(set(TASKS))],
        "drop_identifiers": ["boolean"],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "dtype": "no_validation",  # type: ignore[dict-item]  # requested_type looks at it
        "random_state": ["random_state"],
    }
    #: What a fitted encoder is done with.
    _spare_parameters = ("random_state",)

    def __init__(
        self,
        *,
        scaling: str = "standard",
        n_pieces: int = 8,
        max_levels: int = 30,
        rare: int = 3,
        many_levels: str = "target",
        n_hash: int = 32,
        smoothing: float = 10.0,
        task: str = "auto",
        drop_identifiers: bool = True,
        n_folds: int = 5,
        dtype: Any = np.float64,
        random_state: Any = None,
    ) -> None:
        self.scaling = scaling
        self.n_pieces = n_pieces
        self.max_levels = max_levels
        self.rare = rare
        self.many_levels = many_levels
        self.n_hash = n_hash
        self.smoothing = smoothing
        self.task = task
        self.drop_identifiers = drop_identifiers
        self.n_folds = n_folds
        self.dtype = dtype
        self.random_state = random_state

    # --- fit ---

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Decide what the columns are, and how they are encoded.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)
            Of pandas or polars, of pyarrow, two-dimensional, or a list of rows.
        y : array (n,) or (n, K), optional
            Targets, for words of many levels.
        sample_weight : array (n,), optional
            How many rows each row counts as.

        Returns
        -------
        self

        Warns
        -----
        EmptyColumnWarning
            Where columns have no value in any row; they are dropped.
        IdentifierWarning
            Where numbers are dropped as a running number that are not called one.
        """
        if is_dask(X):
            self._fit_partitions(X, y, sample_weight)
        else:
            self._fit(X, y, sample_weight, out_of_fold=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and encode the training rows, with means of targets from other folds.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)
        y : array (n,) or (n, K), optional
        sample_weight : array (n,), optional

        Returns
        -------
        array or DataFrame (n, n_outputs)

        Notes
        -----
        **Cost**: that of ``fit`` and ``transform``, and ``n_folds`` passes over words of many
        levels.
        """
        if is_dask(X):
            partitions, by_fold, fold = self._fit_partitions(X, y, sample_weight)
            return partitions.encoded(self, by_fold, fold)
        table, keep, means = self._fit(X, y, sample_weight, out_of_fold=True)
        outputs = self._encode(table, range(table.d))
        start = 0
        for place, column in enumerate(self._encoded):
            if place in means:
                stop = start + means[place].shape[1]
                outputs[keep, start:stop] = means[place]
            start += len(column.outputs(""))
        return self._finite(outputs)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, out_of_fold: bool
    ) -> tuple[Table, Any, dict[int, Array]]:
        """The table, which of its rows count, and the means of other folds, by place of column."""
        self._validate_params()
        requested_type(self.dtype)
        table = columns_of(X, type(self).__name__)
        weights = check_weights(sample_weight, table.n, np.dtype(np.float64))
        keep: Any = slice(None)
        if weights is not None and not weights.all():
            keep = weights > 0
            weights = weights[keep]
        rules = self._rules(y, table.n, keep, weights)
        count = table.n if isinstance(keep, slice) else int(keep.sum())
        folds = check_random_state(self.random_state).permutation(count) % self.n_folds
        names = table.names or [f"x{place}" for place in range(table.d)]
        encoded: list[EncodedColumn] = []
        means: dict[int, Array] = {}
        for place, name in enumerate(names):
            column = table.column(place, name)
            if not isinstance(keep, slice):
                column = column.rows(keep)
            chosen = choose(column, rules)
            encoded.append(chosen)
            if out_of_fold and rules.Y is not None:
                means |= self._means(place, chosen, column, rules, folds)
        _check_some_left(encoded, count)
        self._set(encoded, named=table.names is not None)
        _warn_of_columns(encoded)
        return table, keep, means

    def _fit_partitions(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, dict[int, Array], Array]:
        """Fit to a collection of Dask: its partitions, means of other folds, and folds of rows."""
        from .partitioned_tables import PartitionedTable, chosen_columns  # Dask is an extra

        self._validate_params()
        requested_type(self.dtype)
        table = PartitionedTable(X, type(self).__name__)
        y, sample_weight = as_numpy(y, "y"), as_numpy(sample_weight, "sample_weight")
        weights = check_weights(sample_weight, table.n, np.dtype(np.float64))
        rules = self._rules(y, table.n, slice(None), weights)
        keep = np.ones(table.n, bool) if weights is None else weights > 0
        fold = np.full(table.n, -1)
        count = int(keep.sum())
        fold[keep] = check_random_state(self.random_state).permutation(count) % self.n_folds
        names, encoded, by_fold = chosen_columns(table, rules, weights, fold.clip(min=0))
        _check_some_left(encoded, count)
        self._set(encoded, named=names is not None)
        _warn_of_columns(encoded)
        return table, by_fold, fold

    def _rules(self, y: Any, n: int, keep: Any, weights: Array | None) -> ChoiceRules:
        Y: Array | None = None
        targets: list[str] = []
        if y is not None:
            y = np.asarray(y)
            if y.shape[:1] != (n,):
                msg = (
                    f"Found input variables with inconsistent numbers of samples: X has {n} rows, "
                    f"and y has shape {y.shape}: a target for every row is expected"
                )
                raise ValueError(msg)
            Y, targets = target_columns(y[keep], self.task)
        return ChoiceRules(
            scaling=self.scaling,
            n_pieces=self.n_pieces,
            max_levels=self.max_levels,
            rare=self.rare,
            n_hash=self.n_hash,
            smoothing=self.smoothing,
            drop_identifiers=self.drop_identifiers,
            Y=Y if self.many_levels == "target" else None,
            targets=tuple(targets),
            weights=weights,
        )

    @staticmethod
    def _means(
        place: int, chosen: EncodedColumn, column: Column, rules: ChoiceRules, folds: Array
    ) -> dict[int, Array]:
        """The means of targets of a column from other folds, if it has such means."""
        if not chosen.parts or not isinstance(chosen.parts[0], TargetMeans) or rules.Y is None:
            return {}
        levels = chosen.parts[0].levels
        codes = TargetMeans.codes(chosen.read(column), levels)
        found = out_of_fold_means(
            codes, len(levels) + 1, rules.Y, rules.weights, rules.smoothing, folds
        )
        return {place: found}

    def _set(self, encoded: list[EncodedColumn], *, named: bool) -> None:
        """All that is learned, from the columns."""
        self._encoded, self._named = encoded, named
        names = _distinct([column.outputs(column.name) for column in encoded])
        self.n_features_in_ = len(encoded)
        if named:
            self.feature_names_in_ = np.array([column.name for column in encoded], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.columns_ = [
            ColumnSummary(column.name, column.kind, column.why, tuple(outputs))
            for column, outputs in zip(encoded, names, strict=True)
        ]
        self.dropped_ = {c.name: f"{c.kind}: {c.why}" for c in encoded if c.kind in DROPPED}
        sources = [c.name for c in self.columns_ for _ in c.outputs]
        self.output_columns_ = np.array(sources, dtype=object)

    # --- new rows ---

    @lazy_on_dask
    def transform(self, X: Any) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)
            With the columns of the fit; see Notes of the class.

        Returns
        -------
        array or DataFrame (n, n_outputs)
            Of a Dask data frame a lazy Dask array, which an estimator takes as X.

        Warns
        -----
        UnseenValuesWarning
            Where more than a fifth of the rows of a column, and at least ten, hold what no training
            row did.
        """
        check_is_fitted(self)
        unseen: dict[str, Unseen] = {}
        outputs = self._outputs(X, unseen)
        n = outputs.shape[0]
        most = max(_WARNED * n, _FEWEST_WARNED - 1)
        many = {name: counts for name, counts in unseen.items() if sum(counts) > most}
        if many:
            told = [
                f"{name!r} ({counts.levels:,} rows with levels that are not known, {counts.gaps:,} "
                "with gaps where there were none)"
                for name, counts in many.items()
            ]
            msg = (
                f"more than a fifth of the {n:,} rows have what no training row had, in "
                f"{_listed(told)}: compare how these columns are written with how they were at "
                "fit. Unknown levels and new gaps carry no information"
            )
            warnings.warn(msg, UnseenValuesWarning, stacklevel=2)
        return outputs

    def unseen(self, X: Any) -> dict[str, Unseen]:
        """Count the rows that hold what no training row did, by column.

        Parameters
        ----------
        X : DataFrame, Table, array or list (n, d)

        Returns
        -------
        dict of str to Unseen
            ``(levels, gaps)``: rows with a level that is not known, and with a gap where there were
            none. Columns where all is known are left out, and so are levels that are hashed.
        """
        check_is_fitted(self)
        table, places = self._matched(X)
        found = {}
        for column, place in zip(self._encoded, places, strict=True):
            if column.parts:
                counts = column.unseen(column.read(table.column(place, column.name)))
                if any(counts):
                    found[column.name] = counts
        return found

    def _outputs(self, X: Any, unseen: dict[str, Unseen] | None = None) -> Array:
        """New rows as an array (n, n_outputs); what is not known is counted in ``unseen``."""
        table, places = self._matched(X)
        return self._finite(self._encode(table, places, unseen))

    def _matched(self, X: Any) -> tuple[Table, list[int]]:
        """A table, and where the columns of the fit are in it."""
        table = columns_of(X, type(self).__name__)
        owner = type(self).__name__
        if self._named and table.names is not None:
            known = {name: place for place, name in enumerate(table.names)}
            needed = [column.name for column in self._encoded if column.parts]
            refuse_missing(needed, table.names, "X")
            return table, [known.get(column.name, -1) for column in self._encoded]
        if table.d != self.n_features_in_:
            msg = (
                f"X has {table.d} features, but {owner} is expecting {self.n_features_in_} "
                "features as input"
            )
            raise ValueError(msg)
        if self._named:
            msg = f"X does not have valid feature names, but {owner} was fitted with feature names"
            warnings.warn(msg, UserWarning, stacklevel=3)
        elif table.names is not None:
            msg = f"X has feature names, but {owner} was fitted without feature names"
            warnings.warn(msg, UserWarning, stacklevel=3)
        return table, list(range(table.d))

    def _encode(self, table: Table, places: Any, unseen: dict[str, Unseen] | None = None) -> Array:
        """The outputs (n, n_outputs) of rows; what is not known is counted in ``unseen``."""
        outputs = np.empty((table.n, self.output_columns_.size), dtype=np.dtype(self.dtype))
        start = 0
        for column, place in zip(self._encoded, places, strict=True):
            if not column.parts:
                continue
            rows = column.read(table.column(place, column.name))
            stop = start + len(column.outputs(""))
            with np.errstate(over="ignore"):  # _finite says more
                column.encode(rows, outputs[:, start:stop])
            if unseen is not None and any(counts := column.unseen(rows)):
                unseen[column.name] = counts
            start = stop
        return outputs

    def _finite(self, outputs: Array) -> Array:
        """Refuse numbers that left the range of the type on their way."""
        wrong = first_not_finite(outputs)
        if wrong is not None:
            row, place, _ = wrong
            msg = (
                f"column {self.output_columns_[place]!r} in row {row} is too far from the training "
                f"rows to be scaled in {outputs.dtype}: look at its value, or use "
                'scaling="quantile"'
            )
            raise ScaleError(msg)
        return outputs

    # --- what it says of itself ---

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the outputs.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names for the columns of an array; of a data frame they have to be its own.

        Returns
        -------
        object array (n_outputs,)
        """
        check_is_fitted(self)
        names = [column.name for column in self._encoded]
        if input_features is not None:
            given = [str(name) for name in input_features]
            if self._named and given != names:
                msg = "input_features is not equal to feature_names_in_"
                raise ValueError(msg)
            if len(given) != len(names):
                msg = (
                    f"input_features should have length equal to number of features ({len(names)}),"
                    f" got {len(given)}"
                )
                raise ValueError(msg)
            names = given
        outputs = [c.outputs(name) for c, name in zip(self._encoded, names, strict=True)]
        return np.array([name for some in _distinct(outputs) for name in some], dtype=object)

    def summary(self) -> str:
        """What each column was taken for and why, as lines of text.

        Returns
        -------
        str

        Examples
        --------
        >>> from squareone.tables import TableEncoder
        >>> print(TableEncoder().fit([[1.5, "a", 0], [2.5, "b", 0], [4.0, "a", 0]]).summary())
        column  kind      outputs  why
        x0      number          1
        x1      words           1  2 levels
        x2      constant        0  0 in each of 3 rows
        """
        check_is_fitted(self)
        lines: list[tuple[str, ...]] = [
            (c.name, c.kind, f"{len(c.outputs):,}", c.why) for c in self.columns_
        ]
        return TextTable(("column", "kind", "outputs", "why"), lines, "<<><").text()

    def __sklearn_tags__(self) -> Any:
        """Gaps, words and categories are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        """What a file has of it: texts, numbers and arrays; nothing where it is not fitted."""
        if not hasattr(self, "columns_"):  # a parameter of another estimator
            return {}
        return {
            "columns": [column.state() for column in self._encoded],
            "named": self._named,
            "output": dict(getattr(self, "_sklearn_output_config", {})),
        }

    def _restore(self, found: Fields) -> None:
        """What a file has of it, checked."""
        self._validate_params()
        requested_type(self.dtype)
        if not found.has("columns"):
            return
        nodes = found.take("columns", list)
        named = found.take("named", bool)
        with found.inner("output") as output:
            config = {}
            if output.has("transform"):
                config["transform"] = output.take("transform", str)
                if config["transform"] not in _CONTAINERS:
                    refuse(output.where, f"one of {_CONTAINERS} is expected")
        where = f"{found.where}.columns"
        encoded = [EncodedColumn.restore(Fields(n, f"{where}.{i}")) for i, n in enumerate(nodes)]
        names = {column.name for column in encoded}
        if len(names) < len(encoded) or not any(column.parts for column in encoded):
            refuse(where, "columns of different names are expected, some of which are encoded")
        self._set(encoded, named=named)
        if config:
            self.set_output(**config)


def _check_some_left(encoded: list[EncodedColumn], n: int) -> None:
    """Refuse a table of which nothing is left."""
    if not any(column.parts for column in encoded):
        reasons = [f"{c.name!r} ({c.kind}: {c.why})" for c in encoded]
        msg = (
            f"X has no column to encode in {n:,} sample{'s' * (n > 1)}: {_listed(reasons)}. Values "
            "that vary are expected"
        )
        if any(column.kind == "identifier" for column in encoded):
            msg += "; drop_identifiers=False keeps identifiers"
        raise NothingToEncodeError(msg)


def _warn_of_columns(encoded: list[EncodedColumn]) -> None:
    """Tell of columns without a value, and of running numbers that are not called so."""
    empty = [repr(column.name) for column in encoded if column.kind == "empty"]
    if empty:
        several = len(empty) > 1
        msg = (
            f"column{'s' * several} {_listed(empty)} of X ha{'ve' if several else 's'} no "
            f"value in any row, and will not be used: leave {'them' if several else 'it'} out, "
            f"or look at how {'they were' if several else 'it was'} read"
        )
        warnings.warn(msg, EmptyColumnWarning, stacklevel=4)
    running = [
        repr(column.name)
        for column in encoded
        if column.kind == "identifier"
        and column.content == "numbers"
        and not called_identifier(column.name)
    ]
    if running:
        several = len(running) > 1
        msg = (
            f"column{'s' * several} {_listed(running)} of X look{'' if several else 's'} like "
            "a running number: whole numbers that count from 0 or 1 on, another one in every "
            f"row. {'They are' if several else 'It is'} not used, since new rows continue the "
            "count: drop_identifiers=False keeps what is a measurement, and leaving it out of "
            "X what is not silences this"
        )
        warnings.warn(msg, IdentifierWarning, stacklevel=4)


def _distinct(groups: list[list[str]]) -> list[list[str]]:
    """Names that come twice, of a level and another column for instance, get a prime."""
    seen: set[str] = set()
    found: list[list[str]] = []
    for group in groups:
        found.append([])
        for name in group:
            while name in seen:
                name += "'"
            seen.add(name)
            found[-1].append(name)
    return found
