"""Serving: the page of a session on a port of the loopback address, until somebody ends it."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import uvicorn

from .page_access import Access
from .page_server import PageServer
from .session import Session

__all__ = ["listening_socket", "redirect_file", "serve"]


def listening_socket(port: int = 0) -> socket.socket:
    """A socket of the loopback address; port 0 is one that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two programs have one port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen(128)
    except OSError as error:
        found.close()
        msg = f"port {port} cannot be had ({error.strerror}): leave out --port, or give another"
        raise OSError(error.errno, msg) from error
    return found


def redirect_file(link: str, folder: str | os.PathLike[str]) -> Path:
    """A page that leads to a link, readable for its owner alone.

    The browser is started with its name, so that no command line, which others can read, has the
    token.
    """
    path = Path(folder) / "open.html"
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><title>squareone label</title>'
            f'<meta http-equiv="refresh" content="0;url={escape(link, quote=True)}">'
        )
    return path


def serve(
    session: Session,
    bound: socket.socket,
    *,
    title: str = "",
    instructions: str = "",
    notes: list[str] | None = None,
    browser: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Show a session as a page until the process is interrupted.

    Parameters
    ----------
    session : Session
    bound : socket
        From :func:`listening_socket`.
    title, instructions, notes
        As in :class:`.PageServer`.
    browser : bool
        Whether to open one.
    say : callable
        Where links go: the terminal.
    """
    access = Access(bound.getsockname()[1])
    page = PageServer(session, access, title=title, instructions=instructions, notes=notes)
    config = uvicorn.Config(
        page.app,
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    with tempfile.TemporaryDirectory(prefix="squareone-") as folder:
        if browser:
            path = redirect_file(access.link(), folder)
            threading.Thread(target=_open, args=(path, say), daemon=True).start()
            say("The page opens in a browser. Enter shows a link for another one, Ctrl-C ends.")
        else:
            say(f"Open {access.link()}")
            say("The link works once, for ten minutes. Enter shows a fresh one, Ctrl-C ends.")
        threading.Thread(target=_links, args=(access, say), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])


def _open(path: Path, say: Callable[[str], None]) -> None:
    if not webbrowser.open(path.as_uri()):
        say("No browser could be opened: Enter shows a link.")


def _links(access: Access, say: Callable[[str], None]) -> None:
    """A fresh link for every line on standard input."""
    stream: Any = sys.stdin
    with suppress(OSError, ValueError):  # there is none, or it is closed
        for _ in iter(stream.readline, ""):
            say(f"Open {access.link()}")
