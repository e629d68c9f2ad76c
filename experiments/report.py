"""What every experiment shares: its options, and the Markdown table it writes."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.report import environment
from experiments import THREADS
from experiments.data import source

RESULTS = Path(__file__).parent / "results"


def parser(description: str, sets: Iterable[str] = ()) -> argparse.ArgumentParser:
    """Return a parser that knows ``--quick`` and, where there are several sets, ``--only``."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument(
        "--quick",
        action="store_true",
        help="a few hundred rows: shows that everything runs, not what it reaches",
    )
    if names := list(sets):
        result.add_argument("--only", nargs="+", choices=names, default=names, help="these sets")
    return result


class Report:
    """A table in ``results/<name>.md``, written again after each row: a stopped run keeps its rows.

    Parameters
    ----------
    name : str
        Of the experiment. A quick run writes ``<name>-quick.md``, and one of some sets only
        ``<name>-partial.md``, so that neither replaces the figures of a whole run.
    title : str
    header : sequence of str
    notes : str
        How to read the table.
    quick, partial : bool
    data : str, optional
        Where the data comes from, if it is not where ``data.py`` takes it from.
    """

    def __init__(
        self,
        name: str,
        title: str,
        header: Iterable[str],
        notes: str,
        *,
        quick: bool,
        partial: bool = False,
        data: str | None = None,
    ) -> None:
        self.quick = quick
        self.stem = f"{name}-quick" if quick else f"{name}-partial" if partial else name
        self._title = title
        self._notes = notes
        self._header = tuple(header)
        self._rows: list[tuple[str, ...]] = []
        self._conditions = _conditions(name, source() if data is None else data)

    def add(self, *cells: str) -> None:
        """Add a row, print it and write the file; cells that are left out are empty."""
        row = cells + ("",) * (len(self._header) - len(cells))
        self._rows.append(row)
        print("; ".join(f"{key}: {cell}" for key, cell in zip(self._header, row, strict=True)))
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.stem}.md").write_text(self._markdown(), encoding="utf-8")

    def save(self, figure: Any, part: str) -> None:
        """Write a matplotlib figure beside the table, as ``<name>-<part>.png``."""
        RESULTS.mkdir(exist_ok=True)
        figure.savefig(RESULTS / f"{self.stem}-{part}.png", dpi=130)

    def to_reach(self, value: float, limit: float) -> str:
        """Return the limit and whether the value keeps it; a quick run is not judged."""
        verdict = "–" if self.quick else "yes" if value <= limit else "no"
        return f"≤ {limit:.4g}: {verdict}"

    def _markdown(self) -> str:
        lines = [self._header, ("---",) * len(self._header), *self._rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        warning = "A few hundred rows only: not a result.\n\n" if self.quick else ""
        # the documentation includes what stands between the marks
        table = f"<!-- table -->\n\n{table}\n\n<!-- notes -->"
        return f"# {self._title}\n\n{warning}{self._conditions}\n\n{table}\n\n{self._notes}\n"


def _conditions(name: str, data: str) -> str:
    command = " ".join([f"python -m experiments.{name}", *sys.argv[1:]])
    about = environment(THREADS)
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    return (
        f"`{command}`, {about['date']}; {THREADS} threads on {about['cores']} cores, load "
        f"{about['load_at_start']} at the start; Python {about['python']}, {packages}; data from "
        f"{data}."
    )
