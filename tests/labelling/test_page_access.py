"""Page access: what is refused, by an application that is asked directly and over a socket."""

import json
import socket
import threading
import time

import httpx
import pytest
import uvicorn

from squareone.labelling import Question, Session
from squareone.labelling.page_access import HEADERS, Access
from squareone.labelling.page_server import PageServer
from squareone.labelling.serving import listening_socket, redirect_file

from .conftest import mails

#: Headers of requests of the page itself; the origin is set once its port is known.
OWN = {"Sec-Fetch-Site": "same-origin", "X-Squareone": "1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The page of a session on a port of its own, in this process."""
    path = tmp_path_factory.mktemp("access") / "a.db"
    table = {"body": [text for text, _ in mails(60)]}
    bound = listening_socket()
    with Session(table, path, text="body", labels=["spam", "ham"]) as session:
        page = PageServer(session, Access(bound.getsockname()[1]), title="mails")
        config = uvicorn.Config(
            page.app,
            access_log=False,
            log_level="critical",
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        OWN["Origin"] = page.access.origin
        yield page
        running.should_exit = True
        thread.join(10)
    bound.close()


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.access.origin, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def known(server, client):
    """A client with a cookie."""
    token = server.access.new_token()
    response = client.post("/enter", content=token, headers=OWN)
    assert response.status_code == 204
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(server.access.cookie_name + "=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Domain" not in cookie
    return client


def test_a_token_works_once(server, client):
    token = server.access.new_token()
    assert client.post("/enter", content="wrong", headers=OWN).status_code == 403
    assert client.post("/enter", content=token, headers=OWN).status_code == 204
    again = client.post("/enter", content=token, headers=OWN)
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def test_a_token_grows_old(monkeypatch):
    access = Access(8000)
    token = access.new_token()
    later = time.monotonic() + 601
    monkeypatch.setattr("time.monotonic", lambda: later)
    assert access.exchange(token) is None


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/calls.js", "/api/state", "/api/export/labels.csv"]
)
def test_nothing_is_shown_without_a_cookie(client, path):
    for cookie in ({}, {"Cookie": "squareone_0=x"}):
        response = client.get(path, headers=OWN | cookie)
        assert response.status_code == 403
        assert "spam" not in response.text


def test_what_is_open_to_all_says_nothing_of_the_session(client):
    for path in ("/enter", "/enter.js", "/page.css", "/icon.svg"):
        response = client.get(path)
        assert response.status_code == 200
        assert "mails" not in response.text


@pytest.mark.parametrize(
    "host", ["localhost:8000", "evil.example:8000", "127.0.0.1", "127.0.0.1:80"]
)
def test_another_host_is_refused(known, host):
    assert known.get("/", headers={"Host": host}).status_code == 421
    assert known.post("/enter", content="x", headers=OWN | {"Host": host}).status_code == 421


@pytest.mark.parametrize("site", [None, "cross-site", "same-site", "none"])
def test_data_goes_to_the_page_alone(known, site):
    headers = {} if site is None else {"Sec-Fetch-Site": site}
    assert known.get("/api/state", headers=headers).status_code == 403
    assert known.get("/api/state", headers=OWN).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "null"},
        {"Origin": None},
        {"X-Squareone": None},
        {"X-Squareone": "0"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_what_changes_something_comes_from_the_page_alone(server, known, change):
    headers = {name: value for name, value in (OWN | change).items() if value is not None}
    before = server.session.answers.labels.copy()
    response = known.post("/api/label", json={"tab": "t", "label": "new"}, headers=headers)
    assert response.status_code == 403
    assert server.session.answers.labels == before


def test_other_methods_and_large_requests_are_refused(known):
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert known.request(method, "/api/state", headers=OWN).status_code == 405
    large = known.post("/api/label", content=b"x" * 70_000, headers=OWN)
    assert large.status_code == 413


def test_every_response_has_all_headers(known, client):
    for response in (known.get("/"), client.get("/enter"), known.get("/api/state", headers=OWN),
                     known.get("/api/state"), known.get("/nothing")):  # fmt: skip
        for name, value in HEADERS.items():
            assert response.headers[name] == value
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_answers_over_the_page(server, known):
    found = known.post("/api/next", json={"tab": "a", "wanted": 3}, headers=OWN).json()
    assert len(found["questions"]) == 3
    assert all("why" not in question for question in found["questions"])  # audits stay hidden
    first = found["questions"][0]
    body = {"tab": "a", "question": first["question"], "row": first["row"], "uuid": "one"}
    for _ in range(2):  # the same again changes nothing
        told = known.post(
            "/api/answer", json=body | {"kind": "answer", "label": "spam"}, headers=OWN
        )
        assert told.status_code == 200
        assert told.json()["counts"]["labels"]["spam"] == 1
    wrong = known.post("/api/answer", json=body | {"uuid": "two", "kind": "x"}, headers=OWN)
    assert wrong.status_code == 400
    for senseless in (b"", b"[]", b"{", b'{"tab": 1}'):
        response = known.post("/api/answer", content=senseless, headers=OWN)
        assert response.status_code == 400
    undone = known.post("/api/undo", json={"tab": "a", "uuid": "three"}, headers=OWN).json()
    assert undone["question"]["row"] == first["row"]
    known.post("/api/leave", json={"tab": "a"}, headers=OWN)
    again = known.post("/api/next", json={"tab": "b", "wanted": 3}, headers=OWN).json()
    rows = {question["row"] for question in again["questions"]}
    assert rows == {question["row"] for question in found["questions"]}


def test_a_file_that_cannot_be_written_is_said(server, known):
    question = known.post("/api/next", json={"tab": "c", "wanted": 1}, headers=OWN).json()[
        "questions"
    ][0]
    journal = server.session.journal
    pages = journal.pragma("page_count")
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    known.post("/api/label", json={"tab": "c", "label": "x" * 200}, headers=OWN)
    body = {"tab": "c", **question, "uuid": "full", "kind": "answer", "label": "spam"}
    responses = []
    for i in range(60):
        responses.append(known.post("/api/answer", json=body | {"uuid": f"full {i}"}, headers=OWN))
        if responses[-1].status_code != 200:
            break
    assert responses[-1].status_code == 507
    assert "disk is full" in responses[-1].json()["error"]
    journal._connection.execute("PRAGMA max_page_count = 100000")
    told = known.post("/api/answer", json=body | {"uuid": f"full {i}"}, headers=OWN)
    assert told.status_code == 200


def test_a_reserved_row_is_refused_and_not_shown(server, known):
    row = next(iter(server.session.audit_places)) + 1
    body = {"tab": "d", "row": row, "why": "link"}
    response = known.post("/api/ask", json=body, headers=OWN)
    assert response.status_code == 409
    assert server.session.cells(row - 1)["body"] not in response.text
    assert known.get(f"/api/guess?question=x&row={row}", headers=OWN).json() == {"guess": None}
    assert known.get(f"/api/history?row={row}", headers=OWN).json()["events"] == []


def test_rows_that_measure_do_not_give_themselves_away(server, known):
    """Rows of the rule, of the audit and repeats answer alike, until they are answered."""
    session = server.session
    learned = [p for p in range(session.identities.n) if p not in session.audit_places]
    for place in learned[:4]:  # so that there are guesses, and something to repeat
        session.answer(session.ask(place, "link"), "spam" if place % 2 else "ham")
    tab = server._tab({"tab": "blind"})
    audit = session.audit_order[0].item()
    session.bring_in({audit: "ham"}, "somebody")
    asked = [(audit, "audit"), (learned[0], "repeat"), *((p, "rule") for p in learned[1:])]
    guesses = {}
    for place, why in asked:
        question = Question(f"{why}{place}", place, why, {})
        tab.questions[question.name] = session._questions[question.name] = question
        said = known.get(f"/api/history?row={place + 1}", headers=OWN)
        assert (said.status_code, said.json()["events"]) == (200, [])
        query = f"question={question.name}&row={place + 1}"
        guess = known.get(f"/api/guess?{query}", headers=OWN)
        assert guess.status_code == 200
        guesses.setdefault(why, []).append(guess.json()["guess"])
        del tab.questions[question.name], session._questions[question.name]
    assert guesses["audit"] == guesses["repeat"] == [None]
    none = guesses["rule"].count(None)
    assert 0 < none < len(guesses["rule"]) / 3
    # once they were answered, or opened by their number, it is shown what was said
    assert known.get(f"/api/history?row={learned[0] + 1}", headers=OWN).json()["events"]


def test_predicted_negatives_over_the_page(server, known):
    session = server.session
    for place in session.order[-4:].tolist():
        session.answer(session.ask(place, "link"), "spam" if place % 2 else "ham")
    session.answer(session.ask(session.order[-1].item(), "link"), "ham")
    session.answer(session.ask(session.order[-2].item(), "link"), "spam")
    for senseless in ({}, {"label": "egg"}, {"label": 5}):
        response = known.post("/api/negatives", json={"tab": "n", **senseless}, headers=OWN)
        assert response.status_code == 400
    left = known.post("/api/negatives", json={"tab": "n", "label": "spam"}, headers=OWN).json()
    body = {"tab": "n", "wanted": 2, "negatives_of": "spam"}
    found = known.post("/api/next", json=body, headers=OWN).json()
    assert len(found["questions"]) == min(left["left"], 2)
    assert all("why" not in question for question in found["questions"])
    (look,) = known.get("/api/figures", headers=OWN).json()["negatives"]
    assert (look["label"], look["asked"], look["share"]) == ("spam", 0, None)
    wrong = known.post("/api/next", json=body | {"negatives_of": []}, headers=OWN)
    assert wrong.status_code == 400
    known.post("/api/leave", json={"tab": "n"}, headers=OWN)


@pytest.mark.parametrize("wanted", ["null", "[]", "{}", "1e999", "-1e999", '"x"', "1.5"])
def test_a_number_of_rows_that_is_none_is_refused(known, wanted):
    body = f'{{"tab": "w", "wanted": {wanted}}}'
    assert known.post("/api/next", content=body, headers=OWN).status_code == 400


def test_a_body_that_is_too_deep_is_refused(known):
    assert known.post("/api/next", content="[" * 60_000, headers=OWN).status_code == 400


# --- over a socket ---


@pytest.fixture
def port(server):
    return server.access.port


def spoken(port, text):
    """What is answered to bytes, as they are."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(text.encode())
        connection.settimeout(5)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
        except TimeoutError:
            pass
    return found.decode("latin-1")


def test_raw_requests(server, port):
    end = "Connection: close\r\n\r\n"
    own = f"Host: 127.0.0.1:{port}\r\n"
    cases = {
        f"GET / HTTP/1.1\r\n{end}": ("400", "421"),  # no host
        f"GET / HTTP/1.1\r\nHost: evil.example\r\n{end}": ("421",),
        f"GET / HTTP/1.1\r\n{own}Host: evil.example\r\n{end}": ("400", "421"),
        f"GET http://evil.example/ HTTP/1.1\r\n{own}{end}": ("403", "404", "421"),
        f"GET /../app.js HTTP/1.1\r\n{own}{end}": ("403",),
        f"GET /%2e%2e/journal.py HTTP/1.1\r\n{own}{end}": ("403",),
        f"GET / HTTP/1.1\r\n{own}{end}": ("403",),
        f"POST /enter HTTP/1.1\r\n{own}Origin: http://127.0.0.1:{port}\r\nX-Squareone: 1\r\n"
        f"Sec-Fetch-Site: same-origin\r\nTransfer-Encoding: chunked\r\n{end}0\r\n\r\n": ("413",),
    }
    for request, expected in cases.items():
        answer = spoken(port, request)
        assert answer.split(" ")[1] in expected, (request, answer[:100])
        assert "server: " not in answer.lower() or "uvicorn" in answer  # the headers of Guard only
        assert "spam" not in answer
    token = server.access.new_token()
    head = (
        f"POST /enter HTTP/1.1\r\n{own}Origin: http://127.0.0.1:{port}\r\nX-Squareone: 1\r\n"
        f"Sec-Fetch-Site: same-origin\r\nContent-Length: {len(token)}\r\n{end}"
    )
    answer = spoken(port, head + token)
    assert answer.split(" ")[1] == "204"
    cookie = next(x for x in answer.split("\r\n") if x.lower().startswith("set-cookie"))
    pair = cookie.partition(": ")[2].partition(";")[0]
    state = spoken(
        port,
        f"GET /api/state HTTP/1.1\r\n{own}Sec-Fetch-Site: same-origin\r\nCookie: {pair}\r\n{end}",
    )
    assert json.loads(state.partition("\r\n\r\n")[2])["title"] == "mails"


def test_it_listens_on_the_loopback_address_alone(port):
    with listening_socket() as bound:
        assert bound.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match=f"port {port} cannot be had"), listening_socket(port):
        pass


def test_the_file_that_opens_the_page_is_for_its_owner(tmp_path):
    link = Access(8000).link()
    path = redirect_file(link, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert link in path.read_text()
