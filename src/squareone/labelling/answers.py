"""Answers: what the events of a journal amount to, event by event; nothing else is state.

The labels that stand, which of them are learned and in which order, what the audit knows, repeats,
and what can be undone: all of it is a function of the events, so that a session that is opened
again is where it was. An event changes what is known of its row alone, so that an answer costs the
same however many labels there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .journal import Event
from .row_identity import RowKey

__all__ = ["ANSWERS", "Answers", "NegativeSample", "RowAnswer"]

#: Events by which a person says something of a row; each can be undone.
ANSWERS = ("answer", "skip", "cannot_tell")
#: Why a row was asked, where it is: these are no labels to learn from.
AUDIT, REPEAT = "audit", "repeat"
#: Why a row was asked that a model had predicted as something else than a class.
NEGATIVES = "negatives"


@dataclass
class RowAnswer:
    """What stands of a row.

    Attributes
    ----------
    kind : str
        "answer", "skip", "cannot_tell" or "imported".
    label : str or None
    event : Event
        Which said so.
    """

    kind: str
    label: str | None
    event: Event

    @property
    def why(self) -> str:
        """Why the row was asked."""
        return str(self.event.detail.get("why", ""))


@dataclass
class NegativeSample:
    """Rows at random among those that a model predicted as something else than a class.

    Attributes
    ----------
    name : str
        An identifier.
    labels : int
        That the model had learned.
    rows : list of RowKey
        In the order in which they are asked.
    """

    name: str
    labels: int
    rows: list[RowKey] = field(default_factory=list)


@dataclass
class Answers:
    """What a list of events amounts to.

    Parameters
    ----------
    audit : set of RowKey
        Rows that are reserved for the audit.

    Attributes
    ----------
    labels : list of str
        Classes, in the order in which they came.
    standing : dict
        What stands of every row, by row; the last event of a row comes last.
    repeats : list of Event
        Answers to rows that were asked a second time.
    history : dict
        Every event of a row.
    looks : dict
        Details of looks at the audit, by how many rows they had.
    samples : dict of str to NegativeSample
        The last sample of predicted negatives of each class.
    learned_imports : dict of RowKey to (int, str)
        Labels that were brought in, are to be learned, and the numbers of their events.
    imports_version : int
        Another one whenever ``learned_imports`` has changed.
    brought : dict of (str, RowKey) to (str, int)
        The last label that came from a source for a row, and how often one has come.
    """

    audit: set[RowKey] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    standing: dict[RowKey, RowAnswer] = field(default_factory=dict)
    repeats: list[Event] = field(default_factory=list)
    history: dict[RowKey, list[Event]] = field(default_factory=dict)
    looks: dict[int, dict[str, Any]] = field(default_factory=dict)
    samples: dict[str, NegativeSample] = field(default_factory=dict)
    learned_imports: dict[RowKey, tuple[int, str]] = field(default_factory=dict)
    imports_version: int = 0
    brought: dict[tuple[str, RowKey], tuple[str, int]] = field(default_factory=dict)
    _done: dict[str, Event] = field(default_factory=dict)
    _taken_back: dict[str, Event] = field(default_factory=dict)
    _said: dict[RowKey, list[Event]] = field(default_factory=dict)
    _conflicts: dict[RowKey, dict[str, str]] = field(default_factory=dict)
    _measured: dict[RowKey, str | None] = field(default_factory=dict)
    _agreed: dict[RowKey, bool] = field(default_factory=dict)
    _learned: dict[RowKey, tuple[int, str]] = field(default_factory=dict)
    _newest_learned: int = 0
    _in_order: bool = True
    _counts: Counter[str] = field(default_factory=Counter)
    _kinds: Counter[str] = field(default_factory=Counter)

    def take(self, events: Iterable[Event]) -> set[RowKey]:
        """Some more events, in their order; the rows of which something else may stand now."""
        changed: set[RowKey] = set()
        for event in events:
            row = self._take(event)
            if row is not None:
                changed.add(row)
        return changed

    def _take(self, event: Event) -> RowKey | None:
        if event.kind == "drawn":
            self._draw(event)
            return None
        if event.row is not None:
            self.history.setdefault(event.row, []).append(event)
        if event.kind == "label_added" and event.label is not None:
            self._name(event.label)
        elif event.kind == "look":
            self.looks[int(event.detail["rows"])] = event.detail
        elif event.kind == "undo":
            return self._undo(event)
        elif event.row is not None and event.kind in (*ANSWERS, "imported"):
            if event.label is not None:
                self._name(event.label)
            if event.kind in ANSWERS and not _of_others(event):
                self._done[event.uuid] = event
            if event.kind == "imported" and not _of_others(event) and event.label is not None:
                source = str(event.detail.get("source", "")), event.row
                self.brought[source] = event.label, self.brought.get(source, ("", 0))[1] + 1
            if event.detail.get("why") == REPEAT:
                self.repeats.append(event)
                return None
            self._said.setdefault(event.row, []).append(event)
            return self._settle(event.row)
        return None

    def _draw(self, event: Event) -> None:
        if event.row is None or event.label is None:
            return
        name = str(event.detail.get("sample", ""))
        sample = self.samples.get(event.label)
        if sample is None or sample.name != name:
            sample = NegativeSample(name, int(event.detail.get("labels", 0)))
            self.samples[event.label] = sample
        sample.rows.append(event.row)

    def _name(self, label: str) -> None:
        if label not in self.labels:
            self.labels.append(label)

    def _undo(self, undo: Event) -> RowKey | None:
        """Take an event back: what stood before it stands again."""
        event = self._done.pop(str(undo.detail.get("of", "")), None)
        if event is None:  # it was taken back before
            return None
        self._taken_back[undo.uuid] = event
        if event.detail.get("why") == REPEAT:
            self.repeats = [each for each in self.repeats if each is not event]
            return None
        assert event.row is not None
        self._said[event.row] = [each for each in self._said[event.row] if each is not event]
        return self._settle(event.row)

    # --- one row ---

    def _settle(self, row: RowKey) -> RowKey:
        """What its events amount to, as everything else is told from."""
        self._count(row, -1)
        said = self._said[row]
        self.standing.pop(row, None)
        self._measured.pop(row, None)
        self._agreed.pop(row, None)
        last = _last_of(said)
        if row in self.audit:
            measured = [event for event in said if _measures(event)]
            if measured:
                last = _last_of(measured)
                assert last is not None
                self._measured[row] = last.label
                people = _labels_of_people(measured)
                if len(people) > 1:
                    self._agreed[row] = len(set(people.values())) == 1
        if last is not None:
            self.standing[row] = RowAnswer(last.kind, last.label, last)
        people = _labels_of_people(said)
        if len(set(people.values())) > 1:
            self._conflicts[row] = people
        else:
            self._conflicts.pop(row, None)
        self._count(row, 1)
        self._learn(row)
        return row

    def _count(self, row: RowKey, by: int) -> None:
        answer = self.standing.get(row)
        if answer is not None and not self.hidden(row):
            self._kinds[answer.kind] += by
            if answer.label is not None:
                self._counts[answer.label] += by

    def _learn(self, row: RowKey) -> None:
        self._learned.pop(row, None)
        if self.learned_imports.pop(row, None) is not None:
            self.imports_version += 1
        answer = self.standing.get(row)
        if answer is None or answer.label is None or row in self.audit or row in self._conflicts:
            return
        learned = answer.event.number, answer.label
        if answer.kind == "imported":
            self.learned_imports[row] = learned
            self.imports_version += 1
            return
        self._learned[row] = learned
        self._in_order = self._in_order and learned[0] > self._newest_learned
        self._newest_learned = max(self._newest_learned, learned[0])

    def hidden(self, row: RowKey) -> bool:
        """Whether it is kept for the audit, and was not asked yet: what others said is no answer.

        Labels that were brought in, or merged without being answers to the same audit, are in the
        file, and neither learned nor counted nor shown.
        """
        return row in self.audit and row not in self._measured

    # --- what it amounts to ---

    def last(self, there: Container[RowKey]) -> Event | None:
        """What an undo takes back: the last of one's own answers to a row that is there."""
        for event in reversed(self._done.values()):
            if event.row in there:
                return event
        return None

    def taken_back(self, undo: str) -> Event | None:
        """The event that an undo with this identifier has taken back; None where there is none."""
        return self._taken_back.get(undo)

    @property
    def given(self) -> int:
        """Answers, skips and rows that could not be told, that stand; repeats too."""
        return len(self._done)

    def own(self) -> Iterable[Event]:
        """One's own answers that stand, in their order; repeats too."""
        return self._done.values()

    def learned(self) -> Mapping[RowKey, tuple[int, str]]:
        """Rows to learn from, the numbers of their events and the labels, in their order.

        Labels that were brought in are not among them, but in ``learned_imports``.
        """
        if not self._in_order:  # an undo has brought something old back
            self._learned = dict(sorted(self._learned.items(), key=lambda each: each[1][0]))
            self._newest_learned = max((n for n, _ in self._learned.values()), default=0)
            self._in_order = True
        return self._learned

    def conflicts(self) -> Mapping[RowKey, dict[str, str]]:
        """Rows of which people say different things, and who says what; they are not learned.

        A row is settled when it is answered in review here.
        """
        return self._conflicts

    def audit_answers(self) -> Mapping[RowKey, str | None]:
        """Audit rows that were asked, and what was said: None where nothing could be."""
        return self._measured

    def agreement_with_oneself(self) -> tuple[int, int]:
        """Repeats with the same label as before, and how many there are."""
        same = total = 0
        for event in self.repeats:
            before = event.detail.get("before")
            if event.label is None or before is None:
                continue
            total += 1
            same += event.label == before
        return same, total

    def agreement_on_audit(self) -> tuple[int, int]:
        """Audit rows of which all people say the same, and those that several have answered."""
        return sum(self._agreed.values()), len(self._agreed)

    def counts(self) -> dict[str, int]:
        """How many rows have each label."""
        return {label: self._counts[label] for label in self.labels}

    def without_label(self, kind: str) -> int:
        """Rows that were skipped, or could not be told."""
        return self._kinds[kind]


def _of_others(event: Event) -> bool:
    """Whether it was merged from another file."""
    return bool(event.detail.get("merged"))


def _measures(event: Event) -> bool:
    """Whether it is an answer to a question of the audit, which others share by seed and order.

    Rows that somebody else was asked for another reason were chosen, and would measure nothing.
    """
    if event.kind not in ANSWERS or event.detail.get("why") != AUDIT:
        return False
    return not _of_others(event) or event.detail.get("shared_audit") is True


def _last_of(said: list[Event]) -> Event | None:
    """What stands: one's own answers before what one brought in, and that before what others say.

    Who has skipped a row has said nothing of it that a label could contradict.
    """
    own = [event for event in said if not _of_others(event)]
    answers = [event for event in own if event.kind in ANSWERS]
    if answers and answers[-1].kind != "skip":
        return answers[-1]
    found = own or said
    return found[-1] if found else None


def _labels_of_people(said: list[Event]) -> dict[str, str]:
    """Who says what of a row: what somebody answered counts before what they brought in."""
    people: dict[str, str] = {}
    answered: set[str] = set()
    for event in said:
        if event.label is None or event.kind not in ("answer", "imported"):
            continue
        if event.detail.get("why") == "review" and not _of_others(event):
            people, answered = {}, set()  # what was reviewed elsewhere settles nothing here
        if event.kind == "answer":
            answered.add(event.annotator)
        elif event.annotator in answered:
            continue
        people[event.annotator] = event.label
    return people
