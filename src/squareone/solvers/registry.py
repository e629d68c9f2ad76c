"""The registry of solvers: what each one needs, costs and can answer, and how it is built.

``auto``, the plan, the checks of parameters, their messages, the procedure of a fit, the laws and
the documentation's table read it. A new solver is a file with a factor, its ``build`` and its cost,
and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..arrays import Array
from .contract import Candidate, Factor, SolverInput, Task
from .exact.cholesky import CholeskyFactor, cholesky_cost, cholesky_is_safe
from .exact.gram import GramFactor, gram_cost
from .exact.spectral import SpectralFactor, spectral_cost
from .exact.svd import SvdFactor, svd_cost
from .exact.symmetric_system import SymmetricSystem
from .few_centers.nystrom import NystromFactor, nystrom_cost
from .few_centers.pcg import PcgFactor, pcg_cost
from .few_centers.rectangle import RectangleFactor, rectangle_cost
from .few_centers.subset_of_rows import subset_cost
from .krylov.krylov import KrylovFactor, krylov_cost
from .krylov.leverage_probes import FEW_ROWS

#: Builds a factor, from the kernel matrix made ready where the solver uses that.
Build = Callable[[SolverInput, SymmetricSystem | None], Factor]


@dataclass(frozen=True)
class Preference:
    """When ``auto`` takes a solver whatever others cost: up to so many flops, and why."""

    flops: float
    reason: str


@dataclass(frozen=True)
class Exchange:
    """When ``auto`` iterates in place of an exact solver, and why.

    Where the exact one needs more than ``flops``, and more than ``times`` those of the iteration.
    """

    flops: float
    times: float
    reason: str


class Formulas(NamedTuple):
    """What a solver factors, its operations once and for each λ, and the numbers it holds.

    For n rows, d features, t targets and m centers (without centers m is the smaller of n and d),
    as the documentation shows them.
    """

    factors: str
    once: str
    per_alpha: str
    numbers: str


@dataclass(frozen=True)
class Solver:
    """One solver.

    Attributes
    ----------
    name : str
    summary : str
        What it does.
    formulas : Formulas
    cost : callable
        A task to a candidate: operations, bytes, and why it cannot be done.
    build : callable or None
        None where the fit is handed to another solver, for the rows that are centers.
    works_on : {"kernel matrix", "features", "centers"}
        Features need the linear kernel, centers a kernel that can be evaluated.
    uses_kernel_matrix : callable
        Whether it factors the kernel matrix of n rows with d features.
    reads_blocks : bool
        Whether rows are read block by block, and need not fit in memory.
    every_alpha : bool
        Whether many λ cost hardly more than one. Otherwise the best one is searched for.
    iterates : bool
        Whether it stops at a tolerance; its leverages of more than ``probed_from`` rows are
        estimates by random probes.
    likelihood, posterior, alpha_zero, checkpoints : bool
        What it can do: the marginal likelihood, standard deviations of predictions, λ = 0, go on
        after an interruption.
    taken_unasked : {"always", "sparse", "never"}
        When ``auto`` may take it: for any rows, for sparse ones, or not at all.
    preferred : Preference or None
    exchange : Exchange or None
    left_out : int
        Random rows that are left out where leave-one-out over all of them would take too long.
    more_accurate : str
        The solver that ``auto`` changes to where the condition of the features is too high.
    for_small_alpha : str
        The solver that ``auto`` changes to where λ is too small to be safe: ``is_safe``.
    leverages_by_difference : bool
        Whether leverages near one lose digits.
    sum_numbers : callable
        Numbers in a sum over rows, of which there is one for each thread of a worker.
    held_bytes : callable
        What all workers together keep between passes, where they have room for it.
    trial : callable
        What the search for a width scores, given a rectangle and the targets.
    """

    name: str
    summary: str
    formulas: Formulas
    cost: Callable[[Task], Candidate]
    build: Build | None
    works_on: Literal["kernel matrix", "features", "centers"]
    uses_kernel_matrix: Callable[[int, int], bool] = lambda n, d: False
    reads_blocks: bool = False
    every_alpha: bool = True
    iterates: bool = False
    probed_from: int = 0
    likelihood: bool = True
    posterior: bool = True
    alpha_zero: bool = True
    checkpoints: bool = False
    taken_unasked: Literal["always", "sparse", "never"] = "always"
    preferred: Preference | None = None
    exchange: Exchange | None = None
    left_out: int = 5_000
    more_accurate: str = ""
    for_small_alpha: str = ""
    is_safe: Callable[[SymmetricSystem, float], bool] | None = None
    leverages_by_difference: bool = False
    sum_numbers: Callable[[Task], float] = lambda task: 0.0
    held_bytes: Callable[[Task], float] = lambda task: 0.0
    trial: Callable[[RectangleFactor, Array], Factor] = lambda rectangle, Y: rectangle

    @property
    def with_centers(self) -> bool:
        """Whether it takes centers."""
        return self.works_on == "centers"

    @property
    def needs_linear(self) -> bool:
        """Whether it works with features, and so with the linear kernel only."""
        return self.works_on == "features"

    @property
    def handed_on(self) -> bool:
        """Whether the rows that are centers are all that is fitted, by another solver."""
        return self.build is None

    def estimates(self, n: int) -> bool:
        """Whether leverages of ``n`` rows are estimated by random probes."""
        return self.iterates and n > self.probed_from


#: All solvers by name, in the order in which plans show them.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver(
            "gram",
            "eigendecomposition of XᵀX, in one pass over the rows",
            Formulas(
                r"$X^\top X = VS^2V^\top$",
                "$3nd^2 + 9d^3$",
                "$2nd(t+1)$",
                "$3d^2$",
            ),
            gram_cost,
            GramFactor.build,
            "features",
            uses_kernel_matrix=lambda n, d: n <= d,
            reads_blocks=True,
            more_accurate="svd",
            leverages_by_difference=True,
            # and those to which a block is dealt
            sum_numbers=lambda task: task.d**2 + min(16.0 * task.d**2, 4e6),
            held_bytes=lambda task: float(task.n) * task.d * task.itemsize,
        ),
        Solver(
            "svd",
            "singular value decomposition of the rows, the most accurate for features",
            Formulas(
                r"$X = USV^\top$",
                "$6ndm + 20m^3$",
                "$2nm(t+1)$",
                "$2nd$",
            ),
            svd_cost,
            SvdFactor.build,
            "features",
            preferred=Preference(1e9, "the most accurate, and its cost is negligible at this size"),
        ),
        Solver(
            "cholesky",
            "a Cholesky factorisation of the kernel matrix for each alpha, the least memory",
            Formulas(
                r"$K + \lambda I$, for each λ",
                "$n^2 d$",
                r"$\tfrac23n^3$; to fit only, $\tfrac13n^3$",
                "$n^2$",
            ),
            cholesky_cost,
            CholeskyFactor.build,
            "kernel matrix",
            uses_kernel_matrix=lambda n, d: True,
            every_alpha=False,
            more_accurate="svd",
            for_small_alpha="spectral",
            is_safe=cholesky_is_safe,
        ),
        Solver(
            "spectral",
            "eigendecomposition of the kernel matrix",
            Formulas(
                r"$K = Q\Lambda Q^\top$",
                "$n^2 d + 9n^3$",
                "$2n^2(t+1)$",
                "$3n^2$",
            ),
            spectral_cost,
            SpectralFactor.build,
            "kernel matrix",
            uses_kernel_matrix=lambda n, d: True,
            more_accurate="svd",
            preferred=Preference(
                2.5e10, "the whole path at once, and its cost is negligible at this size"
            ),
        ),
        Solver(
            "krylov",
            "conjugate gradients for all alphas at once, from products with the rows",
            Formulas(
                r"nothing: products with $X$ and $X^\top$",
                "$4s(t+20)$ per iteration, s numbers stored",
                "$2m(t+20)$ per iteration",
                "$m(t+20)$ per iteration",
            ),
            krylov_cost,
            KrylovFactor.build,
            "features",
            reads_blocks=True,
            iterates=True,
            probed_from=FEW_ROWS,
            likelihood=False,
            alpha_zero=False,
            taken_unasked="sparse",
            sum_numbers=lambda task: float(task.d) * task.t,
            held_bytes=lambda task: task.row_bytes,
            # products with sparse rows go through memory: exact flops are that much faster
            exchange=Exchange(
                1e10,
                8.0,
                "sparse rows need only products, and those take far fewer flops than a "
                "factorisation",
            ),
        ),
        Solver(
            "rectangle",
            "all rows, coefficients for the centers, in one pass over the rows",
            Formulas(
                r"$\tilde Z^\top\tilde Z = VS^2V^\top$, $z = L^{-1}k$",
                "$2nmd + nm^2 + 12m^3$",
                "$2sm(t+1)$, s rows left out",
                "$6m^2$",
            ),
            rectangle_cost,
            RectangleFactor.build,
            "centers",
            reads_blocks=True,
            checkpoints=True,
            sum_numbers=lambda task: (task.centers + task.t + 1.0) ** 2,
        ),
        Solver(
            "nystrom",
            "an approximate kernel matrix in the fit, all rows in predictions",
            Formulas(
                "as ``rectangle``",
                "that, and $2sn(d+m)$",
                "as ``rectangle``",
                "$6m^2+sm$",
            ),
            nystrom_cost,
            NystromFactor.build,
            "centers",
            likelihood=False,
            posterior=False,
            alpha_zero=False,
            checkpoints=True,
            taken_unasked="never",
            left_out=4_000,
            trial=NystromFactor,
        ),
        Solver(
            "pcg",
            "the rectangle's solution by preconditioned conjugate gradients, a pass for each",
            Formulas(
                r"nothing: products with $\tilde Z^\top\tilde Z$",
                r"$\tfrac13m^3+4m^3$",
                "$2nmd+4nm(t+20)$ per iteration",
                "$3m^2$",
            ),
            pcg_cost,
            PcgFactor.build,
            "centers",
            reads_blocks=True,
            iterates=True,
            likelihood=False,
            alpha_zero=False,
            checkpoints=True,
            left_out=4_000,
            # the rectangle is exact, and knows every alpha
            exchange=Exchange(2e13, 3.0, "far fewer flops than with the square of the centers"),
        ),
        Solver(
            "subset",
            "the rows that are centers and no others, exactly",
            Formulas(
                "the m rows, exactly",
                "that of m rows",
                "that of m rows",
                "$m^2$ to $3m^2$",
            ),
            lambda task: subset_cost(task, exact_candidates),
            None,
            "centers",
            reads_blocks=True,
            taken_unasked="never",
        ),
    )
}
#: The solver with centers that stands for all of them where nobody names one.
USUAL_WITH_CENTERS = "rectangle"
#: Rows up to which leave-one-out is over all of them where there are centers.
ALL_ROWS = 20_000


def names(which: Callable[[Solver], bool]) -> tuple[str, ...]:
    """Names of the solvers for which ``which`` holds, in order."""
    return tuple(name for name, solver in SOLVERS.items() if which(solver))


def listed(which: Callable[[Solver], bool], *others: str, last: str = "or") -> str:
    """The same, and others, as a part of a sentence: ``"a", "b" or "c"``."""
    quoted = [f'"{name}"' for name in (*names(which), *others)]
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def takes_centers(name: str) -> bool:
    """Whether ``name`` is a solver with centers; ``"auto"`` is none."""
    return name in SOLVERS and SOLVERS[name].with_centers


def usual_sample(n: int, name: str) -> int:
    """Rows over which the leave-one-out error is taken where nobody says; zero for all of them."""
    solver = SOLVERS.get(name, SOLVERS[USUAL_WITH_CENTERS])
    return solver.left_out if n > ALL_ROWS else 0


def exact_candidates(task: Task) -> list[Candidate]:
    """Every way to solve it with all rows as centers, in whatever memory."""
    usable = [s for s in SOLVERS.values() if not s.with_centers]
    return [s.cost(task) for s in usable if task.linear or not s.needs_linear]


def center_candidates(task: Task) -> list[Candidate]:
    """Every way to solve it with ``task.centers`` centers, or with all rows as centers."""
    return [solver.cost(task) for solver in SOLVERS.values() if solver.with_centers]
