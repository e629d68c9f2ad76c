"""Answers: what the events of a journal amount to, event by event; nothing else is state.

The labels that stand, which of them are learned and in which order, what the audit knows, repeats,
and what can be undone: all of it is a function of the events, so that a session that is opened
again is where it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .journal import Event
from .row_identity import RowKey

__all__ = ["ANSWERS", "Answers", "RowAnswer"]

#: Events by which a person says something of a row; each can be undone.
ANSWERS = ("answer", "skip", "cannot_tell")
#: Why a row was asked, where it is: these are no labels to learn from.
AUDIT, REPEAT = "audit", "repeat"
#: Who said what, where several did, stands for these.
_PEOPLE = ("answer", "imported")


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
    """

    audit: set[RowKey] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    standing: dict[RowKey, RowAnswer] = field(default_factory=dict)
    repeats: list[Event] = field(default_factory=list)
    history: dict[RowKey, list[Event]] = field(default_factory=dict)
    looks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _done: list[Event] = field(default_factory=list)
    _said: dict[RowKey, list[Event]] = field(default_factory=dict)
    _undone: set[str] = field(default_factory=set)

    def take(self, events: Iterable[Event]) -> None:
        """Some more events, in their order."""
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.row is not None:
            self.history.setdefault(event.row, []).append(event)
        if event.kind == "label_added" and event.label is not None:
            self._name(event.label)
        elif event.kind == "look":
            self.looks[int(event.detail["rows"])] = event.detail
        elif event.kind == "undo":
            self._undo(str(event.detail.get("of", "")))
        elif event.row is not None and event.kind in (*ANSWERS, "imported"):
            if event.label is not None:
                self._name(event.label)
            if event.kind in ANSWERS and not _of_others(event):
                self._done.append(event)
            if event.detail.get("why") == REPEAT:
                self.repeats.append(event)
                return
            self._said.setdefault(event.row, []).append(event)
            self._settle(event.row)

    def _name(self, label: str) -> None:
        if label not in self.labels:
            self.labels.append(label)

    def _undo(self, name: str) -> None:
        """Take an event back: what stood before it stands again."""
        found = [event for event in self._done if event.uuid == name]
        if not found:  # it was taken back before
            return
        event = found[0]
        self._undone.add(name)
        self._done = [each for each in self._done if each is not event]
        self.repeats = [each for each in self.repeats if each is not event]
        assert event.row is not None
        said = self._said.get(event.row, [])
        self._said[event.row] = [each for each in said if each is not event]
        self._settle(event.row)

    def _settle(self, row: RowKey) -> None:
        said = self._said[row]
        self.standing.pop(row, None)
        if said:
            last = ([event for event in said if not _of_others(event)] or said)[-1]
            self.standing[row] = RowAnswer(last.kind, last.label, last)

    # --- what it amounts to ---

    @property
    def last(self) -> Event | None:
        """What an undo takes back."""
        return self._done[-1] if self._done else None

    @property
    def given(self) -> int:
        """Answers, skips and rows that could not be told, that stand; repeats too."""
        return len(self._done)

    def learned(self) -> list[tuple[RowKey, str]]:
        """Rows and labels to learn from, in the order in which they were said."""
        conflicts = self.conflicts()
        found = [
            (answer.event.number, row, answer.label)
            for row, answer in self.standing.items()
            if answer.label is not None and row not in self.audit and row not in conflicts
        ]
        return [(row, label) for _, row, label in sorted(found, key=lambda each: each[0])]

    def conflicts(self) -> dict[RowKey, dict[str, str]]:
        """Rows of which people say different things, and who says what; they are not learned.

        A row is settled when somebody answers it again in review.
        """
        found = {}
        for row, said in self._said.items():
            people = {}
            for event in said:
                if event.kind not in _PEOPLE or event.label is None:
                    continue
                if event.detail.get("why") == "review":
                    people = {event.annotator: event.label}
                else:
                    people[event.annotator] = event.label
            if len(set(people.values())) > 1:
                found[row] = people
        return found

    def audit_answers(self) -> dict[RowKey, str | None]:
        """Audit rows that were asked, and what was said: None where nothing could be."""
        return {
            row: answer.label
            for row, answer in self.standing.items()
            if row in self.audit and answer.kind in ANSWERS
        }

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
        same = total = 0
        for row, said in self._said.items():
            if row not in self.audit:
                continue
            people = {e.annotator: e.label for e in said if e.kind == "answer"}
            if len(people) < 2 or None in people.values():
                continue
            total += 1
            same += len(set(people.values())) == 1
        return same, total

    def counts(self) -> dict[str, int]:
        """How many rows have each label."""
        found = dict.fromkeys(self.labels, 0)
        for answer in self.standing.values():
            if answer.label is not None:
                found[answer.label] += 1
        return found

    def without_label(self, kind: str) -> int:
        """Rows that were skipped, or could not be told."""
        return sum(answer.kind == kind for answer in self.standing.values())


def _of_others(event: Event) -> bool:
    """Whether it was merged from another file."""
    return bool(event.detail.get("merged"))
