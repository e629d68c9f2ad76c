"""LearnerProcess: a PoolLearner in a process of its own, so that learning never holds an answer up.

What it has to know is sent without waiting; rows worth asking are sent back before anybody wants
them. It reads the table by itself, and ends with the process that started it.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTimeError
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..arrays import Array
from .pool_features import features_of
from .pool_learner import Candidate, Guess, PoolLearner, RuleSettings, StoppingFigures

__all__ = ["LearnerProcess", "LearnerTable"]

# Rows that are found ahead, and blocks of rows between two looks at what came.
_AHEAD, _BLOCKS = 4, 4
# Seconds that an answer of the learner may take; fits among thousands of labels take some.
_PATIENCE = 120.0
# Seconds in which a process that is told to end may come to the end of its fit.
_FAREWELL = 2.0


@dataclass(frozen=True)
class LearnerTable:
    """Where a learner reads its table.

    Attributes
    ----------
    read : callable
        A function of a module, of no arguments or a partial one, that gives a pyarrow.Table.
    text : str or None
    columns : sequence of str
    budget : float
        Bytes that features may take.
    """

    read: Callable[[], Any]
    text: str | None
    columns: Sequence[str]
    budget: float


class LearnerProcess:
    """A :class:`.PoolLearner` somewhere else, with the same methods.

    Parameters
    ----------
    table : LearnerTable
    order : array (m,)
        Rows in the order in which they are looked through.
    rule : RuleSettings

    Attributes
    ----------
    walk, at, ended
        Where the walk is, as far as is known.
    failed : str or None
        Why the process ended.
    """

    def __init__(
        self,
        table: LearnerTable,
        order: Array,
        rule: RuleSettings,
    ) -> None:
        self.walk, self.at = 1, 0
        self._ended_at = -1  # which labels the learner knew when its walk ended
        self.failed: str | None = None
        self._order, self._given = order, 0
        self._heard = False  # whether the process has found anything yet
        self._pairs: list[tuple[int, str]] = []  # as they were sent
        self._begun = False  # whether there is something to learn from
        self._found: deque[Candidate] = deque()
        self._waiting: dict[int, Future[Any]] = {}
        self._number, self._version = 0, 0
        self._mutex = threading.Lock()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_learn, args=(theirs, table, order, rule), name="learner", daemon=True
        )
        self._process.start()
        theirs.close()
        # a pipe is full soon, and a learner that works does not empty it: nobody waits for that
        self._outgoing: SimpleQueue[Any] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="learner orders", daemon=True)
        self._reader = threading.Thread(target=self._read, name="learner news", daemon=True)
        self._writer.start()
        self._reader.start()

    # --- as PoolLearner ---

    def go_to(self, walk: int, at: int, seen: int, asked: int) -> None:
        """Go on with the walk from a place."""
        self.walk, self.at = walk, at
        self._send("go_to", (walk, at, seen, asked))

    def update(
        self,
        pairs: Sequence[tuple[int, str]],
        classes: Sequence[str],
        settled: Mapping[int, bool] | None = None,
    ) -> None:
        """Know these labels; returns at once. What the process knows already is not sent again."""
        self._version += 1
        pairs = list(pairs)
        known = len(self._pairs)
        if pairs[:known] != self._pairs:
            known = 0
        self._pairs = pairs
        self._begun = len({label for _, label in pairs}) > 1
        news = self._version, known, pairs[known:], list(classes), dict(settled or {})
        self._send("update", news)

    def candidates(self, wanted: int) -> list[Candidate]:
        """Rows that are worth asking, of those that were found already."""
        found: list[Candidate] = []
        with self._mutex:
            while self._found and len(found) < wanted:
                found.append(self._found.popleft())
        if found:
            self._send("more", len(found))
        elif not self._heard and not self._begun:
            found = self._first_rows(wanted)
        return found

    def _first_rows(self, wanted: int) -> list[Candidate]:
        """While the process starts, and nothing can be learned yet, any row is worth asking."""
        first, self._given = self._given, min(self._given + wanted, self._order.size)
        return [
            Candidate(int(self._order[at]), 1.0, 1, at, at, 0) for at in range(first, self._given)
        ]

    @property
    def ended(self) -> bool:
        """Whether a whole pass asked nothing, by a model that knows all labels."""
        return self._ended_at == self._version and not self._found

    def guess(self, place: int) -> Guess | None:
        """What the model says of a row."""
        return self._ask("guess", place) if self._begun else None

    def predict(self, places: Sequence[int]) -> list[str] | None:
        """Labels of rows."""
        return self._ask("predict", list(places)) if self._begun else None

    def figures(self) -> StoppingFigures:
        """How much is left to learn."""
        if not self._begun:  # a process that starts is not waited for where it knows nothing
            return StoppingFigures(len(self._pairs), None, 0, None, 0)
        return self._ask("figures")

    def suspects(self, count: int) -> list[int]:
        """Learned rows whose labels the others believe least."""
        return self._ask("suspects", count) if self._begun else []

    def close(self) -> None:
        """End the process."""
        self._send("end")
        self._process.join(_FAREWELL)
        if self._process.is_alive():  # it is in the middle of a fit, of which nothing is kept
            self._process.kill()
            self._process.join()
        self._outgoing.put(None)
        self._writer.join(2.0)
        self._reader.join(2.0)
        self._pipe.close()

    # --- talking ---

    def _send(self, what: str, about: Any = None, number: int = 0) -> None:
        self._outgoing.put((what, number, about))

    def _write(self) -> None:
        with suppress(OSError):  # that it has ended is told where something is asked
            while (order := self._outgoing.get()) is not None:
                self._pipe.send(order)

    def _ask(self, what: str, about: Any = None) -> Any:
        waiting: Future[Any] = Future()
        with self._mutex:
            if self.failed is not None:
                raise LearnerError(self.failed)
            self._number += 1
            number = self._number
            self._waiting[number] = waiting
        self._send(what, about, number)
        try:
            return waiting.result(_PATIENCE)
        except NotInTimeError as error:
            msg = "the learner takes very long; answers are kept all the same"
            raise LearnerError(msg) from error

    def _read(self) -> None:
        """News of the process, as long as there are any."""
        while True:
            try:
                what, number, about = self._pipe.recv()
            except (EOFError, OSError):
                break
            if what == "found":
                version, candidates, walk, at, ended = about
                with self._mutex:
                    self._heard = True
                    self._found.extend(candidates)
                    self.walk, self.at = walk, at
                    self._ended_at = version if ended else -1
            elif what == "failed":
                self.failed = about
            else:
                with self._mutex:
                    asked = self._waiting.pop(number)
                if what == "answer":
                    asked.set_result(about)
                else:
                    asked.set_exception(LearnerError(about))
        with self._mutex:
            if self.failed is None:
                self.failed = (
                    "the learner has ended; answers are kept: start again to go on learning"
                )
            for waiting in self._waiting.values():
                waiting.set_exception(LearnerError(self.failed))
            self._waiting.clear()


class LearnerError(RuntimeError):
    """The learner cannot answer; the message says why."""


# --- in the process ---


def _learn(pipe: Any, table: LearnerTable, order: Array, rule: RuleSettings) -> None:
    """Learn until the other end closes."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it says when
    with suppress(OSError, AttributeError):
        os.nice(5)  # what a person waits for goes first
    from threadpoolctl import threadpool_limits

    try:
        features = features_of(
            table.read(), table.text, table.columns, np.asarray(order), table.budget
        )
        with threadpool_limits(1):
            _Loop(pipe, PoolLearner(features, rule)).run()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except Exception as error:  # noqa: BLE001  # whatever it is, the page has to say so
        with suppress(OSError):
            pipe.send(("failed", 0, f"the learner has ended: {type(error).__name__}: {error}"))


class _Loop:
    """What is asked comes first, then labels, then rows worth asking."""

    def __init__(self, pipe: Any, learner: PoolLearner) -> None:
        self.pipe, self.learner = pipe, learner
        self.wanted = _AHEAD
        self.version = 0
        self.pairs: list[tuple[int, str]] = []
        self.settled: dict[int, bool] = {}
        self.news: tuple[int, list[str]] | None = None
        self.told: tuple[int, bool] | None = None

    def run(self) -> None:
        while True:
            working = self.news is not None or (self.wanted and not self.learner.ended)
            while self.pipe.poll(None if not working else 0):
                what, number, about = self.pipe.recv()
                if what == "end":
                    return
                self._take(what, number, about)
                working = True
            if self.news is not None:
                self._learn()
            elif self.wanted and not self.learner.ended:
                self._look()
            self._tell_end()

    def _take(self, what: str, number: int, about: Any) -> None:
        if what == "update":
            version, known, pairs, classes, settled = about
            self.pairs[known:] = pairs
            self.settled |= settled
            self.news = version, classes
        elif what == "more":
            self.wanted += about
        elif what == "go_to":
            self.learner.go_to(*about)
        else:
            if self.news is not None:  # what was said before it was asked counts
                self._learn()
            try:
                found = getattr(self.learner, what)(*(() if about is None else (about,)))
            except (ValueError, ArithmeticError, MemoryError) as error:
                self.pipe.send(("refused", number, str(error)))
                return
            self.pipe.send(("answer", number, found))

    def _learn(self) -> None:
        assert self.news is not None
        self.version, classes = self.news
        settled, self.settled, self.news = self.settled, {}, None
        self.learner.update(self.pairs, classes, settled)

    def _look(self) -> None:
        found = self.learner.candidates(self.wanted, _BLOCKS)
        self.wanted -= len(found)
        self._tell(found)

    def _tell_end(self) -> None:
        if self.learner.ended and self.told != (self.version, True):
            self._tell([])

    def _tell(self, found: list[Candidate]) -> None:
        learner = self.learner
        self.told = self.version, learner.ended
        self.pipe.send(("found", 0, (self.version, found, learner.walk, learner.at, learner.ended)))
