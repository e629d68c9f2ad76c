"""The contract of solvers: what they are asked for, what they cost, and what a factor answers.

A factorisation does once all the work that does not depend on λ; then, for any λ and all targets,
it gives residuals and complements of the leverages. Both come *up to one positive factor per λ*:
a kernel solver gives r/λ and (1 − h)/λ, which exist even at λ = 0. Every criterion is a ratio in
which that factor cancels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arrays import Array, blocks
from ..rows.block_sums import Keeper
from .exact.weighting import Weighting

if TYPE_CHECKING:
    from ..kernels import Kernel
    from .few_centers.center_basis import CenterBasis
    from .krylov.normal_equations import Limits

#: Called with rows, residuals (b, t, L) and complements (b, L).
Visitor = Callable[[slice | Array, Array, Array], None]
#: What is made of left-out errors (b, t, L), √w (b,) or None, and a part of an array (b,).
Summarise = Callable[[Array, "Array | None", Array], Any]

# Columns (targets x λ) in one product, and numbers in one block of its result.
PATH_COLUMNS = 512
PATH_BLOCK = 262_144
# Held-out values (rows x targets x λ) kept at a time, where they are kept.
HELD_NUMBERS = 2_097_152


@dataclass(frozen=True)
class Unconverged:
    """Iterations that ended before the relative residual was as small as it should be.

    Attributes
    ----------
    solver : str
    iterations : int
    residual : float
        Where they ended.
    in_fold : bool
        Whether it is a fold that was not solved for.
    compared, unsolved : int
        How many λ were compared, and how many of them were not solved for; zero where it is the
        chosen one.
    """

    solver: str
    iterations: int
    residual: float
    in_fold: bool = False
    compared: int = 0
    unsolved: int = 0


@dataclass(frozen=True)
class Status:
    """What a factorisation says about its own accuracy.

    Attributes
    ----------
    rounding : float
        The relative error that rounding lets expect.
    dropped : int
        Centers that are missing, and may have counted.
    unconverged : Unconverged or None
    """

    rounding: float
    dropped: int = 0
    unconverged: Unconverged | None = None


@dataclass(frozen=True)
class BlockQuestion:
    """What is asked of rows where they are: ``ask(block, *beside)`` of blocks of ``size`` rows."""

    rows: Any
    ask: Callable[..., Any]
    beside: Sequence[Array | None]
    size: int


#: Functions of a row x of the form that f has: coefficients (p, q) and intercepts (q,), as those of
#: a fit to q targets.
Functions = tuple[Array, Array]


class Factor(ABC):
    """All the answers of one solver. Rows are scaled by √w; see :class:`Weighting`.

    Attributes
    ----------
    weighting : Weighting
    targets : array (n, t)
        ỹ: scaled and projected.
    largest : float
        The largest eigenvalue of the kernel matrix (or a bound on it): the unit of the λ grid.
    rounded : float
        What rounding is relative to, in the same units; at least ``largest``.
    """

    weighting: Weighting
    targets: Array
    largest: float
    rounded: float

    #: What λ is divided by, one after the other: their product may overflow.
    alpha_units: tuple[float, ...] = ()

    #: Whether many λ at once cost hardly more than one.
    many_at_once: bool = True

    @property
    def bits(self) -> int:
        """The precision in which λ are compared."""
        return 8 * self.targets.dtype.itemsize

    @property
    def n(self) -> int:
        """Rows that take part in the fit."""
        return self.targets.shape[0]

    @abstractmethod
    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        """Show residuals and complements for ``alphas`` (L,) to ``visitor``, by row blocks.

        The visitor is called from several threads, each time with other rows: slices of all of
        them, or pieces of the ``sample`` (s,), ascending, where only those are asked about.
        """

    def left_out(
        self, alphas: Array, rows: slice | Array, residuals: Array, complements: Array
    ) -> Array:
        """Errors (b, t, L) without each of the rows that were visited; residuals may be lost."""
        return np.divide(residuals, complements[:, None, :], out=residuals, casting="same_kind")

    def summaries(
        self,
        alphas: Array,
        summarise: Summarise,
        chosen: Array,
        sample: Array | None = None,
        look: Visitor | None = None,
    ) -> list[Any]:
        """What ``summarise(errors, root, chosen)`` makes of blocks of rows, in their order.

        It is given errors (b, t, L) without each of the rows, scaled by √w, which it may destroy,
        √w (b,) or None, and its part of ``chosen`` (n,). ``look`` is shown residuals and
        complements before.
        """
        found: dict[int, Any] = {}
        root = self.weighting.root

        def add(rows: slice | Array, residuals: Array, complements: Array) -> None:
            if look is not None:
                look(rows, residuals, complements)
            errors = self.left_out(alphas, rows, residuals, complements)
            some = None if root is None else root[rows]
            found[first_of(rows)] = summarise(errors, some, chosen[rows])

        self.expect_left_out(sample)
        self.visit(alphas, add, sample)
        return [found[first] for first in sorted(found)]

    def left_out_by_target(self, alphas: Array) -> Array:
        """Errors (n, t) without each row, scaled by √w, with one λ per target: ``alphas`` (t,)."""
        found = np.empty(self.targets.shape, self.targets.dtype)
        self.expect_left_out(None)
        for alpha in np.unique(alphas):
            columns, one = np.flatnonzero(alphas == alpha), np.array([alpha])

            def store(
                rows: slice | Array,
                residuals: Array,
                complements: Array,
                columns: Array = columns,
                one: Array = one,
            ) -> None:
                errors = self.left_out(one, rows, residuals, complements)[:, columns, 0]
                if isinstance(rows, slice):
                    found[rows, columns] = errors
                else:
                    found[np.ix_(rows, columns)] = errors

            self.visit(one, store)
        return found

    def errors_of_blocks(self, alphas: Array) -> BlockQuestion | None:
        """What gives the errors of :meth:`left_out_by_target` where the rows are.

        None where rows have to be here, or where all of them are few numbers.
        """
        return None

    def totals(self, alphas: Array) -> tuple[Array, Array]:
        """Σr² (t, L) and Σ(1 − h) (L,), up to the factor of residuals, for ``alphas`` (L,)."""
        sums: dict[int, tuple[Array, Array]] = {}

        def add(rows: slice | Array, residuals: Array, complements: Array) -> None:
            squares = np.einsum("itl,itl->tl", residuals, residuals, dtype=np.float64)
            sums[first_of(rows)] = squares, complements.sum(axis=0, dtype=np.float64)

        self.visit(alphas, add)
        squares = np.sum([sums[start][0] for start in sorted(sums)], axis=0)
        traces = np.sum([sums[start][1] for start in sorted(sums)], axis=0)
        if self.estimated:  # each for a row of its own, not for their sum
            traces = self.n - self.degrees_of_freedom(alphas)
        return squares, traces

    @abstractmethod
    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """Errors at the rows ``removed`` (m,) of the fit without them → (m, t, L)."""

    @abstractmethod
    def degrees_of_freedom(self, alphas: Array) -> Array:
        """Trace of the hat matrix, the intercept included, for ``alphas`` (L,) → (L,)."""

    @abstractmethod
    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        """Coefficients (n or d, t) and intercepts (t,), with one λ per target: ``alphas`` (t,)."""

    @abstractmethod
    def error_estimate(self, alpha: float) -> float:
        """Relative error to expect from rounding at this λ: eps times a condition number."""

    def status(self, alphas: Array, tolerance: float, compared: Array | None) -> Status:
        """How far coefficients at ``alphas`` (t,) can be relied on.

        ``compared`` (L,) are all λ among which these were chosen; None where they were given.
        """
        least = float(alphas.min())  # the worst
        dropped = self.dropped_centers.size if self.lost_energy > least else 0
        unconverged = self._unconverged(alphas, tolerance, compared)
        return Status(self.error_estimate(least), dropped, unconverged)

    def _unconverged(
        self, alphas: Array, tolerance: float, compared: Array | None
    ) -> Unconverged | None:
        """None where nothing is iterated, or all of it came as close as ``tolerance``."""
        return None

    @abstractmethod
    def log_determinants(self, alphas: Array) -> Array:
        """log det(B̃ + λI) for ``alphas`` (L,) → (L,), in the user's units of the kernel and w.

        With an intercept over the n − 1 directions orthogonal to u.
        """

    @abstractmethod
    def energies(self, alphas: Array) -> Array:
        """ỹᵀ(B̃ + λI)⁻¹ỹ for ``alphas`` (L,) → (t, L), in the user's units of the kernel and w."""

    # --- a sequence of products in place of a factorisation; one is exact, and there at once ---

    #: Decades below the largest eigenvalue that a grid of λ covers first, and by which it is then
    #: widened; None where small λ cost no more than others.
    grid_decades: tuple[int, int] | None = None

    @contextmanager
    def as_far_as_it_is(self) -> Iterator[None]:
        """Inside, λ are answered for by what is there already: no iteration goes on for them."""
        yield

    def residuals(self, alphas: Array) -> Array:
        """The relative residual at each of ``alphas`` (L,), where iterations solve for them."""
        return np.zeros(alphas.size)

    #: Iterations, and the relative residual they ended at.
    iterations: int = 1
    residual: float = 0.0

    #: A λ to begin a search with, where a smaller model found one.
    start: float | None = None

    @property
    def typical(self) -> float:
        """A λ that a first grid of few decades has to reach; infinite where it has many."""
        return np.inf

    @property
    def exhausted(self) -> bool:
        """Whether it has done all it may: smaller λ would not be solved for."""
        return False

    @property
    def costs_again(self) -> bool:
        """Whether other λ than those asked for before cost about as much as these did."""
        return False

    @property
    def leverages_at_hand(self) -> bool:
        """Whether complements and degrees of freedom are there, or come with the residuals."""
        return True

    @property
    def estimated(self) -> bool:
        """Whether complements are estimates."""
        return False

    def estimates_without(self, alphas: Array) -> list[Array]:
        """Complements (n, L) from parts of what they are estimated from; none where exact."""
        return []

    def doubtful(self, alpha: float) -> Array:
        """Rows (n,) whose complement at λ is estimated too roughly to be relied on."""
        return np.zeros(self.n, bool)

    def reliable(self, alphas: Array) -> Array:
        """Which of ``alphas`` (L,) that were visited rounding leaves a meaning: a mask (L,)."""
        return np.ones(alphas.size, bool)

    # --- centers; where all rows are, none depends on others and all of the trace is explained ---

    @property
    def coefficient_points(self) -> CenterBasis | None:
        """The centers to which coefficients belong; None for rows or features."""
        return None

    @property
    def dropped_centers(self) -> Array:
        """Positions of centers that depend on others, among those that were asked for."""
        return np.empty(0, int)

    @property
    def lost_energy(self) -> float:
        """The squared length of a direction that went with a dropped center, in the units of λ."""
        return 0.0

    @property
    def explained_trace(self) -> float:
        """The share of the trace of the kernel matrix that the centers explain."""
        return 1.0

    def expect_left_out(self, sample: Array | None) -> None:  # noqa: B027  (most need nothing)
        """Get ready for :meth:`left_out` of all rows, or of a sample (s,), before a visit."""

    # --- other targets ---

    #: The relative residual at which iterations stop; zero where nothing is iterated.
    tolerance: float = 0.0

    #: Numbers that :meth:`for_targets` allocates, beside a few for every row.
    numbers_for_targets: float = 0.0

    def for_targets(self, Y: Array) -> Factor | None:
        """The same rows, kernel and weights for other targets (n, t); None where it cannot be.

        What was computed of the rows is shared, not copied, and this factorisation stays as it is.
        """
        return None

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> Factor | None:
        """The rows ``some`` (s,), ascending, alone, for targets (s, t), by some of the centers.

        Where there are no centers by their features; None where these are not known.
        """
        return None

    def settle(self) -> None:  # noqa: B027  (most have nothing to do)
        """Get ready for what is asked later, which must not depend on what the user does to X."""

    # --- new rows ---

    #: Whether new rows are asked about by their features (m, d), or else by their kernel values
    #: with the rows of the fit (m, n).
    takes_rows: bool = False

    @abstractmethod
    def sensitivities(self, alpha: float, queries: Array, some: Array | None = None) -> Array:
        """df(x)/dy_i at new rows x → (n, m): f(x) = Σ_i y_i df(x)/dy_i. Kernel values are lost.

        Without row i the prediction is f(x) − e_i df(x)/dy_i, with its leave-one-out error e_i.
        Rows ``some`` (q,), ascending, are asked about in place of all: (q, m).
        """

    def moves(
        self, alpha: float, queries: Any, errors: Array, unit: float, some: Array | None = None
    ) -> Callable[[int], Array]:
        """f(x) − f_{−i}(x) at new rows x, for a target column: j → (n, m). Kernel values are lost.

        ``errors`` (n, t) are the leave-one-out errors of the rows. They, and the result, are in the
        units of y, each of which is ``unit`` of those of the targets here. Rows ``some`` (q,),
        ascending, with errors (q, t), are asked about in place of all: (q, m).
        """
        sensitivities = self.sensitivities(alpha, queries, some)
        return lambda j: sensitivities * errors[:, j, None]

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions | None:
        """df(x)/dy_i as functions of x, for rows ``some`` (q,), ascending: (p, q) and (q,).

        None where they are not of the form that f has.
        """
        return None

    def move_functions(
        self, alpha: float, errors: Array, unit: float, some: Array
    ) -> Callable[[int], Functions] | None:
        """What :meth:`moves` gives, as functions of x: j → (p, q) and (q,); None as above."""
        found = self.sensitivity_functions(alpha, some)
        if found is None:
            return None
        coefficients, intercepts = found
        return lambda j: (coefficients * errors[:, j], intercepts * errors[:, j])

    @abstractmethod
    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        """Posterior variance of f at new rows → (m,), at scale one; ``prior`` (m,) is k(x, x).

        Kernel values are lost.
        """

    def _with_mean(self, sensitivities: Array, some: Array | None) -> Array:
        """The share of √w and of the mean of y, in sensitivities (q, m) to ỹ: in place."""
        rows = slice(None) if some is None else some
        self.weighting.scale(sensitivities, rows)
        u = self.weighting.direction
        if u is not None:
            sensitivities += np.square(u[rows])[:, None]
        return sensitivities

    def _shares_of_mean(self, some: Array) -> Array:
        """dȳ/dy_i (q,), with which the intercept follows the targets of some rows."""
        u = self.weighting.direction
        return np.zeros(some.size) if u is None else np.square(u[some], dtype=np.float64)

    def _variance_of_mean(self, alpha: float) -> float:
        """λ/Σw: what noise leaves unknown of the intercept."""
        if self.weighting.direction is None:
            return 0.0
        return alpha / self.weighting.unit / self.weighting.total_root**2

    def scaled(self, alphas: Array | float) -> Array:
        """λ in the units of what was factored, in float64."""
        scaled = np.asarray(alphas, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            for unit in self.alpha_units:
                scaled = scaled / unit
        return np.minimum(scaled, np.finfo(np.float64).max)

    def in_user_units(self, square: float) -> float:
        """A square of what was factored as the user's λ would see it; at most the largest number.

        The other way round than :meth:`scaled`.
        """
        for unit in self.alpha_units:
            square *= unit
        return min(square, float(np.finfo(np.float64).max))

    def chunks(self, alphas: Array, *, held: bool) -> list[Array]:
        """``alphas`` (L,) in the pieces in which they are best asked for.

        ``held`` says that every held-out value will be kept for a while.
        """
        t = self.targets.shape[1]
        size = max(1, PATH_COLUMNS // t) if self.many_at_once else 1
        if held:
            size = max(1, min(size, HELD_NUMBERS // max(1, self.n * t)))
        return [alphas[piece] for piece in blocks(alphas.size, size)]


class KeptRows:
    """Some rows of a matrix (q, n), kept for the next block of new rows."""

    def __init__(self) -> None:
        self._key: tuple[float, bytes] | None = None
        self._rows: Array = np.empty((0, 0))

    def of(self, alpha: float, some: Array, make: Callable[[], Array]) -> Array:
        """Those of this λ: the ones that are kept, or new ones."""
        key = alpha, some.tobytes()
        if self._key != key:
            self._key, self._rows = None, np.empty((0, 0))
            self._rows, self._key = make(), key
        return self._rows


def first_of(rows: slice | Array) -> int:
    """The first of the rows that a visitor is shown."""
    return int(rows.start if isinstance(rows, slice) else rows[0])


def shown_of(sample: Array | None, visitor: Visitor) -> Visitor:
    """A visitor of all rows that passes on those of the sample (s,), ascending; None: all."""
    if sample is None:
        return visitor

    def some(rows: slice | Array, residuals: Array, complements: Array) -> None:
        assert isinstance(rows, slice)
        here = sample[np.searchsorted(sample, rows.start) : np.searchsorted(sample, rows.stop)]
        if here.size:
            places = here - rows.start
            visitor(here, residuals[places], complements[places])

    return some


#: Arrays by name.
State = dict[str, Array]


class Forgetful:
    """Keeps nothing."""

    def restored(self, stage: str) -> State | None:
        """Nothing."""
        return None

    def keep(self, stage: str, state: Callable[[], State]) -> None:
        """Nothing happens."""


class SolverInput(Protocol):
    """What a solver is built from.

    Attributes
    ----------
    X : array (n, d), CSR matrix or Stream, or kernel matrix (n, n)
    Y : array (n, t)
    alpha : float, array or "auto"
    kernel : Kernel
        With numbers for parameters.
    given : bool
        Whether X is a kernel matrix.
    center_rows : array (m,)
        Which rows the centers are; −1 for those that are none.
    keeper : Keeper or None
        Keeps states of a long computation.
    """

    @property
    def X(self) -> Any: ...  # noqa: N802
    @property
    def Y(self) -> Array: ...  # noqa: N802
    @property
    def alpha(self) -> float | Array | str: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def given(self) -> bool: ...
    @property
    def center_rows(self) -> Array: ...
    @property
    def keeper(self) -> Keeper | None: ...

    def weighting(self) -> Weighting:
        """Weights and intercept."""

    def center_basis(self, *, compact: bool = False) -> CenterBasis:
        """The centers, with what depends on them alone."""

    def limits(self, budget: float | None = None) -> Limits:
        """Of iterations; ``budget`` is in bytes, by default what the plan leaves."""

    def first_alpha(self) -> float | None:
        """A λ that a smaller model found to be good, where λ is searched for."""

    def random_seed(self) -> int:
        """Of the random numbers of a solver."""

    def watch_rows(self, rows: int) -> None:
        """Show how many rows have been seen."""


#: Those before the fit with the kernel that was chosen.
PRELIMINARIES = ("choice of the kernel", "folds for the error", "metric")

#: The stages of a fit, by the names under which their seconds are counted, in their order.
STAGES = (
    *PRELIMINARIES,
    "search for the width",
    "choice of centers",
    "start of the search",
    "kernel matrix",
    "search in float32",
    "factorisation",
    "path",
    "coefficients",
    "leave-one-out values",
)


@dataclass(frozen=True)
class Task:
    """What has to be solved, as far as its cost goes.

    Attributes
    ----------
    n, d, t : int
        Rows, features, target columns.
    itemsize : int
        Bytes of a number.
    linear, given : bool
        Whether the kernel is the linear one, or a precomputed matrix.
    alphas : int or "auto"
        How many λ are compared; ``"auto"`` where they are not given.
    smooth : bool
        Whether the criterion is a smooth function of one λ, which a bracketed search can follow.
    fold_work : float
        Multiplications per λ and row of the basis that leaving out the folds takes: Σ|fold|².
    largest_fold : int
        Rows of the largest fold.
    held : bool
        Whether the held-out values themselves are needed, not only their squares: a scorer.
    copied : bool
        Whether the rows have to be copied, because some of them have weight zero.
    threads : int
        Each has a tile of its own.
    width_search : bool
        Whether the width of the kernel is searched as well.
    stored : int
        Numbers that the rows consist of; n·d where they are dense, or where it is left at zero.
    sparse : bool
        Whether zeros are not stored.
    folds : int
        How many folds are left out, one after the other; none for other criteria.
    likelihood : bool
        Whether the criterion needs determinants.
    unregularised : bool
        Whether a λ of zero is among those given.
    occupied : int
        Features that are not zero in all rows; all of them where it is left at zero.
    kept : bool
        Whether the rows have to be kept, for what is asked later.
    centers : int
        Points that carry coefficients; zero for all rows.
    sampled : int
        Rows over which the leave-one-out error is taken; zero for all of them.
    streamed : bool
        Whether rows are read block by block, and never held.
    without_rows : bool
        Whether the criterion leaves no rows out.
    per_target : bool
        Whether each target has a λ of its own.
    device : str
        Where matrices are, and their memory is counted; empty for the machine's own.
    """

    n: int
    d: int
    t: int
    itemsize: int
    linear: bool
    given: bool
    alphas: int | str
    smooth: bool
    fold_work: float = 0.0
    largest_fold: int = 0
    held: bool = False
    copied: bool = False
    threads: int = 1
    width_search: bool = False
    stored: int = 0
    sparse: bool = False
    folds: int = 0
    likelihood: bool = False
    unregularised: bool = False
    occupied: int = 0
    kept: bool = True
    centers: int = 0
    sampled: int = 0
    streamed: bool = False
    without_rows: bool = False
    per_target: bool = False
    device: str = ""

    @property
    def numbers(self) -> int:
        """Numbers that the rows consist of."""
        return self.stored if self.sparse else self.n * self.d

    @property
    def row_bytes(self) -> float:
        """Bytes of a copy of the rows: with a number goes the index of its feature."""
        return self.numbers * (self.itemsize + 4.0 * self.sparse)

    @property
    def bits(self) -> int:
        """The precision of the rows."""
        return 8 * self.itemsize


@dataclass(frozen=True)
class Work:
    """An amount of one kind of operation, as part of what a solver does.

    Attributes
    ----------
    kind : str
        What it is a rate of: see :mod:`squareone.planning.machine_speed`.
    amount : float
        Flops, numbers or bytes, as the kind says; what takes the time.
    size : float
        What the rate grows with: the side of a matrix, or the inner side of a product.
    bits : int
        The precision it is done in, 32 or 64.
    flops : float
        What it adds to the operations the plan counts and chooses by: zero for what is no
        arithmetic, half for single precision where the rows are in double.
    stage : str
        The stage of a fit in which it is done.
    """

    kind: str
    amount: float
    size: float
    bits: int
    flops: float = 0.0
    stage: str = ""


@dataclass(frozen=True)
class Candidate:
    """One way to do it. ``refused`` says why it cannot be taken; empty where it can.

    ``work`` is all that takes time, by kind of operation and stage; what it says to count adds up
    to the ``flops``. With fewer ``bytes``, but with the ``least``, it can be done more slowly.
    """

    solver: str
    work: tuple[Work, ...]
    bytes: float
    form: str
    refused: str = ""
    least: float = 0.0

    @property
    def needed(self) -> float:
        """Bytes without which it cannot be done."""
        return self.least or self.bytes

    @property
    def flops(self) -> float:
        """Operations; those in float32 count half where the rows are in float64."""
        return sum(w.flops for w in self.work)
