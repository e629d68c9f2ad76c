"""The table of mutants with what noticed them, written anew after each."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .mutants import Mutant
from .trial import Outcome


class Results:
    """A Markdown file."""

    def __init__(self, path: Path, commit: str, seed: int, drawn: Sequence[Mutant]) -> None:
        self.path = path
        self.commit = commit
        self.seed = seed
        self.drawn = drawn
        self.outcomes: dict[Mutant, Outcome] = {}

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep one more outcome, and write the file."""
        self.outcomes[mutant] = outcome
        self.path.write_text(self._text())

    def _text(self) -> str:
        verdicts = Counter(outcome.verdict for outcome in self.outcomes.values())
        rows = [
            self._row(place, mutant, self.outcomes[mutant])
            for place, mutant in enumerate(self.drawn, start=1)
            if mutant in self.outcomes
        ]
        return "\n".join(
            [
                "# Mutants",
                "",
                f"{len(self.drawn)} mutants of commit {self.commit}, seed {self.seed}, "
                f"{len(self.outcomes)} of them tried. Written by `python -m tools.mutation run`.",
                "",
                *(f"- {verdict}: {count}" for verdict, count in sorted(verdicts.items())),
                "",
                "Tests: those that execute the line, in `make test` + only in `make test-all`.",
                "",
                "| | line | before | after | tests | outcome | by | seconds |",
                "| --- | --- | --- | --- | --- | --- | --- | --- |",
                *rows,
                "",
            ]
        )

    def _row(self, place: int, mutant: Mutant, outcome: Outcome) -> str:
        by = f"`{_cell(outcome.by)}`" if outcome.by else ""
        return (
            f"| {place} | {mutant.path.removeprefix('src/squareone/')}:{mutant.line} "
            f"| `{_cell(mutant.before)}` | `{_cell(mutant.after)}` "
            f"| {outcome.tests} + {outcome.thorough_tests} "
            f"| {outcome.verdict} | {by} | {outcome.seconds:.0f} |"
        )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
