"""Journal: nothing that was confirmed is lost, nothing is written twice, nobody else writes."""

import os
import random
import sqlite3
import subprocess
import sys
import time

import pytest

from squareone.errors import JournalError
from squareone.labelling.journal import Journal, back_up, network_folder, read_journal

ROW = (b"k" * 16, 0, b"c" * 16)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.db"


def test_settings_are_the_safe_ones(path):
    with Journal(path) as journal:
        assert journal.pragma("journal_mode") == "delete"
        assert journal.pragma("synchronous") == 2  # FULL
        assert journal.pragma("trusted_schema") == 0
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(ValueError, match="pragma"):
            journal.pragma("a; DROP TABLE events")


def test_events_stay_and_repeats_change_nothing(path):
    with Journal(path, "ann") as journal:
        first = journal.append("answer", uuid="u", row=ROW, label="x", detail={"why": "rule"})
        assert journal.append("answer", uuid="u", row=ROW, label="y") == first
        journal.append("undo", detail={"of": "u"})
        events = journal.events()
        assert [event.kind for event in events] == ["answer", "undo"]
        assert events[0].row == ROW
        assert events[0].annotator == "ann"
        assert journal.events(after=1) == events[1:]
    with sqlite3.connect(path) as connection:
        for change in ("UPDATE events SET label = 'z'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="events stay"):
                connection.execute(change)


def test_several_events_are_written_or_none(path):
    with Journal(path) as journal:
        events = [
            {"kind": "answer", "label": "a"},
            {"kind": "answer", "detail": {"x": float("nan")}},
        ]
        with pytest.raises(ValueError, match="JSON"):
            journal.append_many(events)
        assert journal.events() == []
        journal.append("answer", label="b")
        assert len(journal.events()) == 1


def test_a_second_start_is_told_who_holds_it(path):
    with Journal(path):
        with pytest.raises(JournalError, match=f"in use by process {os.getpid()}"):
            Journal(path)
        _, events = read_journal(path)  # reading is free
        assert events == []
    with Journal(path):
        pass


def test_a_lock_that_is_a_link_is_not_followed(path, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    lock = path.with_name(path.name + ".lock")
    lock.symlink_to(precious)
    with pytest.raises(JournalError, match="remove that link"):
        Journal(path)
    assert precious.read_text() == "do not touch"
    lock.unlink()
    Journal(path).close()


def test_what_is_no_journal_is_refused(tmp_path, path):
    text = tmp_path / "text.db"
    text.write_text("This is not a database at all. " * 100)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE a (b)")
    for wrong in (text, other):
        before = wrong.read_bytes()
        with pytest.raises(JournalError, match="no file of a labelling session"):
            Journal(wrong)
        with pytest.raises(JournalError, match="no file of a labelling session"):
            read_journal(wrong)
        assert wrong.read_bytes() == before
    Journal(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="later version"):
        Journal(path)
    with pytest.raises(FileNotFoundError):
        read_journal(tmp_path / "none.db")


def test_a_copy_while_it_is_in_use(path, tmp_path):
    with Journal(path) as journal:
        journal.append("answer", row=ROW, label="x")
        back_up(path, tmp_path / "copy.db")
        journal.append("answer", row=ROW, label="y")
        with pytest.raises(FileExistsError):
            back_up(path, tmp_path / "copy.db")
    _, events = read_journal(tmp_path / "copy.db")
    assert [event.label for event in events] == ["x"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.glob(".*part"))) == 0


def test_a_full_disk_is_said_and_nothing_is_half_written(path):
    with Journal(path) as journal:
        journal.append("answer", row=ROW, label="x")
        pages = journal.pragma("page_count")
        journal._connection.execute(f"PRAGMA max_page_count = {pages}")
        events = [{"kind": "answer", "row": ROW, "label": "long" * 200}] * 100
        with pytest.raises(JournalError, match="disk is full"):
            journal.append_many(events)
        assert [event.label for event in journal.events()] == ["x"]
        journal._connection.execute("PRAGMA max_page_count = 100000")
        journal.append("answer", row=ROW, label="y")
        assert [event.label for event in journal.events()] == ["x", "y"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_file_that_cannot_be_written_is_said(path):
    Journal(path).close()
    path.chmod(0o400)
    with pytest.raises(JournalError, match="cannot be written"), Journal(path) as journal:
        journal.append("answer", label="x")


def test_network_folders_are_known():
    mounts = "\n".join(
        [
            "disk / ext4 rw 0 0",
            "server:/home /home nfs4 rw 0 0",
            "disk2 /home/ann/local\\040disk xfs rw 0 0",
            "ann@host:/ /mnt/host fuse.sshfs rw 0 0",
        ]
    )
    assert network_folder("/tmp/a.db", mounts) is None
    assert network_folder("/home/bob/a.db", mounts) == "nfs4"
    assert network_folder("/homework/a.db", mounts) is None
    assert network_folder("/home/ann/local disk/a.db", mounts) is None
    assert network_folder("/mnt/host/x", mounts) == "fuse.sshfs"


_WRITER = """
import sys
from squareone.labelling.journal import Journal
with Journal(sys.argv[1]) as journal:
    number = len(journal.events())
    while True:
        row = (number.to_bytes(16, "big"), 0, b"")
        event = journal.append("answer", uuid=f"u{number}", row=row, label="x")
        sys.stdout.write(f"{event.uuid}\\n")
        sys.stdout.flush()
        number += 1
"""


@pytest.mark.thorough
def test_what_was_confirmed_is_there_after_kill(path):
    """Twenty times, at random moments, each going on with the file of the last."""
    draw = random.Random(0)
    confirmed = set()
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        confirmed.add(writer.stdout.readline().strip())
        time.sleep(draw.uniform(0.0, 0.15))
        writer.kill()
        confirmed |= {line.strip() for line in writer.stdout if line.endswith("\n")}
        writer.wait()
        writer.stdout.close()
        with Journal(path) as journal:
            found = {event.uuid for event in journal.events()}
            assert confirmed <= found
            assert journal.pragma("integrity_check") == "ok"
    assert len(confirmed) >= 40
