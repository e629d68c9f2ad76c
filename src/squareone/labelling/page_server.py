"""Page server: the page of a session, and what it asks for, as an application of Starlette."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..errors import JournalError, ReservedRowError
from .label_exports import EXPORTS, export_file
from .learner_process import LearnerError
from .page_access import Access, Guard
from .session import Pause, Question, Session

__all__ = ["PageServer"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: Files that say nothing of a session: what exchanges the token of a link for a cookie.
PUBLIC = ("/enter", "/enter.js", "/page.css", "/icon.svg")
# Rows that a tab may hold, and seconds after which one that is silent loses them.
_HELD, _SILENT = 6, 600.0
# Suspicious rows that are shown.
_SUSPECTS = 20


class RequestError(ValueError):
    """What the page asked for makes no sense."""


@dataclass
class _Tab:
    questions: dict[str, Question] = field(default_factory=dict)
    seen: float = field(default_factory=time.monotonic)


class PageServer:
    """A session, seen by browsers.

    Parameters
    ----------
    session : Session
    access : Access
    title : str
        What is labelled: the name of the table.
    instructions : str
        Text for who labels.
    notes : list of str
        What is to be known, shown once.

    Attributes
    ----------
    app : callable
        ASGI.
    """

    def __init__(
        self,
        session: Session,
        access: Access,
        *,
        title: str = "",
        instructions: str = "",
        notes: list[str] | None = None,
    ) -> None:
        self.session, self.access = session, access
        self.title, self.instructions, self.notes = title, instructions, notes or []
        self._tabs: dict[str, _Tab] = {}
        self._mutex = threading.Lock()
        self.app = Guard(self._starlette(), access, PUBLIC, "/enter")

    def _starlette(self) -> Starlette:
        pages = {"/": "index.html", "/enter": "enter.html"}
        page = files("squareone.labelling").joinpath("page")
        for entry in page.iterdir():
            if entry.name not in pages.values() and Path(entry.name).suffix in _TYPES:
                pages[f"/{entry.name}"] = entry.name
        routes = [Route(path, _static(page.joinpath(name))) for path, name in pages.items()]
        routes.append(Route("/enter", self._enter, methods=["POST"]))
        for name, handler in self._handlers().items():
            method, path = name.split(" ")
            routes.append(Route(f"/api/{path}", _endpoint(handler), methods=[method]))
        routes.append(Route("/api/export/{name}", self._export, methods=["GET"]))
        return Starlette(routes=routes)

    def _handlers(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "GET state": self._state,
            "GET figures": self._figures,
            "GET guess": self._guess,
            "GET search": self._search,
            "GET suspects": self._suspects,
            "GET conflicts": self._conflicts,
            "GET history": self._history,
            "POST next": self._next,
            "POST answer": self._answer,
            "POST undo": self._undo,
            "POST label": self._label,
            "POST ask": self._ask,
            "POST negatives": self._draw,
            "POST leave": self._leave,
        }

    async def _enter(self, request: Request) -> Response:
        """A token for a cookie."""
        token = (await request.body()).decode("ascii", "replace")
        cookie = self.access.exchange(token)
        if cookie is None:
            return PlainTextResponse("this link was used, or is too old", 403)
        return Response(status_code=204, headers={"set-cookie": self.access.set_cookie(cookie)})

    # --- what is asked ---

    def _tab(self, given: dict[str, Any]) -> _Tab:
        name = _text(given, "tab", 64)
        now = time.monotonic()
        with self._mutex:
            tab = self._tabs.setdefault(name, _Tab())
            tab.seen = now
            silent = [key for key, each in self._tabs.items() if now - each.seen > _SILENT]
            gone = [self._tabs.pop(key) for key in silent]
        for each in gone:
            for question in each.questions.values():
                self.session.give_back(question)
        return tab

    def _next(self, given: dict[str, Any]) -> dict[str, Any]:
        tab = self._tab(given)
        wanted = given.get("wanted", 1)
        if not isinstance(wanted, int):
            msg = f"wanted: a number of rows up to {_HELD} is expected"
            raise RequestError(msg)
        wanted = min(wanted, _HELD - len(tab.questions))
        negatives = None
        if given.get("negatives_of") is not None:
            negatives = _text(given, "negatives_of", 200)
        found = []
        pause = None
        for _ in range(max(wanted, 0)):
            question = self.session.next(
                audit_only=bool(given.get("audit_only")), negatives_of=negatives
            )
            if isinstance(question, Pause):
                pause = asdict(question)
                break
            tab.questions[question.name] = question
            found.append(self._shown(question))
        return {"questions": found, "pause": pause, "failed": self._failed()}

    def _failed(self) -> str | None:
        return getattr(self.session.learner, "failed", None)

    def _shown(self, question: Question) -> dict[str, Any]:
        """A question as the page shows it, which does not tell what is an audit row or a repeat."""
        cells = self.session.cells(question.place)
        text = None
        if self.session.text is not None:
            value = cells.pop(self.session.text)
            text = "" if value is None else str(value)
        return {
            "question": question.name,
            "row": question.place + 1,
            "text": text,
            "fields": [[name, "" if v is None else str(v)] for name, v in cells.items()],
            "review": question.why == "review",
        }

    def _answer(self, given: dict[str, Any]) -> dict[str, Any]:
        tab = self._tab(given)
        name, uuid = _text(given, "question", 64), _text(given, "uuid", 64)
        kind = given.get("kind")
        question = tab.questions.pop(name, None) or self._of_before(given)
        try:
            if kind == "answer":
                self.session.answer(question, _text(given, "label", 200), uuid=uuid)
            elif kind == "skip":
                self.session.skip(question, uuid=uuid)
            elif kind == "cannot_tell":
                self.session.cannot_tell(question, uuid=uuid)
            else:
                msg = f"kind {kind!r}: answer, skip or cannot_tell is expected"
                raise RequestError(msg)
        except (ValueError, JournalError):
            tab.questions[name] = question  # nothing was said
            raise
        return {"saved": uuid, "counts": self._counts()}

    def _of_before(self, given: dict[str, Any]) -> Question:
        """A question of before this process began, or of a tab that was silent."""
        place = _row(given, self.session)
        why = "audit" if place in self.session.audit_places else "again"
        return Question(_text(given, "question", 64), place, why, {})

    def _undo(self, given: dict[str, Any]) -> dict[str, Any]:
        tab = self._tab(given)
        question = self.session.undo(uuid=_text(given, "uuid", 64))
        if question is None:
            return {"question": None, "counts": self._counts()}
        tab.questions[question.name] = question
        return {"question": self._shown(question), "counts": self._counts()}

    def _ask(self, given: dict[str, Any]) -> dict[str, Any]:
        tab = self._tab(given)
        why = given.get("why")
        if why not in ("search", "link", "review"):
            msg = f"why {why!r}: search, link or review is expected"
            raise RequestError(msg)
        place = _row(given, self.session)
        question = self.session.ask(place, str(why))
        tab.questions[question.name] = question
        stands = self.session.standing(place)
        return {"question": self._shown(question), "stands": stands}

    def _leave(self, given: dict[str, Any]) -> dict[str, Any]:
        """A tab is closed: what it holds can be asked elsewhere."""
        with self._mutex:
            tab = self._tabs.pop(_text(given, "tab", 64), None)
        for question in tab.questions.values() if tab else ():
            self.session.give_back(question)
        return {}

    def _draw(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"left": self.session.draw_negatives(_text(given, "label", 200))}

    def _label(self, given: dict[str, Any]) -> dict[str, Any]:
        self.session.add_label(_text(given, "label", 200))
        return self._state({})

    # --- what is known ---

    def _counts(self) -> dict[str, Any]:
        answers = self.session.answers
        return {"given": answers.given, "labels": self.session.counts()}

    def _state(self, given: dict[str, Any]) -> dict[str, Any]:
        return {
            "title": self.title,
            "labels": list(self.session.answers.labels),
            "instructions": self.instructions,
            "notes": self.notes + self.session.notes,
            "rows": self.session.identities.n,
            "exports": list(EXPORTS),
            "counts": self._counts(),
        }

    def _figures(self, given: dict[str, Any]) -> dict[str, Any]:
        return asdict(self.session.figures())

    def _guess(self, given: dict[str, Any]) -> dict[str, Any]:
        name = _text(given, "question", 64)
        with self._mutex:
            found = [t.questions[name] for t in self._tabs.values() if name in t.questions]
        # a question of before this process began may be a repeat
        guess = self.session.guess_for(found[0]) if found else None
        return {"guess": None if guess is None else asdict(guess)}

    def _found(self, places: list[int]) -> list[dict[str, Any]]:
        found = []
        for place in places:
            cells = self.session.cells(place)
            shown = (
                cells[self.session.text]
                if self.session.text
                else " · ".join(map(str, cells.values()))
            )
            found.append(
                {
                    "row": place + 1,
                    "text": " ".join(str(shown or "").split())[:300],
                    "stands": self.session.standing(place),
                }
            )
        return found

    def _search(self, given: dict[str, Any]) -> dict[str, Any]:
        places, total = self.session.search(_text(given, "words", 200))
        return {"found": self._found(places), "total": total}

    def _suspects(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"found": self._found(self.session.suspects(_SUSPECTS))}

    def _conflicts(self, given: dict[str, Any]) -> dict[str, Any]:
        said = self.session.conflicts()
        found = self._found(list(said))
        for each, people in zip(found, said.values(), strict=True):
            each["people"] = people
        return {"found": found}

    def _history(self, given: dict[str, Any]) -> dict[str, Any]:
        place = _row(given, self.session)
        events = [
            {"time": e.time, "annotator": e.annotator, "kind": e.kind, "label": e.label}
            for e in self.session.shown_history(place)
        ]
        return {"row": place + 1, "events": events}

    async def _export(self, request: Request) -> Response:
        """A file of labels, predictions, events or the model."""
        name = request.path_params["name"]
        if name not in EXPORTS:
            return JSONResponse({"error": "there is no such file"}, 404)
        try:
            made = await run_in_threadpool(export_file, self.session, name, self.title)
        except _REFUSED as error:
            return JSONResponse({"error": str(error)}, 409)
        return FileResponse(
            made.path,
            media_type="application/octet-stream",
            filename=made.name,
            headers={"x-squareone-note": made.note.encode("ascii", "replace").decode()},
            background=made.cleanup(),
        )


_REFUSED = (ValueError, LearnerError, MemoryError, ImportError)


def _static(entry: Any) -> Callable[[Request], Response]:
    def give(request: Request) -> Response:
        kind = _TYPES[Path(entry.name).suffix]
        return Response(entry.read_bytes(), media_type=kind)

    return give


def _endpoint(handler: Callable[[dict[str, Any]], Any]) -> Any:
    """A function of what was sent, in a thread of its own: saving waits for the disk."""

    async def answer(request: Request) -> Response:
        if request.method == "POST":
            try:
                given = json.loads(await request.body())
            except (ValueError, RecursionError):
                given = None
            if not isinstance(given, dict):
                return JSONResponse({"error": "an object of JSON is expected"}, 400)
        else:
            given = dict(request.query_params)
        try:
            found = await run_in_threadpool(handler, given)
        except ReservedRowError as error:
            return JSONResponse({"error": str(error)}, 409)
        except JournalError as error:
            return JSONResponse({"error": str(error)}, 507)
        except LearnerError as error:
            return JSONResponse({"error": str(error)}, 503)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse(found)

    return answer


def _text(given: dict[str, Any], name: str, most: int) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= most:
        msg = f"{name}: a text of 1 to {most} characters is expected"
        raise RequestError(msg)
    return value


def _row(given: dict[str, Any], session: Session) -> int:
    value = str(given.get("row", ""))
    if not (value.isascii() and value.isdigit()) or not 1 <= int(value) <= session.identities.n:
        msg = f"row: a number from 1 to {session.identities.n} is expected"
        raise RequestError(msg)
    return int(value) - 1
