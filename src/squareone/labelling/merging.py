"""Merging: what the file of another person says, and whether it measures what this one does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..errors import JournalError
from .answers import AUDIT, Answers
from .journal import Event, last_table_of, read_journal


@dataclass(frozen=True)
class OtherSession:
    """The session of another person, as far as its file tells.

    Attributes
    ----------
    stem : str
        The name of the file.
    labels : list of str
    standing : list of Event
        Answers, and labels from elsewhere, that nothing has taken back.
    seed : int or None
    keys : bytes or None
        Of the rows of its table, as :meth:`.RowIdentities.packed` has them.
    """

    stem: str
    labels: list[str]
    standing: list[Event]
    seed: int | None
    keys: bytes | None

    @classmethod
    def read(cls, path: str | os.PathLike[str], identifier: str | None) -> Self:
        """From a file, which is opened for reading alone; its rows have to be known as ours are."""
        facts, events = read_journal(path)
        if facts.get("identifier") != identifier:
            msg = f"{os.fsdecode(path)}: its rows are known by another column than here"
            raise JournalError(msg)
        answers = Answers()
        answers.take(events)
        kinds = ("answer", "cannot_tell", "imported")
        standing = [each.event for each in answers.standing.values() if each.kind in kinds]
        table = last_table_of(path)
        return cls(
            Path(os.fsdecode(path)).name,
            list(answers.labels),
            standing,
            facts.get("seed"),
            None if table is None else table[0],
        )

    def why_not_this_audit(self, seed: int, keys: bytes) -> str:
        """Why its audit rows are not drawn as those here; empty where they are."""
        if self.seed != seed:
            return "the other session was begun with another seed"
        if self.keys != keys:
            return "the other session is about a table with other rows"
        return ""

    def taken_over(self, event: Event, annotator: str, same_audit: bool) -> dict[str, Any]:
        """One of its events as a journal here has it; ``annotator`` is who answers here."""
        who = event.annotator
        if who == annotator:
            who = f"{who} ({self.stem})"
        shared = same_audit and is_of_audit(event)
        return {
            "kind": event.kind,
            "uuid": event.uuid,
            "row": event.row,
            "label": event.label,
            "detail": {**event.detail, "merged": self.stem, "shared_audit": shared},
            "annotator": who,
            "time": event.time,
        }


def is_of_audit(event: Event) -> bool:
    """Whether an event of another file answers a question of the audit that it was asked in."""
    return event.detail.get("why") == AUDIT and (
        "merged" not in event.detail or event.detail.get("shared_audit") is True
    )
