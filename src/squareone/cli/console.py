"""What is said to a person: on stderr, without anything that a terminal obeys."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

__all__ = ["SCHEMA", "Console", "clean"]

#: The number of the schema of ``--json``; it grows when a field changes or goes.
SCHEMA = 1
# Categories of characters that move the cursor, change colours or turn text around.
_OBEYED = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def clean(text: str) -> str:
    """Text from data without control characters, so that a terminal only shows it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _OBEYED and c != "\n" else c
        for c in text
    )


@dataclass
class Console:
    """Where messages go, and how many of them.

    Attributes
    ----------
    quiet, verbose, debug, as_json : bool
    notes : list of str
        What was noted, for ``--json``.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    as_json: bool = False
    notes: list[str] = field(default_factory=list)

    def aside(self) -> Console:
        """For what is read again: only notes, and those that were not made before."""
        return Console(quiet=True, notes=self.notes)

    def say(self, text: str) -> None:
        """A line of what is going on."""
        if not self.quiet:
            click.echo(clean(text), err=True, color=_colours())

    def detail(self, text: str) -> None:
        """A line for who asked for more."""
        if self.verbose:
            self.say(text)

    def note(self, text: str) -> None:
        """Something to be aware of; shown with ``--quiet``, too, and in ``--json``."""
        if text in self.notes:
            return
        self.notes.append(text)
        mark = click.style("note:", fg="yellow")
        click.echo(f"{mark} {clean(text)}", err=True, color=_colours())

    def progress(self, text: str) -> None:
        """How far it is, on a terminal only."""
        if sys.stderr.isatty():
            self.say(f"  {text}")
        else:
            self.detail(f"  {text}")

    @property
    def level(self) -> int:
        """``verbose`` for an estimator."""
        return int(sys.stderr.isatty() and not self.quiet)

    def give(self, command: str, found: dict[str, Any]) -> None:
        """The one object of ``--json``, on stdout."""
        if self.as_json:
            whole = {"schema": SCHEMA, "command": command, **found, "notes": self.notes}
            click.echo(json.dumps(whole, ensure_ascii=True, allow_nan=False, indent=2))

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings of the library become notes, but those of columns that are not used.

        Of these every command tells in its own words.
        """
        from ..errors import EmptyColumnWarning, IdentifierWarning

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", EmptyColumnWarning)
            warnings.simplefilter("ignore", IdentifierWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.showwarning = lambda message, *_, **__: self.note(str(message))
            yield


def _colours() -> bool | None:
    """False where somebody wants none; None leaves it to whether it is a terminal."""
    return False if os.environ.get("NO_COLOR") else None
