"""Tables to label, pages that are served in processes of their own, and a browser."""

import csv
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser import chromium

pytest.importorskip("pyarrow")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SPAM, HAM = "cheap offer win prize click money", "meeting report lunch project team review"


def mails(n=200, seed=0):
    """Texts (n), and whether each is spam."""
    draw = random.Random(seed)
    found = []
    for i in range(n):
        spam = draw.random() < 0.4
        words = draw.choices((SPAM if spam else HAM).split(), k=8) + draw.choices(
            ["the", "of", "to"], k=4
        )
        draw.shuffle(words)
        found.append((f"{' '.join(words)} {i}", spam))
    return found


def write_mails(path, n=200, seed=0):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        writer.writerows([text] for text, _ in mails(n, seed))
    return path


def truth(text):
    """The label of a mail."""
    return "spam" if any(word in text for word in SPAM.split()) else "ham"


class Page:
    """``squareone label`` in a process of its own."""

    def __init__(self, table, *options, labels="spam,ham", user=()):
        command = [*user, sys.executable, "-m", "squareone", "label", str(table), "--text", "body"]
        command += ["--labels", labels, "--no-browser", *map(str, options)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = []
        self.link = self._link()
        self.port = int(re.search(r":(\d+)/", self.link).group(1))

    def _link(self):
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/enter#\S+", line):
                return found.group(0)
        raise AssertionError("".join(self.said))

    def new_link(self):
        """Enter in the terminal."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._link()

    def kill(self):
        self.process.kill()
        self._end()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(2)
        self._end()

    def _end(self):
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Client:
    """What the page does, without a browser."""

    def __init__(self, page):
        import httpx

        self.origin = f"http://127.0.0.1:{page.port}"
        self.headers = {"Sec-Fetch-Site": "same-origin", "Origin": self.origin, "X-Squareone": "1"}
        self.http = httpx.Client(base_url=self.origin, timeout=60, trust_env=False)
        token = page.link.partition("#")[2]
        response = self.http.post("/enter", content=token, headers=self.headers)
        assert response.status_code == 204, response.text

    def get(self, what, **query):
        return self.http.get(f"/api/{what}", params=query, headers=self.headers)

    def post(self, what, **body):
        body = {"tab": "t", **body}
        return self.http.post(f"/api/{what}", content=json.dumps(body), headers=self.headers)

    def next(self):
        """The next question, once there is one."""
        for _ in range(200):
            found = self.post("next", wanted=1).json()
            if found["questions"]:
                return found["questions"][0]
            if found["pause"]["kind"] == "ended":
                return None
            time.sleep(0.05)
        raise AssertionError(found)

    def close(self):
        self.http.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture
def table(tmp_path):
    """mails.csv in a folder of its own."""
    return write_mails(Path(tmp_path) / "mails.csv")
