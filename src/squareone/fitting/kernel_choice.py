"""The choice among kernels and learned metrics, by folds in which everything is learned anew.

A metric that has seen a row makes the leave-one-out error of that row too small, and ever smaller
with each round. So kernels, rounds of a learned metric and the preparation of the rows are compared
by folds: a chain of rounds begins afresh on the rows that are kept, and its errors are those of the
rows it has not seen. Few rows are looked at first, and what may still win on more of them.

A kernel of Euclidean distances and one of L1 distances see different things in a table: directions
that matter, and single features with their thresholds. In the last stage their best ones are also
tried as a sum, each with the metric and the width it has found; only λ is chosen anew.

The error of the chosen chain is the least of many, and so too small again. That which is reported
comes from other folds, and so does every left-out value that is read later.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..kernels import Gaussian, Kernel, Laplacian, Linear, Matern
from ..models import Hyperplane, KernelExpansion
from ..selection.criteria import Folds
from ..targets import Labels
from .metric_rounds import (
    PlainFit,
    at_width,
    fit_by_a_part,
    fit_plainly,
    fit_with_widths,
    learned_kernel,
    quiet,
)
from .problem import Problem

#: Rows at most among which the kernel is chosen, and from which its metric is learned.
POOL_ROWS, METRIC_ROWS = 6000, 3000
# Rows of the stages of the choice, and how many chains come that far.
_STAGES: tuple[tuple[int, int | None], ...] = ((1200, None), (2400, 4), (4500, 3))
# Where all rows are few, folds are drawn anew until so many have been left out, at most so often;
# and how many chains come to that.
_LEFT_OUT, _MOST_REPEATS, _MOST_CHAINS = 2400, 6, 4
#: Folds of the choice, and of the error that is reported.
FOLDS, FRESH_FOLDS = 3, 5
#: Rows up to which a search costs nothing worth saving.
FEW_ROWS = 400
# Rounds at most, and by which share the error has to fall for another one.
_ROUNDS, _WORTH_A_ROUND = 6, 2e-3
# Gains of a round to come at most, in those of the round before.
_OUT_OF_REACH = 3.0
# Chains whose error is above the least by more than this share do not go on.
_MAY_WIN = 0.3
# Paired standard errors by which a chain has to be better than a simpler one.
_UNTOLD = 0.3

#: Powers of the gradients that a metric is made of.
POWERS = (1.0, 0.5)


#: From numbers of rows of the pool, these rows as they are prepared, and a kernel, to a model in
#: units of the targets whose coefficients belong to centers.
FitWithCenters = Callable[[Array, Array, Kernel], KernelExpansion | Hyperplane]
#: A chain after so many rounds: preparation, kernel, power and rounds.
_Place = tuple[int, str, float, int]


class PreparedRows(NamedTuple):
    """Training rows (a, d) and others (b, d) as numbers, and what has made them so.

    ``by`` prepares later rows in the same way; None where rows are taken as they are.
    """

    train: Array
    others: Array
    by: Any = None


class Preparation(ABC):
    """How rows are made numbers: what a kernel is chosen together with."""

    @abstractmethod
    def rows(self, train: Array, test: Array) -> PreparedRows:
        """Training rows and others of the pool, by what the former alone teach."""


class AsTheyAre(Preparation):
    """Rows that are numbers already."""

    def __init__(self, X: Array) -> None:
        self.X = X

    def rows(self, train: Array, test: Array) -> PreparedRows:
        """As they are."""
        return PreparedRows(self.X[train], self.X[test])


@dataclass(frozen=True)
class Chain:
    """A kernel, and how its metric is learned.

    Attributes
    ----------
    preparation : int
        Which one.
    kernel : Kernel
        Without a metric.
    power : float
        Of a learned metric; zero where none is learned.
    """

    preparation: int
    kernel: Kernel
    power: float

    @property
    def family(self) -> str:
        """Kernels that predict much alike: Gaussian and smooth Matérn are one family."""
        if isinstance(self.kernel, Matern) and self.kernel.nu == 0.5:
            return "rough"
        return (
            "smooth" if isinstance(self.kernel, Gaussian | Matern) else type(self.kernel).__name__
        )

    def is_like(self, other: Chain) -> bool:
        """Whether only the power is another one."""
        return self.preparation == other.preparation and self.kernel is other.kernel


@dataclass(frozen=True)
class Term:
    """A chain after some rounds."""

    chain: Chain
    rounds: int

    @property
    def place(self) -> _Place:
        """What it is known by; a chain that has not learned yet has no power."""
        chain = self.chain
        power = chain.power if self.rounds else 0.0
        return chain.preparation, repr(chain.kernel), power, self.rounds


@dataclass(frozen=True)
class Trial:
    """A chain after some rounds, or a sum of two, and its error in folds that learned all anew.

    Attributes
    ----------
    terms : tuple of Term
        One, or two that are added, with the same preparation.
    rows : int
        Of all folds together.
    score : float
        Minus the mean square error, or that of the scorer.
    standard_error : float
    squares : array (m,)
        Of each row, weighted, in the unit of the problem: their spread is a square once more.
    stage : int
        Of the choice: only trials of the same one are compared.
    """

    terms: tuple[Term, ...]
    rows: int
    score: float
    standard_error: float
    squares: Array
    stage: int

    @property
    def preparation(self) -> int:
        """Which one."""
        return self.terms[0].chain.preparation

    @property
    def kernel(self) -> Kernel:
        """Without metrics."""
        kernel, *others = (term.chain.kernel for term in self.terms)
        return kernel + others[0] if others else kernel

    @property
    def rounds(self) -> int:
        """Of the term that has learned longest."""
        return max(term.rounds for term in self.terms)

    @property
    def power(self) -> float:
        """Of the metric that was learned longest; zero where none was."""
        longest = max(self.terms, key=lambda term: term.rounds)
        return longest.chain.power if longest.rounds else 0.0


@dataclass(frozen=True)
class FoldModel:
    """A fit to the rows outside of a fold.

    Attributes
    ----------
    kernel : Kernel
        With the metric and the width that were found without the fold.
    train : array (a,)
        Rows of the pool that it was fitted to.
    coefficients : array (a, t), or (d, t) with the linear kernel
        In units of the targets.
    intercepts : array (t,)
    rows : array (a, d) or None
        The training rows as they were prepared without the fold, with the features that these
        have; of a linear kernel none of them, (0, d). None where rows are taken as they are.
    prepared_by : object
        What prepares new rows for this model; None where rows are taken as they are.
    """

    kernel: Kernel
    train: Array
    coefficients: Array
    intercepts: Array
    rows: Array | None = None
    prepared_by: Any = None


@dataclass(frozen=True)
class FreshFolds:
    """Values by models that have learned everything without the row.

    Attributes
    ----------
    rows : array (m,)
        Which rows of the pool, ascending.
    values : array (m, t)
        In units of the targets.
    folds : array (m,)
        The fold of each row.
    models : list of FoldModel
    """

    rows: Array
    values: Array
    folds: Array
    models: list[FoldModel]


@dataclass(frozen=True)
class KernelChoice:
    """What was chosen, and what it promises.

    Attributes
    ----------
    kernel : Kernel
        With the metric that was learned; its width is still to be chosen. Terms of a sum have
        theirs.
    trials : list of Trial
    best : Trial
        The one that was chosen of these.
    fresh : FreshFolds
        Values of rows by models that have learned everything without them.
    alpha : float or None
        About the λ to be expected, where the kernel has its widths.
    """

    kernel: Kernel
    trials: list[Trial]
    best: Trial
    fresh: FreshFolds
    alpha: float | None


class Stage(NamedTuple):
    """A part of the choice: rows, chains at most that come so far, and folds anew how often."""

    rows: int
    chains: int | None
    repeats: int


def stages_of(n: int, *, given_folds: bool, no_choice: bool = False) -> list[Stage]:
    """The stages of a choice among ``n`` rows; folds that are given cannot be drawn again.

    With ``no_choice`` the first alone, from whose widths and λ later searches begin.
    """
    stages = [Stage(size, most, 1) for size, most in _STAGES if size < 0.8 * n]
    if stages:
        last = min(len(stages), len(_STAGES) - 1)
        stages[last:] = [Stage(min(n, _STAGES[-1][0]), _STAGES[last][1], 1)]
    else:
        repeats = 1 if given_folds else int(np.clip(_LEFT_OUT // n, 1, _MOST_REPEATS))
        stages = [Stage(n, None, 1), Stage(n, _MOST_CHAINS, repeats)]
    return stages[:1] if no_choice else stages


def chains_of(kernels: Sequence[Kernel], preparations: int, *, learned: bool) -> list[Chain]:
    """Every kernel by every preparation, with both powers where it may learn a metric."""
    return [
        Chain(number, kernel, power)
        for number in range(preparations)
        for kernel in kernels
        for power in (POWERS if learned and not isinstance(kernel, Linear) else (0.0,))
    ]


def choose_kernel(
    problem: Problem,
    preparations: Sequence[Preparation],
    chains: Sequence[Chain],
    n: int,
    with_centers: FitWithCenters | None = None,
) -> KernelChoice:
    """The best chain and the number of its rounds, the metric of all rows, and honest values.

    Parameters
    ----------
    problem : Problem
        Rows (n, d) of positive weight in memory, at most :data:`POOL_ROWS`.
    preparations : sequence of Preparation
        Of these rows.
    chains : sequence of Chain
    n : int
        Rows that will be fitted with the kernel.
    with_centers : callable, optional
        How they will be fitted, where only some points are to be centers.

    Notes
    -----
    **Cost**: bounded, since the rows are.
    """
    contest = _Contest(problem, preparations)
    with problem.stage("choice of the kernel"):
        trials = contest.run(list(chains))
    best = _simplest_of_the_best(_last_stage(trials))
    with problem.stage("folds for the error"):
        fresh = contest.fresh(best.terms, with_centers)
    with problem.stage("metric"):
        everything = np.arange(problem.X.shape[0])
        part, _, _ = contest.part(best.preparation, everything, everything[:0])
        kernel = contest.kernel_of(part, best.terms, n)
    alpha = contest.alpha_of(best.terms) if len(best.terms) > 1 else None
    return KernelChoice(kernel, trials, best, fresh, alpha)


def _last_stage(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.stage == trials[-1].stage]


def _simplest_of_the_best(trials: list[Trial]) -> Trial:
    """Of those the rows do not tell from the best one, that with the fewest rounds.

    The mean of its squares is above the least by less than 0.3 standard errors of that difference,
    row by row, as for λ. Where the rows are not known it is the best one.
    """
    leader = max(trials, key=lambda trial: trial.score)
    if leader.squares.size == 0:
        return leader

    def untold(trial: Trial) -> bool:
        apart = trial.squares - leader.squares
        return bool(apart.mean() <= _UNTOLD * apart.std() / np.sqrt(apart.size))

    # trials come in the order of kernels, the simplest first, each with its rounds ascending
    return min((trial for trial in trials if untold(trial)), key=lambda trial: trial.rounds)


class _Contest:
    """Chains on folds of some of the rows."""

    def __init__(self, problem: Problem, preparations: Sequence[Preparation]) -> None:
        self.problem = quiet(problem)
        self.scorer = problem.objective.scorer
        self.preparations = preparations
        self.order = problem.rng.permutation(problem.X.shape[0])
        self._parts: dict[tuple[int, int], tuple[Problem, Array]] = {}
        # the last fit by a chain after so many rounds: where searches on other rows begin
        self._seen: dict[_Place, PlainFit] = {}
        # λ of sums
        self._alphas: dict[tuple[_Place, ...], float] = {}
        # rounds before the best one on fewer rows: their widths and λ will do
        self._settled: set[_Place] = set()
        # the fits of all folds, for the best trial of a chain in the present stage
        self._fits: dict[_Place, list[PlainFit]] = {}
        self._first: dict[tuple[_Place, int], PlainFit] = {}
        # folds in which width and λ are searched
        self._searched: set[int] = set()

    def run(self, chains: list[Chain]) -> list[Trial]:
        """All trials, those of the last stage at the end."""
        nothing = len(chains) == 1 and not chains[0].power
        given = self._given_folds is not None
        stages = stages_of(self.order.size, given_folds=given, no_choice=nothing)
        trials: list[Trial] = []
        others = [chain for chain in chains if chain.power not in (0.0, POWERS[0])]
        chains = [chain for chain in chains if chain not in others]
        for number, (size, most, repeats) in enumerate(stages):
            chains = _survivors(chains, trials, most)
            if number == 1:  # the other power of what has come so far
                chains += [other for other in others if any(map(other.is_like, chains))]
            self._settle(trials)
            rows, last = np.sort(self.order[:size]), number == len(stages) - 1
            trials += self._stage(number, chains, rows, repeats, sums=last)
        return trials

    def _settle(self, trials: list[Trial]) -> None:
        """Widths and λ of rounds on the way to the best one of a chain are not searched again."""
        best: dict[Chain, Trial] = {}
        for trial in _last_stage(trials) if trials else []:
            chain = trial.terms[0].chain
            if chain not in best or trial.score > best[chain].score:
                best[chain] = trial
        self._settled = {
            Term(chain, rounds).place
            for chain, trial in best.items()
            for rounds in range(trial.rounds)
        }

    def _stage(
        self, stage: int, chains: list[Chain], rows: Array, repeats: int, *, sums: bool
    ) -> list[Trial]:
        self._parts.clear()
        self._first.clear()
        self._fits.clear()
        folds = [self._folds(rows, FOLDS) for _ in range(repeats)]
        self._searched = set(np.cumsum([0, *map(len, folds)]).tolist())
        pairs = [fold for repeat in folds for fold in repeat]
        trials: list[Trial] = []
        for chain in chains:
            bar = max((trial.score for trial in trials), default=-np.inf)
            trials += self._trials(stage, chain, rows.size, pairs, bar)
        if sums:
            trials += [self._sum(stage, terms, rows.size, pairs) for terms in _terms_to_add(trials)]
        return trials

    def _trials(
        self,
        stage: int,
        chain: Chain,
        rows: int,
        folds: list[tuple[Array, Array]],
        bar: float,
    ) -> list[Trial]:
        """A chain after no, one, two, … rounds, until another one does not help.

        Gains shrink from round to round: one that is far below the best score of others, ``bar``,
        ends as well.
        """
        fits: list[PlainFit | None] = [None] * len(folds)
        trials: list[Trial] = []
        for rounds in range(_ROUNDS + 1 if chain.power else 1):
            values = []
            for number, (train, test) in enumerate(folds):
                part, X = self._part_of_fold(chain, number, train, test)
                fits[number] = fit = self._fit(part, chain, rounds, number, fits[number])
                values.append(fit.model.values(X))
            before = max((trial.score for trial in trials), default=-np.inf)
            term = Term(chain, rounds)
            trials.append(self._trial(stage, (term,), rows, folds, values))
            gain = trials[-1].score - before
            if gain > 0:
                for earlier in trials[:-1]:
                    self._fits.pop(earlier.terms[0].place, None)
                self._fits[term.place] = [fit for fit in fits if fit is not None]
            if gain < _WORTH_A_ROUND * abs(before) or bar - trials[-1].score > _OUT_OF_REACH * gain:
                break
        return trials

    def _trial(
        self,
        stage: int,
        terms: tuple[Term, ...],
        rows: int,
        folds: list[tuple[Array, Array]],
        values: list[Array],
    ) -> Trial:
        held = np.concatenate([test for _, test in folds])
        score, error, squares = self._score(held, np.concatenate(values))
        return Trial(terms, rows, score, error, squares, stage)

    def _sum(
        self,
        stage: int,
        terms: tuple[Term, Term],
        rows: int,
        folds: list[tuple[Array, Array]],
    ) -> Trial:
        """The kernels of two chains added, as each fold has found them; λ is searched anew."""
        values, alpha = [], np.nan
        places = tuple(term.place for term in terms)
        for number, (train, test) in enumerate(folds):
            part, X = self._part_of_fold(terms[0].chain, number, train, test)
            first, second = (self._fits[place][number] for place in places)
            search = number in self._searched
            start = first.alpha + second.alpha if search else alpha
            kernel = first.kernel + second.kernel
            fit = fit_with_widths(part, kernel, start, search=search)
            alpha = fit.alpha
            values.append(fit.model.values(X))
        self._alphas[places] = alpha
        return self._trial(stage, terms, rows, folds, values)

    def _fit(
        self, part: Problem, chain: Chain, rounds: int, number: int, last: PlainFit | None
    ) -> PlainFit:
        """A round of a chain on the rows of a fold, ``last`` being the round before.

        Width and λ are searched in the first fold, or the first of each repeat.
        """
        kernel, place = chain.kernel, Term(chain, rounds).place
        if last is not None:
            kernel = learned_kernel(part, chain.kernel, last, chain.power)
        elif (place, number) in self._first:
            return self._first[place, number]
        near, search = self._seen.get(place, last), number in self._searched
        if part.X.shape[0] > FEW_ROWS:
            near = near or self._elsewhere(place)
            search = search and place not in self._settled
        fit = fit_plainly(part, kernel, near, search=search)
        if search:
            self._seen[place] = fit
        if last is None:
            self._first[place, number] = fit
        return fit

    def _elsewhere(self, place: _Place) -> PlainFit | None:
        """A fit by the same kernel to rows that were prepared otherwise, before any round."""
        others = (fit for (_, *rest), fit in self._seen.items() if rest == list(place[1:]))
        return None if place[-1] else next(others, None)

    def alpha_of(self, terms: tuple[Term, ...]) -> float:
        """λ of a sum in the last fold that was searched."""
        return self._alphas[tuple(term.place for term in terms)]

    def kernel_of(self, part: Problem, terms: tuple[Term, ...], n: int) -> Kernel:
        """The kernel for a fit to ``n`` rows; the width is still to be chosen, but of a sum."""
        kernels = [self.kernel_after(part, term) for term in terms]
        if len(terms) == 1:
            return kernels[0]
        first, second = (
            at_width(part, kernel, self._seen[term.place], n)
            for kernel, term in zip(kernels, terms, strict=True)
        )
        return first + second

    def kernel_after(self, part: Problem, term: Term) -> Kernel:
        """The kernel with the metric of so many rounds, at widths and λ that were seen before."""
        chain, kernel = term.chain, term.chain.kernel
        if term.rounds:
            part = part.subset(part.random_rows(METRIC_ROWS))
        for number in range(term.rounds):
            near = self._seen[Term(chain, number).place]
            fit = fit_plainly(part, kernel, near, search=False)
            kernel = learned_kernel(part, chain.kernel, fit, chain.power)
        return kernel

    def _score(self, held: Array, predicted: Array) -> tuple[float, float, Array]:
        """Of predictions (m, t) at rows (m,): the score, its standard error, and squares (m,)."""
        problem, unit = self.problem, self.problem.unit
        if self.scorer is not None:
            score = self.scorer(held, predicted * unit, lambda: predicted * unit, None)
            return score, np.nan, np.empty(0)
        squares = np.square(problem.Y[held] - predicted, dtype=np.float64).mean(axis=1)
        if problem.weights is not None:
            squares *= problem.weights[held] / np.mean(problem.weights[held])
        score, error = -float(squares.mean()), float(squares.std() / np.sqrt(squares.size))
        return score * unit**2, error * unit**2, squares

    def fresh(
        self, terms: tuple[Term, ...], with_centers: FitWithCenters | None = None
    ) -> FreshFolds:
        """Values by chains that have not seen the row, on folds of all rows.

        Metric, coefficients, and λ of the last fit are of the rows outside of the fold, and so is
        its width; which chain it is, the widths and λ of the fits before, and the widths of the
        terms of a sum, in units of the median distance, are those of the choice. Fits with centers
        choose them, and width and λ with them, anew; their models are not kept.
        """
        n, unit = self.order.size, self.problem.unit
        values = np.zeros_like(self.problem.Y)
        numbers = np.full(n, -1)
        models: list[FoldModel] = []
        for fold, (train, test) in enumerate(self._folds(np.arange(n), FRESH_FOLDS)):
            part, X, by = self.part(terms[0].chain.preparation, train, test)
            kernel = self.kernel_of(part, terms, train.size)
            numbers[test] = fold
            if with_centers is not None:
                values[test] = with_centers(train, part.X, kernel).values(X)
                continue
            places = tuple(term.place for term in terms)
            near = self.alpha_of(terms) if len(terms) > 1 else self._seen[places[0]]
            fit = fit_by_a_part(part, kernel, near)
            values[test] = fit.model.values(X) * values.dtype.type(unit)
            coefficients = fit.model.coefficients * values.dtype.type(unit)
            own = None
            if by is not None:
                own = part.X[:0] if isinstance(fit.model, Hyperplane) else part.X
            intercepts = fit.model.intercepts * unit
            models.append(FoldModel(fit.kernel, train, coefficients, intercepts, own, by))
        known = np.flatnonzero(numbers >= 0)
        return FreshFolds(known, values[known], numbers[known], models)

    def part(self, preparation: int, train: Array, test: Array) -> tuple[Problem, Array, Any]:
        """The problem of some rows, and other rows, both prepared by what the former teach.

        Also what has prepared them.
        """
        X, others, by = self.preparations[preparation].rows(train, test)
        part = self.problem.subset(train)
        return quiet(replace(part, X=X)), others, by

    def _part_of_fold(
        self, chain: Chain, number: int, train: Array, test: Array
    ) -> tuple[Problem, Array]:
        key = (chain.preparation, number)
        if key not in self._parts:
            self._parts[key] = self.part(chain.preparation, train, test)[:2]
        return self._parts[key]

    def _folds(self, rows: Array, count: int) -> list[tuple[Array, Array]]:
        """Rows that are kept and rows that are left out, of ``rows`` (m,): the user's, if any."""
        if self._given_folds is not None:
            return list(_within(self._given_folds, rows))
        count = min(count, rows.size)
        seed = int(self.problem.rng.randint(2**31 - 1))
        # imported late: it would slow `import squareone`
        from sklearn.model_selection import KFold, StratifiedKFold

        splitter = KFold(count, shuffle=True, random_state=seed)
        numbers = self._class_numbers(rows)
        if numbers is not None and np.bincount(numbers).max() >= count:
            splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # a class of fewer rows than folds is missing from some of them, which does no harm
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(splitter.split(rows, numbers))
        return [(rows[train], rows[test]) for train, test in splits]

    @property
    def _given_folds(self) -> Folds | None:
        """The user's folds, if any."""
        criterion = self.problem.objective.criterion
        return criterion if isinstance(criterion, Folds) and criterion.name == "cv" else None

    def _class_numbers(self, rows: Array) -> Array | None:
        targets = self.problem.request.targets
        if not isinstance(targets, Labels) or targets.multilabel:
            return None
        return targets.class_numbers(self.problem.Y[rows])


def _survivors(chains: list[Chain], trials: list[Trial], most: int | None) -> list[Chain]:
    """Chains that may still win, in their order: the best of each family, and the best of the rest.

    On few rows families are told apart badly: what a metric gains grows with the rows. The best
    of each family are taken from the preparation of the leader, for only these can be added.
    """
    if not trials:
        return chains
    last = _last_stage(trials)
    best = {chain: max(t.score for t in last if t.terms[0].chain is chain) for chain in chains}
    ranked = sorted(chains, key=lambda chain: -best[chain])
    leader = best[ranked[0]]
    able = [chain for chain in ranked if best[chain] >= leader - _MAY_WIN * abs(leader)]
    alike = [chain for chain in able if chain.preparation == ranked[0].preparation]
    firsts = [c for i, c in enumerate(alike) if c.family not in {b.family for b in alike[:i]}]
    chosen = [*firsts, *(chain for chain in able if chain not in firsts)][:most]
    return [chain for chain in chains if chain in chosen]


def _terms_to_add(trials: list[Trial]) -> Iterator[tuple[Term, Term]]:
    """Of each preparation the best of Euclidean and the best of L1 distances, if it has both."""
    for number in sorted({trial.preparation for trial in trials}):
        own = sorted(
            (trial for trial in trials if trial.preparation == number), key=lambda t: -t.score
        )
        sides = (
            next((t.terms[0] for t in own if isinstance(t.kernel, side)), None)
            for side in (Gaussian | Matern, Laplacian)
        )
        first, second = sides
        if first is not None and second is not None:
            yield first, second


def _within(criterion: Folds, rows: Array) -> Iterator[tuple[Array, Array]]:
    """The user's folds, of some rows."""
    for fold in criterion.folds:
        train = np.setdiff1d(rows, fold.removed)
        test = np.intersect1d(rows, fold.removed[fold.scored])
        if train.size > 1 and test.size:
            yield train, test
