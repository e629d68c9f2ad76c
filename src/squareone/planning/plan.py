"""Which solver, why, and what it costs: decided from shapes alone, before any work.

What a solver does is listed by kind of operation. The flops among it decide; the seconds that are
shown come from the same list and from rates measured on this machine, and decide nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from ..errors import MemoryLimitError
from ..solvers.contract import PRELIMINARIES, STAGES, Candidate, Task, Work
from ..solvers.cost_counts import width_search_work
from ..solvers.registry import (
    SOLVERS,
    USUAL_WITH_CENTERS,
    center_candidates,
    exact_candidates,
    takes_centers,
    usual_sample,
)
from .available_memory import readable
from .center_count import AUTO_FLOPS, automatic_centers, fitting_centers
from .machine_speed import this_machine
from .text_table import Table

# Rows from which a plan for all rows shows what centers would cost.
_MANY_ROWS = 10_000
# Seconds from which a plan says what centers would cost.
_LONG = 60.0
_ONLY_ONE = "the only one that can do it in this memory"
_UNASKED = "approximate, and so not taken unless it is asked for: centers={:_}"


@dataclass(frozen=True)
class Preliminaries:
    """What is done before any of the candidates, whichever it is: its work, and bytes at most."""

    work: tuple[Work, ...]
    bytes: float


@dataclass(repr=False)
class Plan:
    """The candidates, the choice and the reason; after a fit, the seconds of every stage.

    ``print(plan)`` shows two tables, a notebook the same as HTML: the candidates, and the stages of
    the chosen one. Flops and bytes are counted from the shapes; they depend on nothing measured, so
    the same call always makes the same choice. The seconds expected are those of this machine: the
    first time somebody asks for them in a process it is measured, which takes some tenths of a
    second.

    Attributes
    ----------
    task : Task
        What has to be solved: rows, features, targets and the like.
    candidates : list of Candidate
        With ``solver``, ``flops``, ``bytes``, ``form`` (how), ``refused`` (why not) and ``work``.
    solver : str
        The one that was taken.
    reason : str
        Why.
    memory_limit : float
        Bytes.
    stages : dict of str to float
        Seconds spent in each stage of the fit; empty before it.
    untried : tuple of str
        Other kernels, as they are written, that might predict better: a fit with one kernel says
        nothing about them. Shown where there are centers, and for fits of more than 2e12 flops.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import RLSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> plan = RLSRegressor("linear", memory_limit="1GiB").fit(X, y).plan_
    >>> print(plan)
    442 rows, 10 features, linear kernel, 1 target column, float64, memory limit 1 GiB
    solver     Gflop   memory  expected  how
    gram         ...  ... KiB     ... s  eigendecomposition of XᵀX, two passes
    svd          ...  ... KiB     ... s  QR by row blocks, then SVD <- chosen
    cholesky     ...  ... MiB     ... s  bracketed search, a factorisation per step
    spectral     ...  ... MiB     ... s  eigendecomposition, every alpha
    krylov       ...  ... KiB     ... s  conjugate gradients, every alpha; ... random probes
    why: the most accurate, and its cost is negligible at this size
    stage                 expected     spent
    factorisation            ... s     ... s
    path                     ... s     ... s
    coefficients                 –     ... s
    leave-one-out values     ... s     ... s
    all                      ... s     ... s
    """

    task: Task
    candidates: list[Candidate]
    solver: str
    reason: str
    memory_limit: float
    stages: dict[str, float] = field(default_factory=dict)
    untried: tuple[str, ...] = ()

    @property
    def chosen(self) -> Candidate:
        """The candidate that was taken."""
        return next(c for c in self.candidates if c.solver == self.solver)

    @property
    def estimated(self) -> bool:
        """Whether leverages, and what is made of them, are estimates by random probes."""
        return SOLVERS[self.solver].estimates(self.task.n)

    def expected(self, candidate: Candidate | None = None) -> float:
        """Seconds that a candidate, or the chosen one, is expected to take on this machine.

        Parameters
        ----------
        candidate : Candidate, optional
            One of ``candidates``.

        Returns
        -------
        float
            Seconds, right to a factor of about two on a machine that does nothing else.

        Notes
        -----
        **Cost**: nothing worth counting, except for the first call in a process, with its number
        of threads: some tenths of a second, to measure how fast the machine is.
        """
        return this_machine().seconds((candidate or self.chosen).work)

    def expected_stages(self, candidate: Candidate | None = None) -> dict[str, float]:
        """Seconds that each stage is expected to take, for comparison with :attr:`stages`.

        Parameters
        ----------
        candidate : Candidate, optional
            One of ``candidates``; by default the chosen one.

        Returns
        -------
        dict of str to float
            In the order of a fit. They add up to :meth:`expected`. A stage whose work is not worth
            counting is missing.

        Notes
        -----
        **Cost**: that of :meth:`expected`.
        """
        machine, work = this_machine(), (candidate or self.chosen).work
        seconds = {
            name: machine.seconds(w for w in work if w.stage == name)
            for name in sorted({w.stage for w in work}, key=_order)
        }
        return {name: value for name, value in seconds.items() if value > 0}

    def time_spent(self) -> str:
        """All seconds of the fit, and those of each stage that took a per cent of them."""
        total = sum(self.stages.values())
        parts = [f"{name} {duration(s)}" for name, s in self.stages.items() if s >= 0.01 * total]
        return f"{duration(total)}: {', '.join(parts)}"

    def __repr__(self) -> str:
        return "\n".join(
            [
                self._title(),
                self._candidate_table().text(),
                *self._remarks(),
                self._stage_table().text(),
            ]
        )

    def _repr_html_(self) -> str:
        parts = [
            f"<div>{escape(self._title())}</div>",
            self._candidate_table().html(),
            *(f"<div>{escape(remark)}</div>" for remark in self._remarks()),
            self._stage_table().html(),
        ]
        return f'<div style="overflow-x:auto;">{"".join(parts)}</div>'

    def _title(self) -> str:
        task = self.task
        kernel = "linear kernel" if task.linear else "kernel"
        seen = "a precomputed kernel" if task.given else f"{task.d:,} features, {kernel}"
        if task.sparse:
            seen = f"{task.d:,} features ({task.stored:,} numbers stored), {kernel}"
        where = f"on {task.device}, its " if task.device else ""
        columns = "1 target column" if task.t == 1 else f"{task.t:,} target columns"
        return (
            f"{task.n:,} rows, {seen}, {columns}, float{8 * task.itemsize}, "
            f"{where}memory limit {readable(self.memory_limit)}"
        )

    def _remarks(self) -> list[str]:
        """Why, and beside a long fit what would be faster, and what nobody has tried."""
        remarks, seconds = [f"why: {self.reason}"], self.expected()
        if seconds > _LONG:
            m, faster = _automatic(self.task, self.solver, self.memory_limit)
            if faster is not None:
                before = [w for w in self.chosen.work if w.stage in PRELIMINARIES]
                faster = replace(faster, work=(*before, *faster.work))
            if faster is not None and self.expected(faster) < 0.5 * seconds:
                remarks.append(
                    f'faster: centers="auto", an approximation with {m:,} centers, in about '
                    f"{duration(self.expected(faster))}"
                )
        if self.untried and (self.task.centers or self.chosen.flops > AUTO_FLOPS):
            remarks.append(f"not tried: {', '.join(self.untried)}")
        return remarks

    def _candidate_table(self) -> Table:
        rows: list[tuple[str, ...]] = []
        for c in self.candidates:
            mark = (
                " <- chosen" if c.solver == self.solver else f" ({c.refused})" if c.refused else ""
            )
            most = max(c.needed, min(c.bytes, self.memory_limit)) if c.least else c.bytes
            figures = f"{c.flops / 1e9:,.3g}", readable(most), duration(self.expected(c))
            rows.append((c.solver, *figures, c.form + mark))
        header = ("solver", "Gflop", "memory", "expected", "how")
        return Table(header, rows, "<>>><", self.candidates.index(self.chosen))

    def _stage_table(self) -> Table:
        """Expected seconds, and beside them those spent, if any."""
        columns = [self.expected_stages()] + [self.stages] * bool(self.stages)
        names = sorted({name for column in columns for name in column}, key=_order)
        rows: list[tuple[str, ...]] = [
            (name, *(duration(column[name]) if name in column else "–" for column in columns))
            for name in names
        ]
        rows.append(("all", *(duration(sum(column.values())) for column in columns)))
        header = ("stage", "expected", "spent")[: 1 + len(columns)]
        return Table(header, rows, "<>>"[: len(header)])


def _order(stage: str) -> int:
    return STAGES.index(stage) if stage in STAGES else len(STAGES)


def duration(seconds: float) -> str:
    """``"0.12 s"``; from 100 seconds on ``"2.5 min"``, then hours and days."""
    for unit, length, most in (("s", 1.0, 99.5), ("min", 60.0, 99.5), ("h", 3600.0, 47.5)):
        if seconds < most * length:
            return f"{seconds / length:.2g} {unit}"
    days = seconds / 86400.0
    return f"{days:.2g} d" if days < 99.5 else f"{days:,.0f} d"


def plan_after(before: Preliminaries, plan: Plan) -> Plan:
    """The same plan where something else is done first, whose memory is given back."""
    candidates = [
        replace(
            c,
            work=(*before.work, *c.work),
            bytes=max(before.bytes, c.bytes),
            least=max(before.bytes, c.least) if c.least else 0.0,
        )
        for c in plan.candidates
    ]
    return replace(plan, candidates=candidates)


def make_plan(task: Task, requested: str, memory_limit: float) -> Plan:
    """Choose among the solvers that fit the task and the memory, or refuse, saying what would fit.

    Cost: microseconds.
    """
    if takes_centers(requested) and not task.centers:
        task = replace(task, centers=task.n)
    candidates = _listed(task, requested, memory_limit)
    if requested != "auto":
        chosen = next(c for c in candidates if c.solver == requested)
        if chosen.refused:
            _refuse(chosen, candidates, task, requested, memory_limit)
        return Plan(task, candidates, requested, "asked for", memory_limit)
    possible = [c for c in candidates if not c.refused and _unasked(c, task)]
    if not possible:
        able = [c for c in _candidates(task) if not c.refused] or candidates
        able = [c for c in able if _unasked(c, task)] or able
        _refuse(min(able, key=lambda c: c.needed), candidates, task, requested, memory_limit)
    chosen, reason = _choose(task, possible)
    return Plan(task, candidates, chosen.solver, reason, memory_limit)


def _candidates(task: Task) -> list[Candidate]:
    """What can be taken: with centers, or exactly."""
    return center_candidates(task) if task.centers else exact_candidates(task)


def _listed(task: Task, requested: str, limit: float) -> list[Candidate]:
    """What a plan shows: what can be taken, and beside it what else there is."""
    found = [replace(c, refused=c.refused or _over(c, limit)) for c in _candidates(task)]
    if task.centers:
        return [c for c in found if c.solver == requested or _shown_beside(c)]
    if task.linear or task.given or task.device or task.n <= _MANY_ROWS:
        return found
    m = automatic_centers(replace(task, streamed=True), limit, None, None)
    if m:
        others = center_candidates(replace(task, centers=m))
        found += [replace(c, refused=_UNASKED.format(m)) for c in others if _shown_beside(c)]
    return found


def _shown_beside(candidate: Candidate) -> bool:
    """Whether a plan shows it unasked, where there are centers or might be."""
    return SOLVERS[candidate.solver].taken_unasked != "never"


def choose_centers(task: Task, limit: float, time_limit: float | None) -> int:
    """How many centers ``centers="auto"`` is; zero for all rows."""
    seconds = None
    if time_limit is not None:
        machine = this_machine()

        def seconds(candidate: Candidate) -> float:
            return machine.seconds(candidate.work)

    return automatic_centers(task, limit, seconds, time_limit)


def _choose_with_centers(possible: list[Candidate]) -> tuple[Candidate, str]:
    taken = [c for c in possible if _shown_beside(c)] or possible
    if len(taken) < 2:
        return taken[0], _ONLY_ONE
    iterative, exact = _iterative(taken)
    assert iterative is not None
    reason = _worth_iterating(iterative, exact)
    return (iterative, reason) if reason else (exact[0], "every alpha, and exact for these centers")


def _iterative(possible: list[Candidate]) -> tuple[Candidate | None, list[Candidate]]:
    """The one that iterates, if any, and the others."""
    found = next((c for c in possible if SOLVERS[c.solver].iterates), None)
    return found, [c for c in possible if c is not found]


def _worth_iterating(iterative: Candidate, exact: list[Candidate]) -> str:
    """Why the iteration is taken; empty where an exact solver is."""
    exchange = SOLVERS[iterative.solver].exchange
    assert exchange is not None
    least = min(c.flops for c in exact)
    dear = least > max(exchange.flops, exchange.times * iterative.flops)
    return exchange.reason if dear else ""


def _choose(task: Task, possible: list[Candidate]) -> tuple[Candidate, str]:
    if task.centers:
        return _choose_with_centers(possible)
    if task.linear and task.alphas == "auto" and len(possible) > 1:
        # the path costs no more than a search
        possible = [c for c in possible if SOLVERS[c.solver].every_alpha]
    iterative, possible = _iterative(possible)
    if iterative is not None:
        reason = _worth_iterating(iterative, possible) if possible else _ONLY_ONE
        if reason:
            return iterative, reason
    preferred = _preferred(task, possible)
    if preferred is not None:
        return preferred
    cheapest = min(possible, key=lambda c: c.flops)
    entry = SOLVERS[cheapest.solver]
    if task.linear and entry.more_accurate and not task.sparse:
        return cheapest, (
            f"the fewest flops; the features' condition is checked, and {entry.more_accurate} "
            "taken if it is too high"
        )
    reason = "the fewest flops of those that can do it in this memory"
    if iterative is not None:
        reason = "exact, and at this size not much dearer than iterations"
    if task.alphas == 1 and any(c.solver == entry.for_small_alpha for c in possible):
        reason += f"; {entry.for_small_alpha} if alpha turns out to be too small for it"
    return cheapest, reason


def _preferred(task: Task, possible: list[Candidate]) -> tuple[Candidate, str] | None:
    """One whose cost is negligible: the most accurate for features, else the whole path."""
    shared = sum(w.flops for w in width_search_work(task))  # whichever solver comes after it
    for candidate in possible:
        entry = SOLVERS[candidate.solver]
        if entry.preferred is None or entry.needs_linear != task.linear:
            continue
        if not task.linear and task.alphas == 1:
            continue
        if candidate.flops - shared <= entry.preferred.flops:
            return candidate, entry.preferred.reason
    return None


def _unasked(candidate: Candidate, task: Task) -> bool:
    """Whether it may be taken without being asked for: with dense rows nothing is iterated."""
    entry = SOLVERS[candidate.solver]
    if entry.with_centers and not task.centers:
        return False
    return entry.taken_unasked == "always" or (entry.taken_unasked == "sparse" and task.sparse)


def _over(candidate: Candidate, limit: float) -> str:
    if candidate.needed <= limit:
        return ""
    return f"needs {readable(candidate.needed)}, more than the memory limit"


def _refuse(
    wanted: Candidate, candidates: list[Candidate], task: Task, requested: str, limit: float
) -> None:
    fitting = [c for c in candidates if not c.refused and c is not wanted]
    if wanted.needed <= limit:
        others = ", ".join(f'"{c.solver}"' for c in fitting) or "none"
        msg = (
            f'solver="{wanted.solver}" cannot do this: {wanted.refused}. Solvers that can: {others}'
        )
        raise ValueError(msg)
    if fitting:
        what = ", ".join(f'solver="{c.solver}" ({readable(c.needed)})' for c in fitting)
        advice = f"What fits: {what}"
    else:
        advice = f"What fits: {_what_would_fit(wanted, task, limit)}"
    centers = f" with {task.centers:,} centers" if task.centers else ""
    msg = (
        f'solver="{wanted.solver}" on {task.n:,} rows and {task.d:,} features{centers} needs '
        f"{readable(wanted.needed)}; memory_limit is {readable(limit)}. "
        f"{_first_advice(task, requested, limit)}{advice}, or raise memory_limit"
    )
    raise MemoryLimitError(msg)


def _first_advice(task: Task, requested: str, limit: float) -> str:
    """What to try first where a matrix does not fit: few centers, and how long they take."""
    m, found = _automatic(task, requested, limit)
    if found is None:
        return ""
    free = requested == "auto" or takes_centers(requested)
    which = 'centers="auto"' if free else 'centers="auto" with solver="auto"'
    seconds = duration(this_machine().seconds(found.work))
    return f"Try {which} first: an approximation with {m:,} centers, in about {seconds}. "


def _automatic(task: Task, requested: str, limit: float) -> tuple[int, Candidate | None]:
    """What ``centers="auto"`` would be, and its centers; none where it is all rows, or too much."""
    if task.linear or task.given or task.device:
        return 0, None
    m = automatic_centers(replace(task, centers=0, sampled=0), limit, None, None)
    if m == task.centers:  # zero: all rows
        return 0, None
    sampled = usual_sample(task.n, requested)
    found = [
        c
        for c in center_candidates(replace(task, centers=m, sampled=sampled))
        if not c.refused and c.needed <= limit
    ]
    if takes_centers(requested):
        return m, next((c for c in found if c.solver == requested), None)
    found = [c for c in found if _shown_beside(c)]
    return m, _choose_with_centers(found)[0] if found else None


def _what_would_fit(wanted: Candidate, task: Task, limit: float) -> str:
    """The largest number of rows this solver could take, found by asking again."""

    def needs(**changes: Any) -> float:
        smaller = replace(task, **changes)
        return next(c.needed for c in _candidates(smaller) if c.solver == wanted.solver)

    def with_rows(n: int) -> float:
        fold = int(task.largest_fold * n / task.n)
        stored = int(task.stored * n / task.n)
        return needs(n=n, d=n if task.given else task.d, largest_fold=fold, stored=stored)

    def centers(solver: str) -> tuple[int, str]:
        """The most centers there is room for, and the seconds they take."""
        m = fitting_centers(task, solver, lambda c: c.needed <= limit)
        sampled = usual_sample(task.n, solver)
        found = SOLVERS[solver].cost(replace(task, centers=m, sampled=sampled))
        return m, duration(this_machine().seconds(found.work)) if m else ""

    if task.centers:
        m, seconds = centers(wanted.solver)
        return f"centers={m:_} (about {seconds})" if m else "nothing of use with this solver"
    few, many = 0, task.n
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if with_rows(middle) <= limit else (few, middle)
    approximate = ""
    if not (task.linear or task.given or task.device):
        m, seconds = centers(USUAL_WITH_CENTERS)
        if m:
            approximate = f"centers={m:_} (an approximation with as many points, about {seconds})"
    if few < 2:
        return approximate or "nothing of use with this solver"
    single = "float32 rows; " if task.itemsize == 8 and needs(itemsize=4) <= limit else ""
    exact = f"{single}at most about {few:,} rows with this solver"
    return f"{exact}, or {approximate}" if approximate else exact
