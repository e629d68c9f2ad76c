"""Journal: the file of a labelling session, an append-only list of events that nothing loses.

SQLite with a rollback journal and ``synchronous=FULL``: an event that was confirmed is on the disk.
Rows are known by hashes; no text of a cell is in the file, except labels and names that people
gave. One process at a time writes, and holds a lock of the operating system; others may read.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import JournalError

__all__ = ["Event", "Journal", "network_folder", "new_identifier", "read_journal"]

#: Of the tables in the file.
SCHEMA = 1
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    occurrence INTEGER NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (key, occurrence, content)
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    time REAL NOT NULL,
    annotator TEXT NOT NULL,
    kind TEXT NOT NULL,
    row INTEGER REFERENCES rows (id),
    label TEXT,
    detail TEXT NOT NULL
);
CREATE TABLE openings (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time REAL NOT NULL,
    keys BLOB NOT NULL,
    contents BLOB NOT NULL
);
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events stay'); END;
CREATE TRIGGER none_goes BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events stay'); END;
"""
# File systems that other machines serve; locks and fsync may not hold there.
_NETWORK = frozenset(
    {
        "9p",
        "afs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.davfs2",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    }
)
_MOUNTS = Path("/proc/self/mounts")
# What an event of another file may have at most: characters, bytes, and the seconds of year 9999.
_LONGEST_NAME, _LONGEST_DETAIL, _LONGEST_LOOK = 200, 4_000, 1_000_000
_LONGEST_ANNOTATOR, _LONGEST_HASH, _LATEST, _LARGEST = 1_000, 64, 253_402_300_800, 2**63


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes
    ----------
    number : int
        Its place, from 1 on.
    uuid : str
        The identifier that the page gave it: the same one again changes nothing.
    time : float
        Seconds since 1970.
    annotator : str
    kind : str
        "answer", "skip", "cannot_tell", "undo", "label_added", "imported", "look" or "drawn".
    row : tuple (key, occurrence, content) or None
        The row, as :mod:`.row_identity` knows it.
    label : str or None
    detail : dict
    """

    number: int
    uuid: str
    time: float
    annotator: str
    kind: str
    row: tuple[bytes, int, bytes] | None
    label: str | None
    detail: dict[str, Any]


def new_identifier() -> str:
    """A name for an event that no other has."""
    return str(uuid.uuid4())


class Journal:
    """The file of a session, open for writing.

    Parameters
    ----------
    path : path
        Made where it is not there, readable for its owner alone.
    annotator : str, optional
        Who answers; by default the name of the account.

    Raises
    ------
    JournalError
        Where somebody else holds it, or it is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from squareone.labelling.journal import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(folder + "/a.labels.db", "ann") as journal:
    ...         first = journal.append("answer", row=(b"k", 0, b"c"), label="spam")
    ...         again = journal.append("answer", uuid=first.uuid, row=(b"k", 0, b"c"), label="ham")
    ...         (first == again, [event.label for event in journal.events()])
    (True, ['spam'])
    """

    def __init__(self, path: str | os.PathLike[str], annotator: str | None = None) -> None:
        self.path = Path(os.fsdecode(path))
        self.annotator = _account() if annotator is None else annotator
        self._mutex = threading.Lock()
        self._lock = _Lock(self.path)
        try:
            self._connection = self._open()
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> sqlite3.Connection:
        try:
            if not self.path.exists():
                # made with its mode, so that nobody can look in between
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise _failure(self.path, error) from error
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if not version and not tables:
                connection.executescript(f"BEGIN;{_TABLES}PRAGMA user_version = {SCHEMA};COMMIT;")
            else:
                check_schema(connection, self.path)
        except sqlite3.Error as error:
            connection.close()
            raise _failure(self.path, error) from error
        except JournalError:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Let go of the file, and of the lock."""
        with self._mutex:
            self._connection.close()
            self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- writing ---

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it on the disk when the block ends, or nothing."""
        with self._mutex:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise _failure(self.path, error) from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite may have done so itself
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def append(
        self,
        kind: str,
        *,
        uuid: str | None = None,
        row: tuple[bytes, int, bytes] | None = None,
        label: str | None = None,
        detail: Mapping[str, Any] | None = None,
        annotator: str | None = None,
        time: float | None = None,
    ) -> Event:
        """An event, on the disk when this returns; the one that is there where it is a repeat."""
        found = self.append_many(
            [
                {
                    "kind": kind,
                    "uuid": uuid,
                    "row": row,
                    "label": label,
                    "detail": detail,
                    "annotator": annotator,
                    "time": time,
                }
            ]
        )
        return found[0]

    def append_many(self, events: Sequence[Mapping[str, Any]]) -> list[Event]:
        """Events in one transaction, with the arguments of :meth:`append`."""
        with self._transaction() as connection:
            return [self._append(connection, **each) for each in events]

    def _append(
        self,
        connection: sqlite3.Connection,
        kind: str,
        uuid: str | None = None,
        row: tuple[bytes, int, bytes] | None = None,
        label: str | None = None,
        detail: Mapping[str, Any] | None = None,
        annotator: str | None = None,
        time: float | None = None,
    ) -> Event:
        name = new_identifier() if uuid is None else uuid
        known = connection.execute(f"{_EVENTS} WHERE events.uuid = ?", (name,)).fetchone()
        if known is not None:
            return _event(known)
        place = None if row is None else _row_id(connection, row)
        when = _now() if time is None else time
        who = self.annotator if annotator is None else annotator
        more = dict(detail or {})
        cursor = connection.execute(
            "INSERT INTO events (uuid, time, annotator, kind, row, label, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, when, who, kind, place, label, json.dumps(more, allow_nan=False)),
        )
        return Event(int(cursor.lastrowid or 0), name, when, who, kind, row, label, more)

    def set_facts(self, facts: Mapping[str, Any]) -> None:
        """What holds for all of the session, such as its seed."""
        pairs = [(name, json.dumps(value, allow_nan=False)) for name, value in facts.items()]
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", pairs)

    def note_table(self, keys: bytes, contents: bytes) -> None:
        """The rows of the table as it was opened."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM openings")
            connection.execute(
                "INSERT INTO openings (time, keys, contents) VALUES (?, ?, ?)",
                (_now(), keys, contents),
            )

    # --- reading ---

    def events(self, after: int = 0) -> list[Event]:
        """All of them in their order, or those after a number."""
        with self._mutex:
            return _read_events(self._connection, after)

    def facts(self) -> dict[str, Any]:
        """What :meth:`set_facts` wrote."""
        with self._mutex:
            return _read_facts(self._connection, self.path)

    def last_table(self) -> tuple[bytes, bytes] | None:
        """What :meth:`note_table` wrote last."""
        with self._mutex:
            return _last_table(self._connection)

    def pragma(self, name: str) -> Any:
        """A setting of SQLite, for tests and for who wants to know."""
        if not name.isidentifier():
            msg = f"{name!r}: the name of a pragma is expected"
            raise ValueError(msg)
        with self._mutex:
            return self._connection.execute(f"PRAGMA {name}").fetchone()[0]


# --- reading a file that somebody else may write ---


def read_journal(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Event]]:
    """Facts and events of a file, which is opened for reading alone and is not trusted.

    Raises
    ------
    JournalError
        Where an event is not what a session writes: such a file could not be read again from
        within another one.
    """
    found = Path(os.fsdecode(path))
    with _reader(path) as connection:
        return _read_facts(connection, found), [
            _event(each) for each in _checked(connection, found)
        ]


def last_table_of(path: str | os.PathLike[str]) -> tuple[bytes, bytes] | None:
    """What :meth:`Journal.note_table` wrote last into a file that somebody else may write."""
    with _reader(path) as connection:
        return _last_table(connection)


def _checked(connection: sqlite3.Connection, path: Path) -> Iterator[Sequence[Any]]:
    """Events as they are in a file, each of which is as a session writes it."""
    for found in connection.execute(f"{_EVENTS} ORDER BY events.number"):
        wrong = _wrong_about(*found)
        if wrong:
            msg = (
                f"{path}: event {found[0]!r} has {wrong}: the file is damaged or was changed by "
                "something else, and nothing was taken from it; ask for a copy by --backup"
            )
            raise JournalError(msg)
        yield found


def _wrong_about(
    number: Any, name: Any, when: Any, who: Any, kind: Any, label: Any, detail: Any,
    key: Any, occurrence: Any, content: Any,
) -> str:  # fmt: skip
    """What of an event no session writes, in words; empty where all is well."""
    if not isinstance(number, int):
        return "a number that is none"
    texts = {"identifier": name, "annotator": who, "kind": kind, "label": label or ""}
    for what, text in texts.items():
        most = _LONGEST_ANNOTATOR if what == "annotator" else _LONGEST_NAME
        if not isinstance(text, str) or len(text) > most:
            return f"as {what} no text of {most:,} characters at most"
    if not (isinstance(when, float | int) and 0 <= when < _LATEST):
        return "a time that is none"
    if key is not None and not (
        _is_hash(key) and _is_hash(content) and isinstance(occurrence, int) and occurrence >= 0
    ):
        return "a row that is none"
    return _wrong_about_detail(kind, detail)


def _wrong_about_detail(kind: str, detail: Any) -> str:
    most = _LONGEST_LOOK if kind == "look" else _LONGEST_DETAIL
    if not isinstance(detail, str) or len(detail) > most:
        return f"no detail of {most:,} characters at most"
    try:
        found = json.loads(detail, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return "a detail that is no JSON"
    if not isinstance(found, dict):
        return "a detail that is no object"
    if kind != "look" and any(isinstance(value, dict | list) for value in found.values()):
        return "a detail of several parts"
    numbers = [found.get(name, 0) for name in ("walk", "at", "seen", "question", "chance")]
    numbers += [value for value in found.values() if isinstance(value, float | int)]
    if not all(isinstance(each, float | int) and abs(each) < _LARGEST for each in numbers):
        return "a detail with a number that is none, or too large"
    if kind == "look" and not isinstance(found.get("rows"), int):
        return "a look without rows"
    return ""


def _is_hash(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) <= _LONGEST_HASH


def _refuse(name: str) -> Any:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def back_up(path: str | os.PathLike[str], copy: str | os.PathLike[str]) -> None:
    """A copy of a session's file, also while another process answers; it is not replaced."""
    target = Path(os.fsdecode(copy))
    if target.exists():
        msg = f"{target} exists: give another name for the copy"
        raise FileExistsError(msg)
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with _reader(path) as source:
            made = sqlite3.connect(unfinished)
            try:
                source.backup(made)
            finally:
                made.close()
        os.link(unfinished, target)  # refused where the name is there by now
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _reader(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    found = Path(os.fsdecode(path))
    if not found.is_file():
        msg = f"{found}: there is no such file"
        raise FileNotFoundError(msg)
    try:
        connection = sqlite3.connect(f"{found.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    except sqlite3.Error as error:
        raise _failure(found, error) from error
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        check_schema(connection, found)
        yield connection
    except sqlite3.Error as error:
        raise _failure(found, error) from error
    finally:
        connection.close()


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files that are something else, or of a later version."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    if not {"facts", "rows", "events", "openings"} <= {name for (name,) in names} or not version:
        msg = f"{path}: this is no file of a labelling session; give another name"
        raise JournalError(msg)
    if version > SCHEMA:
        msg = f"{path}: it was written by a later version of squareone, which can read it"
        raise JournalError(msg)


_EVENTS = (
    "SELECT events.number, events.uuid, events.time, events.annotator, events.kind, events.label, "
    "events.detail, rows.key, rows.occurrence, rows.content "
    "FROM events LEFT JOIN rows ON rows.id = events.row"
)


def _read_events(connection: sqlite3.Connection, after: int) -> list[Event]:
    query = f"{_EVENTS} WHERE events.number > ? ORDER BY events.number"
    return [_event(found) for found in connection.execute(query, (after,))]


def _read_facts(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    found = connection.execute("SELECT * FROM facts").fetchall()
    try:
        return {name: json.loads(value) for name, value in found}
    except (ValueError, TypeError, RecursionError) as error:
        msg = f"{path}: its facts are no JSON: the file is damaged, or was changed"
        raise JournalError(msg) from error


def _last_table(connection: sqlite3.Connection) -> tuple[bytes, bytes] | None:
    query = "SELECT keys, contents FROM openings ORDER BY number DESC LIMIT 1"
    found = connection.execute(query).fetchone()
    return None if found is None else (found[0], found[1])


def _event(found: Sequence[Any]) -> Event:
    number, name, when, who, kind, label, detail, key, occurrence, content = found
    row = None if key is None else (bytes(key), int(occurrence), bytes(content))
    return Event(number, name, when, who, kind, row, label, json.loads(detail))


def _row_id(connection: sqlite3.Connection, row: tuple[bytes, int, bytes]) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO rows (key, occurrence, content) VALUES (?, ?, ?)", row
    )
    query = "SELECT id FROM rows WHERE key = ? AND occurrence = ? AND content = ?"
    return int(connection.execute(query, row).fetchone()[0])


def _now() -> float:
    return time.time()


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return "somebody"


def _failure(path: Path, error: Exception) -> JournalError:
    """What SQLite or the system says, in words of people."""
    said = str(error)
    if "full" in said or getattr(error, "errno", None) == 28:
        return JournalError(f"{path}: the disk is full, and nothing was written: make room")
    # SQLite says so where it cannot make its rollback journal in the folder
    unopened = "unable to open database file" in said
    if "readonly" in said or "read-only" in said or unopened or isinstance(error, PermissionError):
        return JournalError(
            f"{path}: it cannot be written to, and nothing was: look at its mode, "
            "and at that of its folder"
        )
    if "not a database" in said or "malformed" in said:
        return JournalError(f"{path}: this is no file of a labelling session, or it is damaged")
    if "locked" in said:
        return JournalError(f"{path}: another program holds it: close that, and try again")
    return JournalError(f"{path}: {said}")


# --- one process at a time ---


class _Lock:
    """A lock of the operating system beside the file, which ends with the process."""

    def __init__(self, path: Path) -> None:
        name = path.with_name(path.name + ".lock")
        # a link that somebody planted would have another file emptied
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._handle = os.open(name, flags, 0o600)
        except OSError as error:
            if name.is_symlink():
                msg = f"{name}: the lock is a link to another file: remove that link"
                raise JournalError(msg) from error
            raise _failure(path, error) from error
        try:
            _take(self._handle)
        except OSError as error:
            os.lseek(self._handle, 0, os.SEEK_SET)
            holder = os.read(self._handle, 400).decode(errors="replace").strip()
            os.close(self._handle)
            by = f" by {holder}" if holder else ""
            msg = (
                f"{path} is in use{by}: go on there, or end that first. --backup makes a copy of "
                "it while it is in use"
            )
            raise JournalError(msg) from error
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        said = f"process {os.getpid()} of {_account()} on {socket.gethostname()}, since {since}"
        with suppress(OSError):  # on a full disk it holds all the same
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.ftruncate(self._handle, 0)
            os.write(self._handle, said.encode())

    def release(self) -> None:
        """It stays, empty: whoever removed it could hold one that others do not see."""
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
        os.close(self._handle)


def _take(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)  # what is locked cannot be read: far behind the text
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def network_folder(path: str | os.PathLike[str], mounts: str | None = None) -> str | None:
    r"""The kind of file system a file is on where another machine serves it; None elsewhere.

    Parameters
    ----------
    path : path
    mounts : str, optional
        What is mounted, as in /proc/self/mounts; by default that.

    Examples
    --------
    >>> from squareone.labelling.journal import network_folder
    >>> network_folder("/home/ann/a.db", "disk / ext4 rw 0 0\nserver:/h /home nfs4 rw 0 0")
    'nfs4'
    """
    found = os.path.realpath(os.fsdecode(path))
    if found.startswith("\\\\"):
        return "a share of Windows"
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(errors="replace")
        except OSError:
            return None
    best, kind = "", None
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ").rstrip("/")
        # what was mounted last on one place is what is seen there
        if (found + "/").startswith(point + "/") and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind if kind in _NETWORK else None
