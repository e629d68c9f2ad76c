"""Page access: who may talk to the page of a labelling session, which is one browser of its user.

The page listens on the loopback address, where every program and every web page that a browser of
the machine has open can send requests. A link with a token that works once is exchanged for a
cookie that scripts cannot read; requests for data have to come from the page itself, to exactly the
host that was asked for, and those that change something have to say so in a header that other
origins cannot set.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

__all__ = ["HEADERS", "OWN_HEADER", "Access", "Guard"]

#: A header that no form and no plain request of another origin has.
OWN_HEADER = "x-squareone"
#: Headers of every response.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Seconds for which a link can be used; and how large the body of a request may be.
_LINK_SECONDS, _MOST_BYTES = 600.0, 65_536
# How much of a refused request is read, and for how many seconds.
_MOST_PASSED_OVER, _PATIENCE = 1_048_576, 1.0
_SAFE = ("GET", "HEAD")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Access:
    """Tokens of links, and the cookies that they were exchanged for.

    Parameters
    ----------
    port : int
        On which the page listens.

    Examples
    --------
    >>> from squareone.labelling.page_access import Access
    >>> access = Access(8000)
    >>> token = access.new_token()
    >>> cookie = access.exchange(token)
    >>> access.allows(f"{access.cookie_name}={cookie}"), access.exchange(token)
    (True, None)
    """

    def __init__(self, port: int) -> None:
        self.port = port
        # browsers send cookies of one port to all others of a host: a name that is not there yet
        self.cookie_name = f"squareone_{secrets.token_hex(8)}"
        self._tokens: dict[str, float] = {}
        self._cookies: list[str] = []
        self._mutex = threading.Lock()

    @property
    def host(self) -> str:
        """The one host that requests may be sent to."""
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        """The origin of the page."""
        return f"http://{self.host}"

    def new_token(self) -> str:
        """A token that works once, for ten minutes."""
        token = secrets.token_urlsafe(32)
        with self._mutex:
            self._tokens[token] = time.monotonic() + _LINK_SECONDS
        return token

    def link(self) -> str:
        """A fresh link. What follows # is not sent to anybody, and in no log."""
        return f"{self.origin}/enter#{self.new_token()}"

    def exchange(self, token: str) -> str | None:
        """A cookie for a token; None where it was used, is too old or never was one."""
        now = time.monotonic()
        with self._mutex:
            for known, until in list(self._tokens.items()):
                if until < now:
                    del self._tokens[known]
                elif hmac.compare_digest(known.encode(), token.encode()):
                    del self._tokens[known]
                    cookie = secrets.token_urlsafe(32)
                    self._cookies.append(cookie)
                    return cookie
        return None

    def allows(self, header: str) -> bool:
        """Whether a cookie header has a cookie that was given out."""
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name:
                with self._mutex:
                    return any(
                        hmac.compare_digest(value.encode(), cookie.encode())
                        for cookie in self._cookies
                    )
        return False

    def set_cookie(self, value: str) -> str:
        """The header that sets a cookie."""
        return f"{self.cookie_name}={value}; Path=/; HttpOnly; SameSite=Strict"


class Guard:
    """An application that lets requests through to another one, or refuses them.

    Parameters
    ----------
    app : callable
        ASGI.
    access : Access
    public : iterable of str
        Paths that can be read without a cookie; they show nothing of the session.
    exchange : str
        The path that takes tokens.
    """

    def __init__(self, app: Any, access: Access, public: Iterable[str], exchange: str) -> None:
        self.app, self.access = app, access
        self.public, self.exchange = frozenset(public), exchange

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope["method"], scope["path"], scope["headers"])
        if refusal is not None:
            await _pass_over(receive)
            await _refuse(send, *refusal)
            return
        await self.app(scope, receive, _with_headers(send))

    def refusal(
        self, method: str, path: str, raw: Iterable[tuple[bytes, bytes]]
    ) -> tuple[int, str] | None:
        """The status and the words with which a request is refused; None where it is not."""
        headers: dict[str, list[str]] = {}
        for name, value in raw:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

        def one(name: str) -> str | None:
            values = headers.get(name, [])
            return values[0] if len(values) == 1 else None

        if one("host") != self.access.host:
            return 421, "another host is expected"
        if method not in (*_SAFE, "POST"):
            return 405, "this method is not used here"
        length = one("content-length") or ("0" if "content-length" not in headers else "x")
        if not length.isdigit() or int(length) > _MOST_BYTES or "transfer-encoding" in headers:
            return 413, "the request is too large"
        data = path.startswith("/api/") or method == "POST"
        if data and one("sec-fetch-site") != "same-origin":
            return 403, "only the page itself may ask for this"
        if method == "POST" and (one("origin") != self.access.origin or one(OWN_HEADER) != "1"):
            return 403, "only the page itself may do this"
        open_to_all = (path in self.public and method in _SAFE) or (
            path == self.exchange and method == "POST"
        )
        if not open_to_all and not self.access.allows("; ".join(headers.get("cookie", []))):
            return 403, (
                "This page is for the browser that was opened with it. Press Enter in the terminal "
                "where squareone label runs: it shows a link that works once."
            )
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            names = {name for name, _ in own}
            rest = [pair for pair in message.get("headers", []) if pair[0].lower() not in names]
            message["headers"] = rest + own
        await send(message)

    return sending


async def _pass_over(receive: Receive) -> None:
    """Read what is left of a request: a connection closed before may take the answer with it."""
    seen = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while seen <= _MOST_PASSED_OVER:
                message = await receive()
                seen += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


async def _refuse(send: Send, status: int, text: str) -> None:
    sending = _with_headers(send)
    body = text.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what is left of the body is not read
    ]
    await sending({"type": "http.response.start", "status": status, "headers": headers})
    await sending({"type": "http.response.body", "body": body})
