"""``squareone label``: a page on which a person gives the labels that are worth their time."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from ..atomic_write import replacing
from ..errors import TableFileError
from ..labelling.brought_labels import brought_labels, read_labelled
from ..labelling.journal import back_up, network_folder
from ..labelling.label_exports import EXPORTS, write_export
from ..labelling.learner_process import LearnerProcess, LearnerTable
from ..labelling.pool_features import feature_budget
from ..labelling.session import Session
from ..planning.available_memory import readable
from ..rows.table_reader import TableFile, read_table, stem_of
from .console import Console
from .outputs import check_outputs
from .table_problem import READING, counted, open_table

__all__ = ["run"]

_MOST_INSTRUCTIONS = 200_000
# Different values of a column of labels at most: more are no classes.
_MOST_CLASSES = 200


def run(path: str, options: dict[str, Any], console: Console) -> None:
    """The command."""
    if path == "-":
        msg = "labels stay beside their table: the name of a file is expected, not -"
        raise ValueError(msg)
    journal = Path(options.get("labels_file") or f"{path}.labels.db")
    if options.get("backup"):
        back_up(journal, options["backup"])
        console.say(f"wrote {options['backup']}: all that was saved until now")
        console.give("label", {"backup": options["backup"]})
        return
    wanted = [Path(name) for name in options.get("export") or ()]
    for each in wanted:
        _export_kind(each)
    check_outputs(wanted, force=options["force"], inputs=[Path(path), journal])
    instructions = _instructions(options.get("instructions"))
    file = open_table(path, options, words=_words(options))
    n, d = file.table.shape
    console.say(f"{file.name}: {counted(n, 'row')}, {counted(d, 'column')} ({file.said()})")
    kind = network_folder(journal.absolute().parent)
    if kind is not None:
        console.note(
            f"{journal} is on a folder of another machine ({kind}), whose locks may not hold: "
            "label on a disk of this machine, or make sure that nobody else has it open"
        )
    labels, column = _labels(file, options.get("labels"))
    with _session(path, file, journal, labels, column, options, bool(wanted)) as session:
        found = _brought(session, options, console)
        for note in session.notes:
            console.note(note)
        if wanted:
            found |= _exported(session, wanted, console)
        if wanted or options.get("no_page"):
            console.give("label", {"file": str(journal), "labels": session.counts(), **found})
            return
        _check_classes(session)
        _show(session, file.name, instructions, options, console)


def _session(
    path: str,
    file: TableFile,
    journal: Path,
    labels: list[str],
    column: str | None,
    options: dict[str, Any],
    here: bool,
) -> Session:
    """The session, with a learner of its own process unless it ends soon."""
    columns = [name.strip() for name in (options.get("columns") or "").split(",") if name.strip()]
    budget = feature_budget(options.get("memory"))
    reading = {name: options.get(name) for name in READING}

    def learner(session: Session) -> Any:
        read = partial(_table, os.path.abspath(path), reading, _words(options), file.sha256)
        source = LearnerTable(read, session.text, columns, budget)
        return LearnerProcess(source, session.order, session.rule)

    return Session(
        file.table,
        journal,
        text=options.get("text"),
        columns=columns,
        labels=labels,
        label_column=column,
        identifier=options.get("id"),
        strategy=options["strategy"],
        count=options["count"],
        seed=options["seed"],
        annotator=options.get("annotator"),
        memory=options.get("memory"),
        learner=None if here or options.get("no_page") else learner,
    )


def _words(options: dict[str, Any]) -> list[str]:
    """Columns that are to stay text, also where all of it is numbers."""
    names = [options.get("text"), options.get("id"), options.get("labels")]
    return [name for name in names if name]


def _table(path: str, reading: dict[str, Any], words: list[str], sha256: str) -> Any:
    """The table again, for a learner in another process."""
    file = read_table(path, **reading, words=words)
    if file.sha256 != sha256:  # its rows may be others
        raise TableFileError(file.name, "it was changed while it was opened", "start again")
    return file.table


def _labels(file: TableFile, given: str | None) -> tuple[list[str], str | None]:
    """Classes that were named, or a column of the table in which some are."""
    if given is None:
        return [], None
    if given in file.table.column_names:
        values = file.table.column(given).unique().to_pylist()
        if len(values) > _MOST_CLASSES:
            msg = (
                f"column {given!r} has {len(values):,} different values: labels are expected, "
                f"{_MOST_CLASSES} at most"
            )
            raise ValueError(msg)
        return [], given
    return [name.strip() for name in given.split(",") if name.strip()], None


def _check_classes(session: Session) -> None:
    if not session.answers.labels:
        msg = "say which labels there are, as in --labels spam,ham, or name a column that has some"
        raise ValueError(msg)


def _instructions(path: str | None) -> str:
    if path is None:
        return ""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return text[:_MOST_INSTRUCTIONS]


def _brought(session: Session, options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Labels of exports of other programs, and of other people."""
    told: dict[str, Any] = {}
    for path in options.get("import_") or ():
        found = brought_labels(read_labelled(path), session.table, session.text, session.identifier)
        new = session.bring_in(found.labels, os.path.basename(path))
        console.say(
            f"{path}: {counted(new, 'new label')}, {len(found.labels) - new:,} known, "
            f"{found.without:,} without a label that can be taken, {found.unknown:,} of other rows"
        )
        told.setdefault("brought", []).append({"file": path, "new": new})
    for path in options.get("merge") or ():
        merged = session.merge(path)
        console.say(
            f"{path}: {counted(merged['new'], 'new answer')}, {merged['known']:,} known, "
            f"{merged['set_aside']:,} of rows that are not in the table"
        )
        conflicts = len(session.conflicts())
        if conflicts:
            console.note(
                f"people say different things of {counted(conflicts, 'row')}: these are not "
                "learned until they are settled in Review"
            )
        told.setdefault("merged", []).append({"file": path, **merged})
    return told


def _export_kind(path: Path) -> str:
    """Which export a name asks for, by its end."""
    for name in EXPORTS:
        if path.name.endswith(name):
            return name
    msg = f"{path.name}: a name that ends in {', '.join(EXPORTS)} is expected"
    raise ValueError(msg)


def _exported(session: Session, wanted: list[Path], console: Console) -> dict[str, Any]:
    for path in wanted:
        with replacing(path) as file:
            note = write_export(session, _export_kind(path), file)
        console.say(f"wrote {path}")
        if note:
            console.note(note)
    return {"exports": [str(path) for path in wanted]}


def _show(
    session: Session, name: str, instructions: str, options: dict[str, Any], console: Console
) -> None:
    """The page, until it is ended."""
    from ..labelling.serving import listening_socket, serve

    said = ", ".join(f"{label} {count:,}" for label, count in session.counts().items())
    console.say(f"labels: {said}; saved in {session.journal.path}")
    console.detail(f"features may take {readable(feature_budget(options.get('memory')))}")
    serve(
        session,
        listening_socket(options["port"]),
        title=stem_of(name),
        instructions=instructions,
        notes=list(console.notes),
        browser=not options["no_browser"],
        say=console.say,
    )
    console.say(
        f"ended; {counted(session.answers.given, 'answer')} saved in {session.journal.path}"
    )
