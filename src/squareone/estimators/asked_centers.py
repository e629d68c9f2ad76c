"""Centers as the user asked for them: what chooses them, how many, and which rows are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..centers import Given, KMeans, Selector, selector_from
from ..solvers import CENTER_SOLVERS, Plan, Task, choose_centers

#: Rows up to which leave-one-out is over all of them where there are centers; beyond that so many
#: random ones, with iterations fewer.
ALL_ROWS, LOO_ROWS = 20_000, (5_000, 4_000)


@dataclass(frozen=True)
class AskedCenters:
    """The parameters ``centers``, ``solver``, ``loo_rows`` and ``time_limit`` of an estimator."""

    centers: Any
    solver: str
    loo_rows: int | str | None
    time_limit: float | None

    @property
    def automatic(self) -> bool:
        """Whether the plan chooses how many."""
        return isinstance(self.centers, str)

    def selector(self) -> Selector | None:
        """What chooses the centers; None where all rows are, or how many is still to be chosen."""
        if self.centers is None or self.automatic:
            return None
        selector = selector_from(self.centers)
        selector.check_parameters()
        no_rows = isinstance(selector, KMeans)
        no_rows = no_rows or (isinstance(selector, Given) and selector.indices is None)
        if no_rows and self.solver == "subset":
            msg = (
                'solver="subset" fits the rows that are centers, and these centers are points: use '
                'solver="rectangle", or give their indices, centers=Given(points, indices=...)'
            )
            raise ValueError(msg)
        return selector

    def count(self, selector: Selector | None, n: int) -> int:
        """How many centers were asked for; zero where nothing was said."""
        if selector is None:
            return 0
        if isinstance(selector, Given):
            shape = np.shape(selector.points)
            if not shape or shape[0] == 0:
                msg = (
                    f"centers of shape {shape} were given: a number of centers, or points (m, d), "
                    "at least one, is expected"
                )
                raise ValueError(msg)
            return int(shape[0])
        count = int(selector.count)
        if count > n:
            msg = (
                f"centers={self.centers!r} asks for {count:,} centers, and there are {n:,} rows of "
                "positive weight: ask for fewer, or for all of them with centers=None"
            )
            raise ValueError(msg)
        return count

    def why(self, plan: Plan) -> str:
        """How many centers there are, and why."""
        if not plan.task.centers:
            return 'centers="auto" took all rows, since that fits'
        limits = "" if self.time_limit is None else f" in {self.time_limit:.3g} s"
        text = f'{plan.task.centers:,} centers are what centers="auto" found room and time for'
        if self.time_limit is not None and plan.expected() > 2.0 * self.time_limit:
            text = f"{plan.task.centers:,} centers, the fewest, which need more than was allowed"
        return f"{text}{limits}"

    def planned(self, task: Task, limit: float) -> Task:
        """The number of centers where it is to be chosen, and the rows that are left out."""
        thin = task.centers > 0 or self.solver in CENTER_SOLVERS
        if self.automatic:
            m = choose_centers(task, limit, self.time_limit)
            if not m and thin:
                m = task.n
            task = replace(task, centers=m)
            thin = m > 0
        if not thin:
            return task
        asked = self.loo_rows
        if isinstance(asked, str):
            dear = self.solver in ("pcg", "nystrom")
            asked = LOO_ROWS[dear] if task.n > ALL_ROWS else None
        sampled = 0 if asked is None or asked >= task.n else int(asked)
        return replace(task, sampled=sampled)
