"""Session: the engine of labelling, without a page: what is asked next, and what answers amount to.

A session joins a table, a journal and a learner. Its state is what the events of the journal amount
to, so that a session that is opened again goes on where it was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self
from uuid import NAMESPACE_OID, NAMESPACE_URL, uuid5

import numpy as np

from ..errors import JournalError, ReservedRowError
from .answers import AUDIT, NEGATIVES, REPEAT, Answers
from .audit_figures import (
    AuditLook,
    NegativesLook,
    error_of_look,
    figures_of_audit,
    figures_of_negatives,
    last_look,
    looks_up_to,
)
from .journal import Event, Journal, new_identifier
from .merging import OtherSession, is_of_audit
from .pool_features import as_arrow, feature_budget, features_of
from .pool_learner import Candidate, Guess, PoolLearner, RuleSettings, StoppingFigures
from .row_identity import RowKey, identities_of

__all__ = ["Figures", "Pause", "Question", "Session"]

# Of the rows that are reserved for the audit: a fifth, and at most so many.
_MOST_AUDIT, _AUDIT_SHARE = 1_000, 5
# Questions of which one is an audit row; and one a repeat, so many questions after its first time.
_AUDIT_EVERY, _REPEAT_EVERY, _REPEAT_AT, REPEAT_AFTER = 8, 40, 39, 30
# Rows of the rule of which one has no guess, so that those of the audit are not the only ones.
_NO_GUESS_EVERY = 8
#: Labels that were brought in and are learned, at most: a learner grows with their square.
MOST_IMPORTED = 1_000
# Predicted negatives that are drawn at most, rows that are predicted at once, and how often.
_NEGATIVES, _PREDICTED, _PREDICTIONS = 200, 2_048, 16
# Characters of a label at most.
_LONGEST_LABEL = 200
# Rows that a search finds at most.
_FOUND = 50


@dataclass(frozen=True)
class Question:
    """A row whose label is asked.

    Attributes
    ----------
    name : str
        An identifier.
    place : int
        Of the row in the table, from 0 on.
    why : str
        "rule", "audit", "repeat", "negatives", "search", "link" or "review".
    detail : dict
        Of the rule: with which probability it asked, and where it was. Of predicted negatives:
        ``of``, the class.
    """

    name: str
    place: int
    why: str
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class Pause:
    """Why there is no question now.

    Attributes
    ----------
    kind : {"looking", "ended", "waiting"}
        The learner looks for a row; a whole pass asked nothing; other tabs have the rows.
    text : str
        The same, for people.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Figures:
    """How far a session is.

    Attributes
    ----------
    rows, labelled, skipped, cannot_tell : int
    counts : dict
        Rows of each label.
    audit : AuditLook or None
        The last look; None before 25 audit rows were asked.
    audit_labels : int
        Labels that the model of that look had learned.
    audit_asked, audit_rows, next_look : int
        Audit rows that were asked, that are reserved, and at which the next look is.
    negatives : tuple of NegativesLook
        What samples of predicted negatives say, which is no part of the audit.
    stopping : StoppingFigures
    oneself : tuple of int
        Repeats with the label that was given before, and all repeats.
    others : tuple of int
        Audit rows of which all annotators say the same, and those that several have answered.
    conflicts : int
        Rows of which annotators say different things.
    missing, changed : int
        Rows with labels that are set aside: gone from the table, and with other cells.
    """

    rows: int
    labelled: int
    skipped: int
    cannot_tell: int
    counts: Mapping[str, int]
    audit: AuditLook | None
    audit_labels: int
    audit_asked: int
    audit_rows: int
    next_look: int
    negatives: tuple[NegativesLook, ...]
    stopping: StoppingFigures
    oneself: tuple[int, int]
    others: tuple[int, int]
    conflicts: int
    missing: int
    changed: int


class Session:
    """A table, its labels so far, and what to ask next.

    Parameters
    ----------
    table : pyarrow.Table, DataFrame or dict (n, d)
    path : path
        The file of the session, which is made where it is not there.
    text : str, optional
        A column of text to learn from and to show.
    columns : sequence of str, optional
        Columns to learn from and to show, instead.
    labels : sequence of str
        Classes; more can be added later.
    label_column : str, optional
        A column in which some rows have a label.
    identifier : str, optional
        A column by which rows are known; by default they are known by their cells.
    strategy, count, k, b, alpha
        How the rule asks, as in :class:`~squareone.SelectiveSamplingClassifier`; "rarer" for rare
        classes.
    seed : int
        Of the order of rows, and of which are reserved for the audit: people who label the same
        table share these rows if they share the seed.
    annotator : str, optional
        Who answers; by default the name of the account.
    memory : str or float, optional
        What features may take; by default a quarter of what is free.
    learner : callable, optional
        Of the session, gives what learns: something with the methods of :class:`.PoolLearner`,
        which it is by default.

    Attributes
    ----------
    changes : TableChanges
        How the table differs from that of the last time.
    notes : list of str
        What is to be known about this opening, for people.

    Notes
    -----
    The first min(1,000, n/5) rows of a seeded order are the audit: one question in eight is one of
    them. They are hidden from the rule, search, review and guesses, and are not learned.

    **Cost**: a hash for every row at the beginning; then what :class:`.PoolLearner` says.

    Examples
    --------
    >>> import tempfile
    >>> from squareone.labelling import Question, Session
    >>> table = {"text": [f"{word} {i}" for i in range(40) for word in ("cheap offer", "dear Ann")]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Session(table, folder + "/a.db", text="text", labels=["spam", "ham"]) as session:
    ...         while isinstance(question := session.next(), Question):
    ...             offer = "offer" in session.cells(question.place)["text"]
    ...             _ = session.answer(question, "spam" if offer else "ham")
    ...         place = next(p for p in range(80) if p not in session.audit_places)
    ...         print(question.kind, len(session.predict(range(80))))
    ...         print(session.guess(place).label, sum(session.counts().values()) < 40)
    ended 80
    spam True
    """

    def __init__(
        self,
        table: Any,
        path: str | os.PathLike[str],
        *,
        text: str | None = None,
        columns: Sequence[str] = (),
        labels: Sequence[str] = (),
        label_column: str | None = None,
        identifier: str | None = None,
        strategy: str = "deterministic",
        count: str = "labels",
        k: float = RuleSettings.k,
        b: float = RuleSettings.b,
        alpha: float = RuleSettings.alpha,
        seed: int = 0,
        annotator: str | None = None,
        memory: str | float | None = None,
        learner: Any = None,
    ) -> None:
        self.table = as_arrow(table)
        self.text, self.columns = text, list(columns)
        self.label_column, self.identifier = label_column, identifier
        self._check_columns()
        self._mutex = threading.RLock()
        self.notes: list[str] = []
        self.identities = identities_of(
            self.table, identifier, without=[label_column] if label_column else []
        )
        self.journal = Journal(path, annotator)
        try:
            self._begin(seed)
            settings = RuleSettings(strategy, count, float(k), float(b), float(alpha), self.seed)
            self.rule = settings
            self._open_events(labels)
            if learner is None:
                features = features_of(
                    self.table, text, self.columns, self.order, feature_budget(memory)
                )
                self.learner: Any = PoolLearner(features, settings)
            else:
                self.learner = learner(self)
            self._tell_learner(True)
        except BaseException:
            self.journal.close()
            raise

    # --- opening ---

    def _check_columns(self) -> None:
        if (self.text is None) == (not self.columns):
            msg = "a column of text, or columns, are expected: text=… or columns=[…]"
            raise ValueError(msg)
        shown = [self.text] if self.text is not None else self.columns
        for name in [*shown, self.label_column, self.identifier]:
            if name is not None and name not in self.table.column_names:
                there = ", ".join(self.table.column_names[:10])
                msg = f"there is no column {name!r}; the columns are {there}"
                raise ValueError(msg)
        if self.label_column in shown:
            msg = f"{self.label_column!r} has the labels: it cannot be learned from"
            raise ValueError(msg)

    def _begin(self, seed: int) -> None:
        """Facts of the session, which are the same whenever it is opened; the order of rows."""
        facts = self.journal.facts()
        own = {"identifier": self.identifier, "label_column": self.label_column}
        for name, value in own.items():
            if facts and facts.get(name) != value:
                said = "none" if facts.get(name) is None else repr(facts.get(name))
                msg = (
                    f"{self.journal.path} was begun with {name} {said}, and rows are known by it: "
                    "give the same again, or begin another file"
                )
                raise JournalError(msg)
        self.seed = int(facts.get("seed", seed))
        numbers = self._numbers = self.identities.random_numbers(self.seed)
        if not facts:
            reserved = min(_MOST_AUDIT, self.identities.n // _AUDIT_SHARE)
            # rows that come later are reserved with the same probability
            below = float(np.sort(numbers)[reserved]) if reserved else 0.0
            self.journal.set_facts({**own, "seed": self.seed, "audit_below": below})
            facts = self.journal.facts()
        order = np.argsort(numbers, kind="stable")
        count = int((numbers < facts["audit_below"]).sum())
        self.audit_order, self.order = order[:count], order[count:]
        self.audit_places = frozenset(self.audit_order.tolist())
        last = self.journal.last_table()
        self.changes = self.identities.changes_since(last)
        if last is None or self.changes:
            self.journal.note_table(*self.identities.packed())
        if self.changes:
            self.notes.append(self.changes.said(self.identifier))

    def _open_events(self, labels: Sequence[str]) -> None:
        audit = {self.identities.row(int(place)) for place in self.audit_order}
        self.answers = Answers(audit)
        self._place: dict[RowKey, int] = {}
        self._taken = 0
        # Rows that are not asked any more, and what the learner was not told of these yet.
        self._settled: set[int] = set()
        self._settled_news: dict[int, bool] = {}
        self._kept_imports: tuple[int, list[tuple[int, int, str]]] = -1, []
        self._questions: dict[str, Question] = {}
        self._returned: list[Question] = []
        self._take()
        for label in labels:
            self.add_label(label)
        if self.label_column is not None:
            column = self.table.column(self.label_column).to_pylist()
            found = {place: str(v).strip() for place, v in enumerate(column) if v is not None}
            self.bring_in({p: v for p, v in found.items() if v}, f"column {self.label_column}")
        self._count = self.answers.given

    def _take(self) -> None:
        """Events that are in the file and were not looked at yet."""
        events = self.journal.events(self._taken)
        rows = {event.row for event in events if event.row is not None} - self._place.keys()
        self._place |= self.identities.places_of(list(rows))
        for row in self.answers.take(events):
            if row in self._place:
                self._settle(row, self._place[row])
        if events:
            self._taken = events[-1].number

    def _settle(self, row: RowKey, place: int) -> None:
        answer = self.answers.standing.get(row)
        settled = answer is not None and answer.kind != "skip"
        if settled != (place in self._settled):
            (self._settled.add if settled else self._settled.remove)(place)
            self._settled_news[place] = settled

    def close(self) -> None:
        """Let go of the file."""
        close = getattr(self.learner, "close", None)
        if close is not None:
            close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    # --- asking ---

    def next(
        self, *, audit_only: bool = False, negatives_of: str | None = None
    ) -> Question | Pause:
        """The next question, or why there is none.

        Parameters
        ----------
        audit_only : bool
            Ask audit rows, one after the other, whatever the rule says.
        negatives_of : str, optional
            Ask the rows that :meth:`draw_negatives` has drawn for a class.

        Returns
        -------
        Question or Pause
        """
        with self._mutex:
            if negatives_of is not None:
                return self._negatives_question(negatives_of)
            if self._returned:
                return self._ask_again(self._returned.pop(0))
            number = self._count + 1
            question = None
            if audit_only or number % _AUDIT_EVERY == 0:
                question = self._audit_question()
            elif number % _REPEAT_EVERY == _REPEAT_AT:
                question = self._repeat_question(number)
            if question is None:
                if audit_only:
                    return Pause("ended", "all audit rows were asked")
                question = self._rule_question()
            if question is None:
                return self._pause()
            self._count = number
            self._questions[question.name] = question
            return question

    def _ask_again(self, question: Question) -> Question:
        again = replace(question, name=new_identifier())
        self._questions[again.name] = again
        return again

    def _open_places(self) -> set[int]:
        return {question.place for question in self._questions.values()}

    def _audit_question(self) -> Question | None:
        asked = {self._place[row] for row in self.answers.audit_answers() if row in self._place}
        asked |= self._open_places()
        for place in self.audit_order.tolist():
            if place not in asked:
                return Question(new_identifier(), place, AUDIT, {})
        return None

    def _repeat_question(self, number: int) -> Question | None:
        """A row that was answered long ago, asked as if for the first time."""
        repeated = {event.row for event in self.answers.repeats} | {
            self.identities.row(q.place) for q in self._questions.values()
        }
        found = [
            self._place[event.row]
            for event in self.answers.own()
            if event.kind == "answer"
            and event.detail.get("why") not in (AUDIT, REPEAT, "review")
            and int(event.detail.get("question", number)) <= number - REPEAT_AFTER
            and event.row is not None
            and event.row in self._place
            and event.row not in repeated
            and self.answers.standing[event.row].event is event
        ]
        if not found:
            return None
        rng = np.random.default_rng([self.seed, 4, number])
        place = found[int(rng.integers(len(found)))]
        return Question(new_identifier(), place, REPEAT, {})

    def draw_negatives(self, label: str) -> int:
        """Draw rows that the present model predicts as something else than a class.

        They are asked by ``next(negatives_of=label)`` and say which share of such rows is of the
        class all the same: a rare class has few rows in the audit. They are learned, and no part of
        the audit, which would no longer be at random. A sample that was drawn before is gone on
        with as long as it has rows that were not asked.

        Returns
        -------
        int
            Rows that can be asked.

        Notes
        -----
        **Cost**: predictions of 2,048 random rows at once until 200 are found, 16 times at most.
        """
        with self._mutex:
            if label not in self.answers.labels:
                msg = f"{label!r} is no label yet: they are {', '.join(self.answers.labels)}"
                raise ValueError(msg)
            left = self._negatives_left(label)
            if left:
                return len(left)
            said = [self._place[row] for row in self.answers.standing if row in self._place]
            rest = self.order[~np.isin(self.order, said)]
            rng = np.random.default_rng([self.seed, 5, self._taken])
            learned = len(self._pairs())
        found: list[int] = []
        mixed = rng.permutation(rest)[: _PREDICTED * _PREDICTIONS]
        for start in range(0, mixed.size, _PREDICTED):
            part = mixed[start : start + _PREDICTED].tolist()
            guesses = self.learner.predict(part)
            if guesses is None:
                msg = "nothing can be predicted yet: labels of two classes are needed"
                raise ValueError(msg)
            found += [p for p, guess in zip(part, guesses, strict=True) if guess != label]
            if len(found) >= _NEGATIVES:
                break
        detail = {"sample": new_identifier(), "labels": learned}
        with self._mutex:
            rows = [(self.identities.row(place), place) for place in found[:_NEGATIVES]]
            self._place.update(rows)
            self.journal.append_many(
                [{"kind": "drawn", "row": row, "label": label, "detail": detail} for row, _ in rows]
            )
            self._take()
            return len(rows)

    def _negatives_left(self, label: str) -> list[int]:
        """Rows of a sample that were not asked yet."""
        sample = self.answers.samples.get(label)
        rows = [] if sample is None else sample.rows
        return [
            self._place[row]
            for row in rows
            if row in self._place and row not in self.answers.standing
        ]

    def _negatives_question(self, label: str) -> Question | Pause:
        opened = self._open_places()
        left = self._negatives_left(label)
        place = next((place for place in left if place not in opened), None)
        if place is None:
            if left:
                return Pause("waiting", "The last rows of this sample are open.")
            return Pause(
                "ended",
                f"All rows of this sample were asked: Progress says how many are {label} although "
                "the model predicted something else.",
            )
        self._count += 1
        question = Question(new_identifier(), place, NEGATIVES, {"of": label})
        self._questions[question.name] = question
        return question

    def _negatives(self) -> tuple[NegativesLook, ...]:
        """What the samples say; a look has the first rows, all of which were asked."""
        found = []
        for label, sample in self.answers.samples.items():
            truths = []
            for row in sample.rows:
                answer = self.answers.standing.get(row)
                if answer is None:
                    break
                truths.append(answer.label)
            found.append(figures_of_negatives(label, sample.labels, len(sample.rows), truths))
        return tuple(found)

    def _rule_question(self) -> Question | None:
        opened = self._open_places()
        while True:
            found: list[Candidate] = self.learner.candidates(1)
            if not found:
                return None
            candidate = found[0]
            place = candidate.place
            if place in self._settled or place in opened:
                continue
            if not self._skipped_in(candidate):
                detail = {key: v for key, v in asdict(candidate).items() if key != "place"}
                return Question(new_identifier(), candidate.place, "rule", detail)

    def _skipped_in(self, candidate: Candidate) -> bool:
        """Whether the row was skipped in this pass already."""
        answer = self.answers.standing.get(self.identities.row(candidate.place))
        return (
            answer is not None
            and answer.kind == "skip"
            and answer.event.detail.get("walk") == candidate.walk
        )

    def _pause(self) -> Pause:
        if not self.learner.ended:
            walk, at = self.learner.walk, self.learner.at
            text = (
                f"Looking for a row whose label is worth asking: {at:,} of {self.order.size:,} "
                f"rows looked at in pass {walk}."
            )
            return Pause("looking", text)
        if self._questions:
            return Pause("waiting", "The last rows are open, here or in another tab.")
        learned = len(self._pairs())
        rows = self.order.size
        if learned >= rows:
            return Pause("ended", f"All {rows:,} rows outside of the audit have been asked.")
        text = (
            f"The rule went through all {rows:,} rows and asked about none: with {learned:,} "
            "labels learned, no row is as uncertain as it asks for. That is no promise of any "
            "accuracy: look at the audit. You can go on with audit rows, search for what may be "
            "rare, or review suspicious labels."
        )
        return Pause("ended", text)

    def ask(self, place: int, why: str) -> Question:
        """A question about a row that was searched for, linked to or is to be reviewed.

        Raises
        ------
        ReservedRowError
            For rows of the audit, which come in their turn.
        """
        if not 0 <= place < self.identities.n:
            msg = f"row {place + 1:,}: the table has rows 1 to {self.identities.n:,}"
            raise ValueError(msg)
        if place in self.audit_places:
            msg = (
                f"row {place + 1:,} is kept for the audit: it comes in its turn, unseen, so that "
                "the accuracy that is shown stays honest"
            )
            raise ReservedRowError(msg)
        with self._mutex:
            question = Question(new_identifier(), place, why, {})
            self._questions[question.name] = question
            return question

    def give_back(self, question: Question) -> None:
        """A question that nobody is going to answer now: it is asked again before others."""
        with self._mutex:
            if self._questions.pop(question.name, None) is not None and question.why in (
                "rule", AUDIT, REPEAT,
            ):  # fmt: skip
                self._returned.append(question)

    # --- answering ---

    def answer(self, question: Question, label: str, *, uuid: str | None = None) -> Event:
        """The label of a row; on the disk when this returns.

        Parameters
        ----------
        question : Question
        label : str
        uuid : str, optional
            An identifier of this answer: the same one again changes nothing.
        """
        if label not in self.answers.labels:
            msg = f"{label!r} is no label yet: the labels are {', '.join(self.answers.labels)}"
            raise ValueError(msg)
        return self._say("answer", question, label, uuid)

    def skip(self, question: Question, *, uuid: str | None = None) -> Event:
        """Leave a row out; the rule may come back to it in a later pass."""
        return self._say("skip", question, None, uuid)

    def cannot_tell(self, question: Question, *, uuid: str | None = None) -> Event:
        """Say that the row does not show its label; it is not asked again."""
        return self._say("cannot_tell", question, None, uuid)

    def _say(self, kind: str, question: Question, label: str | None, uuid: str | None) -> Event:
        row = self.identities.row(question.place)
        with self._mutex:
            detail: dict[str, Any] = {"why": question.why, **question.detail}
            detail["question"] = self._count
            self._place[row] = question.place
            if question.why == REPEAT:
                before = self.answers.standing.get(row)
                detail["before"] = None if before is None else before.label
            event = self.journal.append(kind, uuid=uuid, row=row, label=label, detail=detail)
            self._questions.pop(question.name, None)
            if event.number > self._taken:
                self._take()
                self._tell_learner()
            return event

    def undo(self, *, uuid: str | None = None) -> Question | None:
        """Take the last answer back, and ask that row again; None where there is none."""
        with self._mutex:
            known = None if uuid is None else self.answers.taken_back(uuid)
            undone = known or self.answers.last(self._place)
            if undone is None:
                return None
            assert undone.row is not None
            if known is None:
                detail = {"of": undone.uuid}
                event = self.journal.append("undo", uuid=uuid, row=undone.row, detail=detail)
                if event.detail != detail:
                    msg = f"{uuid!r} is the identifier of another event: give one that is new"
                    raise ValueError(msg)
                self._take()
                self._tell_learner()
            return self._question_of(undone)

    def _question_of(self, undone: Event) -> Question | None:
        """What was asked when an event that was taken back was said; the same one if it is open."""
        place = None if undone.row is None else self._place.get(undone.row)
        if place is None:
            return None
        why = str(undone.detail.get("why", "rule"))
        for question in self._questions.values():
            if (question.place, question.why) == (place, why):
                return question
        detail = {k: v for k, v in undone.detail.items() if k not in ("why", "before")}
        question = Question(new_identifier(), place, why, detail)
        self._questions[question.name] = question
        return question

    def add_label(self, label: str) -> None:
        """One more class; what was learned is learned again with it."""
        label = checked_label(label)
        with self._mutex:
            if label not in self.answers.labels:
                self.journal.append("label_added", label=label)
                self._take()
                self._tell_learner()

    def bring_in(self, labels: Mapping[int, str], source: str) -> int:
        """Labels from elsewhere, by the places of their rows; how many are new.

        Those of audit rows are kept in the file and come out with its labels, but are neither
        learned nor counted: the audit asks these rows itself.
        """
        with self._mutex:
            events: list[dict[str, Any]] = []
            for place, given in labels.items():
                label = checked_label(given)
                row = self.identities.row(int(place))
                last, count = self.answers.brought.get((source, row), (None, 0))
                if label == last:
                    continue
                self._place[row] = int(place)
                name = _name_of_import(source, row, label, count)
                detail = {"source": source}
                events.append(
                    {"kind": "imported", "uuid": name, "row": row, "label": label, "detail": detail}
                )
            if events:
                self.journal.append_many(events)
                self._take()
                self._tell_learner()
            reserved = sum(self.answers.hidden(each["row"]) for each in events)
            if reserved:
                self.notes.append(
                    f"{source}: {reserved:,} of its {len(events):,} new labels are of rows that "
                    "are kept for the audit, which asks them itself: these are neither learned nor "
                    "counted"
                )
            return len(events)

    def merge(self, path: str | os.PathLike[str]) -> dict[str, int]:
        """Answers from the file of another person, which is opened for reading alone.

        Rows of which people say different things are not learned until one of them is reviewed.

        Returns
        -------
        dict
            How many answers came, were there before, and belong to rows that are not in the table.
        """
        other = OtherSession.read(path, self.identifier)
        reason = other.why_not_this_audit(self.seed, self.identities.packed()[0])
        known = {event.uuid for event in self.journal.events()}
        new = [event for event in other.standing if event.uuid not in known]
        places = self.identities.places_of([e.row for e in new if e.row is not None])
        with self._mutex:
            self.journal.append_many(
                [
                    {"kind": "label_added", "label": label}
                    for label in other.labels
                    if label not in self.answers.labels
                ]
                + [other.taken_over(e, self.journal.annotator, not reason) for e in new]
            )
            self._take()
            self._tell_learner()
            reserved = [e for e in new if e.row in self.answers.audit]
        without = [e for e in reserved if reason or not is_of_audit(e)]
        if reason or without:
            reason = reason or "they were not asked as audit rows there"
            self.notes.append(
                f"{other.stem}: {len(without):,} answers to rows that are kept for the audit here "
                f"do not count for the accuracy or the agreement, since {reason}"
            )
        return {
            "new": len(new),
            "known": len(other.standing) - len(new),
            "set_aside": sum(event.row not in places for event in new),
        }

    # --- the learner ---

    def _pairs(self) -> list[tuple[int, str]]:
        """Places and labels to learn from; of those that were brought in at most some."""
        own = [
            (number, self._place[row], label)
            for row, (number, label) in self.answers.learned().items()
            if row in self._place
        ]
        found = sorted(own + self._imports())  # two parts that are sorted already
        return [(place, label) for _, place, label in found]

    def _imports(self) -> list[tuple[int, int, str]]:
        """Labels that were brought in and are learned, with the numbers of their events."""
        version, kept = self._kept_imports
        if version == self.answers.imports_version:
            return kept
        kept = sorted(
            (number, self._place[row], label)
            for row, (number, label) in self.answers.learned_imports.items()
            if row in self._place
        )
        if len(kept) > MOST_IMPORTED:
            note = (
                f"of the labels that were brought in, {MOST_IMPORTED:,} at random are learned "
                "during the session; an exported model learns all"
            )
            if note not in self.notes:
                self.notes.append(note)
            numbers = self._numbers[[place for _, place, _ in kept]]
            some = np.sort(np.argsort(numbers, kind="stable")[:MOST_IMPORTED])
            kept = [kept[each] for each in some.tolist()]
        self._kept_imports = self.answers.imports_version, kept
        return kept

    def _tell_learner(self, opening: bool = False) -> None:
        if not hasattr(self, "learner"):
            return
        if opening:
            rule = [a.event for a in self.answers.standing.values() if a.why == "rule"]
            own = [event for event in rule if "at" in event.detail and "merged" not in event.detail]
            if own:
                last = max(own, key=lambda event: event.number).detail
                asked = sum(event.detail["walk"] == last["walk"] for event in own)
                self.learner.go_to(last["walk"], last["at"] + 1, last["seen"] + 1, asked)
        news, self._settled_news = self._settled_news, {}
        self.learner.update(self._pairs(), list(self.answers.labels), news)

    def guess_for(self, question: Question) -> Guess | None:
        """What the model says of a row that is asked; None where it is not to be told.

        There is none for rows that measure something, those of the audit, repeats and predicted
        negatives, and for one in eight of those that the rule asks about: otherwise it would tell
        which they are.
        """
        if question.why in (AUDIT, REPEAT, NEGATIVES):
            return None
        decoy = int(self._numbers[question.place] * 2**20) % _NO_GUESS_EVERY == 0
        if question.why == "rule" and decoy:
            return None
        return self.guess(question.place)

    def shown_history(self, place: int) -> list[Event]:
        """The events of a row that may be shown now.

        None while the row is asked, whyever that is, nor before an audit row was: what was said
        before would tell that it is asked a second time, or what others say.
        """
        with self._mutex:
            asked = any(
                question.place == place and question.why in ("rule", AUDIT, REPEAT)
                for question in self._questions.values()
            )
            if asked or self.answers.hidden(self.identities.row(place)):
                return []
            return self.history(place)

    def guess(self, place: int) -> Guess | None:
        """What the model says of a row; None before two classes have a label."""
        if place in self.audit_places:
            msg = "there is no guess for this row: it measures the model"
            raise ReservedRowError(msg)
        return self.learner.guess(place)

    def suspects(self, count: int = 20) -> list[int]:
        """Rows whose labels the others believe least, the worst first."""
        with self._mutex:
            reviewed = {
                self._place[row]
                for row, answer in self.answers.standing.items()
                if answer.why == "review" and row in self._place
            }
        found = self.learner.suspects(count + len(reviewed))
        return [place for place in found if place not in reviewed][:count]

    def predict(self, places: Sequence[int]) -> list[str] | None:
        """What the model says of rows; None before two classes have a label."""
        return self.learner.predict(places)

    # --- what is known ---

    def cells(self, place: int) -> dict[str, Any]:
        """What is shown of a row, by column."""
        names = [self.text] if self.text is not None else self.columns
        if self.identifier is not None and self.identifier not in names:
            names = [self.identifier, *names]
        return {name: self.table.column(name)[place].as_py() for name in names}

    def place_of(self, row: RowKey) -> int | None:
        """Where a row with events is; None where it is not in the table."""
        return self._place.get(row)

    def standing(self, place: int) -> tuple[str, str | None] | None:
        """What stands of a row: the kind of answer and the label; None where nothing does.

        Audit rows that were not asked yet have nothing, whatever others say of them.
        """
        row = self.identities.row(place)
        found = None if self.answers.hidden(row) else self.answers.standing.get(row)
        return None if found is None else (found.kind, found.label)

    def history(self, place: int) -> list[Event]:
        """All events of a row, the first one first."""
        with self._mutex:
            return list(self.answers.history.get(self.identities.row(place), []))

    def conflicts(self) -> dict[int, dict[str, str]]:
        """Rows outside of the audit of which people say different things, and who says what."""
        with self._mutex:
            return {
                self._place[row]: said
                for row, said in self.answers.conflicts().items()
                if row in self._place and row not in self.answers.audit
            }

    def counts(self) -> dict[str, int]:
        """Rows of each label."""
        with self._mutex:
            return self.answers.counts()

    def search(self, words: str, limit: int = _FOUND) -> tuple[list[int], int]:
        """Rows whose text has these words, without those of the audit, and how many there are."""
        import pyarrow
        from pyarrow import compute

        if not words.strip():
            return [], 0
        names = [self.text] if self.text is not None else self.columns
        hit = np.zeros(self.identities.n, bool)
        for name in names:
            column = self.table.column(name)
            if not pyarrow.types.is_string(column.type) and not pyarrow.types.is_large_string(
                column.type
            ):
                column = column.cast(pyarrow.string())
            found = compute.match_substring(column, words.strip(), ignore_case=True)
            hit |= np.asarray(found.fill_null(False))
        hit[list(self.audit_places)] = False
        places = np.flatnonzero(hit)
        return places[:limit].tolist(), int(places.size)

    def look_if_due(self) -> None:
        """Look at the audit where enough of its rows were asked since the last look."""
        with self._mutex:
            answers = self.answers.audit_answers()
            asked = [
                place
                for place in self.audit_order.tolist()
                if self.identities.row(place) in answers
            ]
            rows = last_look(len(asked))
            if rows == 0 or rows in self.answers.looks:
                return
            truths = [answers[self.identities.row(place)] for place in asked[:rows]]
            learned = len(self._pairs())
            labels = list(self.answers.labels)
        guesses = self.learner.predict(asked[:rows])
        if guesses is None:
            return
        look = figures_of_audit(truths, guesses, labels, error_of_look(rows))
        with self._mutex:
            if rows not in self.answers.looks:
                self.journal.append("look", detail={**asdict(look), "labels": learned})
                self._take()

    def figures(self) -> Figures:
        """How far the session is; looks at the audit where that is due."""
        self.look_if_due()
        stopping = self.learner.figures()
        with self._mutex:
            asked = len(self.answers.audit_answers())
            rows = max(self.answers.looks, default=0)
            look = AuditLook.restored(self.answers.looks[rows]) if rows else None
            upcoming = looks_up_to(max(asked, 12) * 4)
            missing, changed = self._set_aside()
            return Figures(
                rows=self.identities.n,
                labelled=sum(self.answers.counts().values()),
                skipped=self.answers.without_label("skip"),
                cannot_tell=self.answers.without_label("cannot_tell"),
                counts=self.answers.counts(),
                audit=look,
                audit_labels=int(self.answers.looks[rows]["labels"]) if rows else 0,
                audit_asked=asked,
                audit_rows=self.audit_order.size,
                next_look=next(each for each in upcoming if each > rows),
                negatives=self._negatives(),
                stopping=stopping,
                oneself=self.answers.agreement_with_oneself(),
                others=self.answers.agreement_on_audit(),
                conflicts=len(self.conflicts()),
                missing=missing,
                changed=changed,
            )

    def _set_aside(self) -> tuple[int, int]:
        """Labels of rows that are not in the table, and of rows with other cells."""
        gone = [row for row in self.answers.standing if row not in self._place]
        if not gone or self.identifier is None:
            return len(gone), 0
        there = np.isin(
            np.frombuffer(b"".join(row[0] for row in gone), self.identities.keys.dtype).view("S16"),
            self.identities.keys.view("S16"),
        )
        return int((~there).sum()), int(there.sum())


def checked_label(text: str) -> str:
    """A label without blanks around it; refused where it is empty or no name of a class."""
    label = text.strip()
    if not label or len(label) > _LONGEST_LABEL:
        msg = f"{label[:60]!r}: a label of 1 to {_LONGEST_LABEL} characters is expected"
        raise ValueError(msg)
    return label


def _name_of_import(source: str, row: RowKey, label: str, count: int) -> str:
    """An identifier that everybody who brings in the same labels gives to the same event.

    A source that changes its mind, and changes it back, has said something new each time.
    """
    name = f"{source}/{row[0].hex()}/{row[1]}/{label}"
    return str(uuid5(NAMESPACE_URL, name) if not count else uuid5(NAMESPACE_OID, f"{count}/{name}"))
