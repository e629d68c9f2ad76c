"""The page in a browser: labels by keyboard, undo, tabs, panels, screen readers, looks."""

import base64
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from squareone.labelling import Session
from squareone.labelling.journal import read_journal
from squareone.labelling.row_identity import identities_of
from squareone.rows.table_reader import read_table
from tests.browser import CONTRAST
from tools.browser import emulate

from .conftest import Page, write_mails

pytestmark = pytest.mark.thorough

LONG = "word " * 600
HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    write_mails(folder / "mails.csv", 400)
    (folder / "how.md").write_text("# Spam or ham\n\nOffers are spam.")
    return folder


@pytest.fixture(scope="module")
def page(folder):
    """One for most tests, each of which begins with a link of its own."""
    write_mails(folder / "more.csv", 400)
    page = Page(folder / "more.csv", "--instructions", folder / "how.md")
    try:
        yield page
    finally:
        page.end()


def wait(browser, script, seconds=60):
    """Until a script gives something true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, seconds, 0.02).until(
        lambda b: b.execute_script(f"return {script}")
    )


def opened(browser, link):
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(link)
    wait(browser, "location.pathname === '/' && document.querySelectorAll('#labels button').length")
    wait(browser, "!document.getElementById('row').hidden")


def row_shown(browser):
    return int(re.sub(r"\D", "", browser.find_element("id", "row-name").text))


def press(browser, key):
    """A key, and the number of the row that is shown then."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser, duration=0).send_keys(key).perform()


def answered(browser, key):
    """Press a key on a row; until another one is shown."""
    wait(browser, "!document.querySelector('#labels button').disabled")
    before = row_shown(browser)
    press(browser, key)
    wait(browser, f"!document.getElementById('row').hidden && Number(document.getElementById("
                  f"'row-name').textContent.replace(/[^0-9]/g, '')) !== {before}")  # fmt: skip
    return before


def saved(browser):
    wait(browser, "document.getElementById('saved').textContent === 'all saved'")


def no_complaint(browser):
    found = [entry for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    assert found == []


def test_a_hundred_labels_undo_to_the_start_and_resume(browser, folder):
    page = Page(folder / "mails.csv")
    opened(browser, page.link)
    labels = {}
    for _ in range(100):
        row = row_shown(browser)
        labels[row] = "spam" if row % 2 else "ham"
        answered(browser, "1" if row % 2 else "h")
    saved(browser)
    _, events = read_journal(folder / "mails.csv.labels.db")
    given = [event for event in events if event.kind == "answer"]
    assert len(given) == 100
    asked = {event.detail["why"] for event in given}
    assert asked == {"rule", "audit", "repeat"}
    assert sum(event.detail["why"] == "audit" for event in given) == 12
    assert all(event.detail["chance"] == 1.0 for event in given if event.detail["why"] == "rule")
    # the same session in another process
    page.kill()
    again = Page(folder / "mails.csv")
    try:
        opened(browser, again.link)
        assert browser.find_element("id", "count").text.startswith(f"{len(labels)} of 400")
        for _ in range(100):
            wait(browser, "!document.querySelector('#undo').disabled")
            press(browser, "u")
            wait(browser, "document.getElementById('spoken').textContent.startsWith('Undone')")
            browser.execute_script("document.getElementById('spoken').textContent = ''")
        saved_text = browser.find_element("id", "count").text
        assert saved_text.startswith("0 of 400")
        press(browser, "u")
        wait(browser, "document.getElementById('spoken').textContent.includes('nothing to undo')")
    finally:
        again.end()
    no_complaint(browser)


WITHOUT_NETWORK = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    up = struct.pack("16sH14s", b"lo", 1, b"")  # IFF_UP
    fcntl.ioctl(control, 0x8914, up)  # SIOCSIFFLAGS
with open("/proc/net/dev") as file:
    assert [line.split(":")[0].strip() for line in file if ":" in line] == ["lo"]
os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])
"""


def test_all_of_it_works_without_a_network():
    """Labels by keyboard, undo and resume, texts and panels, where there is loopback alone."""
    unshare = shutil.which("unshare")
    if not unshare:
        pytest.skip("nothing that takes the network away")
    tests = ["hundred", "panels", "cells"]
    done = subprocess.run(
        [unshare, "-rn", sys.executable, "-c", WITHOUT_NETWORK, "-q", "-p", "no:cacheprovider",
         "-m", "", __file__, "-k", " or ".join(tests)],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    if "unshare failed" in done.stderr:
        pytest.skip("namespaces are not allowed here")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert re.search(rf"\b{len(tests)} passed", done.stdout), done.stdout[-2000:]


def test_two_tabs_never_show_the_same_row(browser, page):
    opened(browser, page.new_link())
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(f"http://127.0.0.1:{page.port}/")
    wait(browser, "!document.getElementById('row').hidden")
    second = browser.current_window_handle
    seen = []
    for _ in range(5):
        for handle in (first, second):
            browser.switch_to.window(handle)
            seen.append(row_shown(browser))
            answered(browser, "s")
    assert len(set(seen)) == len(seen)
    browser.close()
    browser.switch_to.window(first)
    saved(browser)
    no_complaint(browser)


def test_rows_that_measure_look_like_others(browser, folder):
    """The eighth question is of the audit, the ninth of the rule: until answered, both say this."""
    write_mails(folder / "blind.csv", 200)
    page = Page(folder / "blind.csv")
    try:
        opened(browser, page.link)
        for _ in range(7):
            row = row_shown(browser)
            answered(browser, "1" if row % 2 else "2")
        said = []
        for _ in range(2):
            saved(browser)
            browser.find_element("id", "history").click()
            wait(browser, "document.querySelectorAll('#events li').length")
            said.append(browser.find_element("id", "past").text)
            assert not browser.find_elements("css selector", "#past [role=alert]")
            browser.execute_script("document.getElementById('past').close()")
            answered(browser, "1")
        _, events = read_journal(folder / "blind.csv.labels.db")
        kinds = [event.detail["why"] for event in events if event.kind == "answer"]
        assert kinds[7:9] == ["audit", "rule"]
        assert said[0] == said[1]
        # an undo whose confirmation is lost is sent again, and asks the row that it took back
        undone = [event for event in events if event.kind == "answer"][-1]
        browser.execute_script(
            "const f = window.fetch; let n = 0; window.fetch = async (...a) => { const r = await "
            "f(...a); if (String(a[0]).includes('/undo') && n++ === 0) throw new TypeError('lost');"
            " return r; };"
        )
        saved(browser)
        press(browser, "u")
        wait(browser, "document.getElementById('spoken').textContent.startsWith('Undone')")
        _, events = read_journal(folder / "blind.csv.labels.db")
        assert [e.detail["of"] for e in events if e.kind == "undo"] == [undone.uuid]
        rows = identities_of(read_table(str(folder / "blind.csv"), words=["body"]).table, None)
        assert row_shown(browser) == rows.places_of([undone.row])[undone.row] + 1
    finally:
        page.end()
    no_complaint(browser)


def test_a_rare_class_is_offered_an_audit_of_its_own(browser, folder):
    """Below ten audit rows of a class: search, and rows that the model predicts as another one."""
    write_mails(folder / "rare.csv", 400)
    table = read_table(str(folder / "rare.csv"), words=["body"]).table
    with Session(
        table, folder / "rare.csv.labels.db", text="body", labels=["spam", "ham"]
    ) as session:
        for place in session.order[:6].tolist():  # so few that the rule asks on
            session.answer(session.ask(place, "search"), "spam" if place % 2 else "ham")
        for _ in range(25):
            question = session.next(audit_only=True)
            session.answer(question, "ham" if question.place % 20 else "spam")
    page = Page(folder / "rare.csv")
    try:
        opened(browser, page.link)
        browser.find_element("css selector", "[data-panel=progress]").click()
        wait(browser, "document.querySelectorAll('#figures .rare button').length")
        names = [
            button.get_attribute("aria-label")
            for button in browser.find_elements("css selector", "#figures .rare button")
        ]
        assert names == ["Search for spam", "Audit of predicted negatives of spam"]
        browser.find_element("css selector", "#figures .rare button + button").click()
        wait(browser, "!document.getElementById('mode').hidden")
        wait(browser, "!document.getElementById('row').hidden")
        for _ in range(25):
            answered(browser, "2")
        saved(browser)
        browser.find_element("id", "end-mode").click()
        wait(browser, "document.getElementById('mode').hidden")
        answered(browser, "2")
        saved(browser)
        _, events = read_journal(folder / "rare.csv.labels.db")
        whys = [event.detail["why"] for event in events if event.kind == "answer"]
        assert whys[-26:-1] == ["negatives"] * 25
        assert whys[-1] in ("rule", "audit")
        browser.find_element("css selector", "[data-panel=progress]").click()
        wait(browser, "document.getElementById('figures').textContent.includes('What it misses')")
        text = browser.find_element("id", "figures").text
        assert "Of 25 rows at random" in text
        assert "0 are spam: 0 %, between 0 % and 14 %" in text
        assert "is no part of the accuracy" in text
        for width in (390, 1400):
            emulate(browser, width, "light")
            root = "document.documentElement"
            assert browser.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth")
            assert browser.execute_script(_NAMES) == []
            _keep_picture(browser, f"negatives_{width}")
    finally:
        page.end()
    no_complaint(browser)


def test_panels_keys_and_answers_beside_labels(browser, page):
    opened(browser, page.new_link())
    row = answered(browser, "d")
    press(browser, "?")
    wait(browser, "document.getElementById('help').open")
    assert "Cannot tell" in browser.find_element("id", "help").text
    press(browser, "1")  # no answer while a panel is open
    browser.execute_script("document.getElementById('help').close()")
    press(browser, "g")
    wait(browser, "!document.getElementById('guess').hidden")
    browser.execute_script(f"location.hash = '#row={row}'")
    wait(browser, f"document.getElementById('row-name').textContent.endsWith('Row {row}')")
    assert "cannot tell" in browser.find_element("id", "stands").text
    press(browser, "/")
    wait(browser, "document.getElementById('search').open")
    browser.find_element("id", "words").send_keys("prize")
    wait(browser, "document.querySelectorAll('#search-found button').length")
    browser.find_element("css selector", "#search-found button").click()
    wait(browser, "!document.getElementById('search').open")
    browser.find_element("id", "add").click()
    browser.find_element("id", "label-name").send_keys("other")
    browser.find_element("id", "add-label").click()
    wait(browser, "document.querySelectorAll('#labels button').length === 3")
    for name in ("progress", "review", "files", "instructions"):
        browser.find_element("css selector", f"[data-panel={name}]").click()
        wait(browser, f"document.getElementById('{name}').open")
        wait(browser, f"!document.getElementById('{name}').textContent.includes('Looking …')")
        browser.execute_script(f"document.getElementById('{name}').close()")
    assert "Offers are spam." in browser.execute_script(
        "return document.getElementById('instructions-text').textContent"
    )
    # what went wrong once is not said again of the next row
    browser.execute_script(
        "const f = window.fetch; let n = 0; window.fetch = (...a) => "
        "String(a[0]).includes('/history') && n++ === 0"
        " ? Promise.reject(new TypeError('lost')) : f(...a);"
    )
    for alerts in (1, 0):
        browser.find_element("id", "history").click()
        wait(browser, "document.querySelectorAll('#events li, #past [role=alert]').length")
        assert len(browser.find_elements("css selector", "#past [role=alert]")) == alerts
        browser.execute_script("document.getElementById('past').close()")
    no_complaint(browser)


def test_answers_wait_while_nobody_confirms(browser, page):
    opened(browser, page.new_link())
    wait(browser, "Number(document.body.dataset.ahead) >= 2")
    page.process.send_signal(19)  # stopped: it holds the connection and says nothing
    try:
        for _ in range(3):
            press(browser, "1")
        wait(browser, "!document.getElementById('trouble').hidden")
        assert "not confirmed yet" in browser.find_element("id", "trouble").text
        assert browser.execute_script("return document.querySelector('#labels button').disabled")
        press(browser, "1")
        assert "3 not saved yet" in browser.find_element("id", "saved").text
    finally:
        page.process.send_signal(18)
    saved(browser)
    wait(browser, "document.getElementById('trouble').hidden")


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A page of texts that would break a careless one."""
    path = tmp_path_factory.mktemp("strange") / "mails.csv"
    texts = [HOSTILE, LONG, "=1+1", "a\u202eb", ""] * 8
    path.write_text("body\n" + "\n".join('"' + t.replace('"', '""') + '"' for t in texts) + "\n")
    page = Page(path, labels="<b>bold</b>,ham")
    yield page
    page.end()


def test_cells_are_text(browser, strange):
    opened(browser, strange.new_link())
    seen = set()
    folded = []
    for _ in range(20):
        shown = browser.execute_script("return document.getElementById('text').textContent")
        seen.add(shown)
        folded.append((shown, *_folding(browser)))
        if shown == LONG.strip() and folded[-1][1]:
            press(browser, "f")
            assert _folding(browser) == [False, False, True]
        answered(browser, "s")
    assert HOSTILE in seen
    # long texts are cut off until one asks for all, and short ones never
    long = [rest for text, *rest in folded if text.strip() == LONG.strip()]
    assert long
    assert all(rest == [True, True, False] for rest in long)
    assert all(rest == [False, False, True] for text, *rest in folded if len(text) < 1500)
    assert "broken" not in browser.title
    assert browser.find_element("css selector", "#labels button span").text == "<b>bold</b>"
    assert not browser.find_elements("css selector", "#text *, #labels b")
    no_complaint(browser)


def _folding(browser):
    """Whether the text is folded, there is a button for all of it, and all of it is seen."""
    return browser.execute_script(
        "const t = document.getElementById('text'), b = document.getElementById('unfold');"
        "return [t.classList.contains('folded'), b.checkVisibility(),"
        " t.scrollHeight <= t.clientHeight];"
    )


# What another page of the machine may try, with the cookie of the page in its browser.
ATTACK = Path(__file__).with_name("hostile.html")


@pytest.fixture
def hostile(page):
    """The address of a page on another port of the loopback address."""
    text = ATTACK.read_text().replace("TARGET", f"http://127.0.0.1:{page.port}").encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_hostile_page_on_another_port_gets_nothing(browser, page, hostile):
    opened(browser, page.new_link())
    before = browser.execute_script("return document.getElementById('labels').textContent")
    browser.get(hostile)
    tried = wait(browser, "window.tried")
    assert {name: said for name, said in tried.items() if said not in ("refused", "")} == {}
    assert set(tried) == {"read", "blind", "change", "plain", "script", "picture"}
    browser.switch_to.frame("frame")
    assert not browser.find_elements("id", "labels")
    browser.switch_to.default_content()
    browser.get(f"http://127.0.0.1:{page.port}/")  # the cookie is still good, nothing has changed
    wait(browser, "document.querySelectorAll('#labels button').length")
    after = browser.execute_script("return document.getElementById('labels').textContent")
    assert after == before
    browser.get_log("browser")  # the refusals


_NAMES = """
const unnamed = [];
for (const e of document.querySelectorAll('button, input, dialog, a, article, section, nav')) {
  if (!e.checkVisibility()) continue;
  const label = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent
    || document.getElementById(e.getAttribute('aria-labelledby'))?.textContent;
  if (!label || !label.trim()) unnamed.push(e.outerHTML.slice(0, 80));
}
return unnamed;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_it_looks_right(browser, page, width, scheme):
    emulate(browser, width, scheme)
    opened(browser, page.new_link())
    for _ in range(2):
        answered(browser, "1")
    names = [None, "help", "progress", "search", "review", "files"]
    for name in names:
        if name:
            browser.find_element("css selector", f"[data-panel={name}]").click()
            wait(browser, f"!document.getElementById('{name}').textContent.includes('Looking …')")
        root = "document.documentElement"
        inner, outer = browser.execute_script(f"return [{root}.scrollWidth, {root}.clientWidth]")
        assert inner <= outer <= width, "it scrolls sideways"
        assert browser.execute_script(_NAMES) == []
        ratio, where = browser.execute_script(CONTRAST)
        assert ratio >= 4.5, where
        _keep_picture(browser, f"{name or 'row'}_{width}_{scheme}")
        if name:
            browser.execute_script(f"document.getElementById('{name}').close()")
    emulate(browser, 1400, "light")
    no_complaint(browser)


def _keep_picture(browser, name):
    folder = os.environ.get("SQUAREONE_SCREENSHOTS")
    if folder:
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {})
        with open(os.path.join(folder, f"label_{name}.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
