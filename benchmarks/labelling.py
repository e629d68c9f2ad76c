"""How long a person waits for ``squareone label``: ``python -m benchmarks.labelling [rows]``.

A table of texts is made and the page started in a process of its own. It is answered over HTTP, and
then by keys in a browser, about as fast as a person could, while the learner works. Told are the
seconds to the first question, the milliseconds from an answer to its confirmation and to the next
question, those from the press of a key to the next row and to the confirmation by the clock of the
page, and the memory of both processes against what is planned for them.

A run of a million rows writes ``results/labelling.md``, any other ``results/labelling-partial.md``.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from benchmarks.report import RESULTS, conditions, environment
from squareone.labelling.pool_features import feature_budget
from tools.browser import missing, open_browser

ROWS = 1_000_000
WORDS = 20_000  # of a vocabulary with the frequencies of language
LONG = 60  # words in a text
ANSWERS = 200
PAUSE = 0.2  # seconds between answers: a person is not faster
MEMORY = "1GiB"  # that features may take
FIRST = 10.0  # seconds to the first question, to reach
_NOTES = """\
Rows are texts of {words} words by Zipf's law, one in ten of a rare class; {answers} answers over
HTTP, then {answers} by keys in a browser without a window, {pause} s after each other, while the
learner works in its process. **Key to the next row** is from the event of the key to the change of
the page, before it is painted; **key to the confirmation** is to the response that says that the
answer is on the disk. **Planned** for the process that learns is what the process of the page takes
at most, which reads the same table, and `--memory {memory}` for features.
"""


def write_table(path, rows, seed=0):
    """Texts (rows,) of words by Zipf's law, of which those of one class have some of their own."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{number}" for number in range(WORDS)])
    shares = 1.0 / np.arange(1, WORDS + 1)
    shares /= shares.sum()
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        for start in range(0, rows, 10_000):
            count = min(10_000, rows - start)
            words = rng.choice(WORDS, (count, LONG), p=shares)
            own = rng.random(count) < 0.1
            words[own, :8] = rng.integers(100, 160, (int(own.sum()), 8))
            writer.writerows([" ".join(line)] for line in vocabulary[words])


def label_of(text):
    """Whether it has words of the rare class."""
    own = sum(100 <= int(word[1:]) < 160 for word in text.split())
    return "yes" if own >= 6 else "no"


def memory_of(process):
    """Bytes at most of a process and its children, as the system counts them."""
    numbers = [process.pid]
    numbers += [
        int(child)
        for file in Path(f"/proc/{process.pid}/task").glob("*/children")
        for child in file.read_text().split()
    ]
    found = {}
    for number in numbers:
        text = Path(f"/proc/{number}/status").read_text()
        found[number] = int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) * 1024
    return list(found.values())


def quantiles(values):
    low, high = np.quantile(np.array(values) * 1000, [0.5, 0.95])
    return f"median {low:.1f} ms, 95th percentile {high:.1f} ms"


@dataclass
class Seen:
    """Lines of the table: what was measured, what came out, what is to be reached, and whether."""

    lines: list[tuple[str, str, str, str]] = field(default_factory=list)

    def add(self, what, seen, to_reach="–", met=None):
        print(f"{what}: {seen}", flush=True)
        self.lines.append((what, seen, to_reach, {True: "yes", False: "no", None: "–"}[met]))

    def table(self):
        head = ("what", "seen", "to reach", "met?")
        rows = [head, ("---",) * len(head), *self.lines]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def run(rows):
    seen = Seen()
    about = environment(int(os.environ.get("OMP_NUM_THREADS", "2"))) | {"shrink": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.csv"
        write_table(path, rows)
        seen.add("table", f"{rows:,} rows, {path.stat().st_size / 2**20:,.0f} MiB")
        began = time.perf_counter()
        command = [sys.executable, "-m", "squareone", "label", str(path), "--text", "body"]
        page = subprocess.Popen(
            [*command, "--labels", "yes,no", "--no-browser", "--memory", MEMORY],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            answer_over_http(next_link(page), began, seen)
            page.stdin.write("\n")
            page.stdin.flush()
            answer_by_keys(next_link(page), seen)
            compare_memory(page, seen)
        finally:
            page.terminate()
            page.wait()
    write(rows, about, seen)


def next_link(page):
    """The link that the page says next on its terminal."""
    return next(filter(None, (re.search(r"http://\S+", line) for line in page.stderr))).group()


def answer_over_http(link, began, seen):
    origin, token = re.match(r"(http://[^/]+)/enter#(\S+)", link).groups()
    own = {"Sec-Fetch-Site": "same-origin", "Origin": origin, "X-Squareone": "1"}
    with httpx.Client(base_url=origin, headers=own, trust_env=False, timeout=120) as http:
        assert http.post("/enter", content=token).status_code == 204

        def post(what, **body):
            response = http.post(f"/api/{what}", content=json.dumps({"tab": "t", **body}))
            response.raise_for_status()
            return response.json()

        confirmed, waited, ahead = [], [], []
        while not ahead:
            ahead += post("next", wanted=3)["questions"]
        first = time.perf_counter() - began
        seen.add("first question", f"{first:.1f} s", f"{FIRST:g} s", first <= FIRST)
        for number in range(ANSWERS):
            question = ahead.pop(0)
            label = label_of(question["text"])
            start = time.perf_counter()
            told = {"question": question["question"], "row": question["row"], "uuid": f"a{number}"}
            post("answer", kind="answer", label=label, **told)
            confirmed.append(time.perf_counter() - start)
            start = time.perf_counter()
            while not ahead:
                found = post("next", wanted=3)
                ahead += found["questions"]
                if found["pause"] and found["pause"]["kind"] == "ended":
                    break
                if not ahead:
                    time.sleep(0.01)
            waited.append(time.perf_counter() - start)
            if not ahead:
                break
            time.sleep(PAUSE)
        seen.add("over HTTP: answer to its confirmation", quantiles(confirmed))
        seen.add("over HTTP: confirmation to the next question", quantiles(waited))
        post("leave")  # what was fetched ahead is asked in the browser


# Milliseconds from each press of a key to the next row, and to the confirmation.
_TIMES = """
const of = (name) => performance.getEntriesByName(name);
const shown = of('shown').map((each) => each.startTime);
return [
  of('pressed').map((key) => (shown.find((each) => each >= key.startTime) ?? NaN) - key.startTime),
  of('confirmed').map((each) => each.duration),
];
"""
_READY = """
const row = document.getElementById('row'), label = document.querySelector('#labels button');
return row && !row.hidden && label && !label.disabled
  && document.getElementById('text').textContent;
"""


def answer_by_keys(link, seen):
    """Answer in the page itself, whose marks say when a key was pressed and a row was shown."""
    from selenium.webdriver.common.action_chains import ActionChains

    with open_browser() as browser:
        browser.get(link)
        for _ in range(ANSWERS):
            text = wait_for(browser, _READY)
            if text is None:  # the rule asks nothing more
                break
            key = "1" if label_of(text) == "yes" else "2"
            ActionChains(browser, duration=0).send_keys(key).perform()
            time.sleep(PAUSE)
        wait_for(browser, "return document.getElementById('saved').textContent === 'all saved'")
        next_row, confirmed = browser.execute_script(_TIMES)
    known = [ms / 1000 for ms in next_row if ms is not None]
    seen.add(
        f"in the page: key to the next row ({len(known)} of {len(next_row)} keys)",
        quantiles(known),
    )
    seen.add("in the page: key to the confirmation", quantiles([ms / 1000 for ms in confirmed]))


def wait_for(browser, script, seconds=60):
    """What a script gives once that is something; None where it does not come."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := browser.execute_script(script):
            return found
        time.sleep(0.01)
    return None


def compare_memory(page, seen):
    """The process that learns reads what that of the page reads, and has features beside."""
    here, *children = memory_of(page)
    learner = max(children)  # another child of the page keeps count of what they share
    planned = here + feature_budget(MEMORY)
    seen.add("memory of the page, at most", f"{here / 2**20:,.0f} MiB")
    seen.add(
        "memory of the process that learns, at most",
        f"{learner / 2**20:,.0f} MiB",
        f"planned: {planned / 2**20:,.0f} MiB",
        learner <= planned,
    )


def write(rows, about, seen):
    whole = rows == ROWS
    path = RESULTS / ("labelling.md" if whole else "labelling-partial.md")
    command = "python -m benchmarks.labelling" + ("" if whole else f" {rows}")
    notes = _NOTES.format(words=LONG, answers=ANSWERS, pause=PAUSE, memory=MEMORY)
    path.write_text(
        f"# How long a person waits for a page to label\n\n`{command}`, {conditions(about)}\n\n"
        f"{seen.table()}\n\n{notes}",
        encoding="utf-8",
    )
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=ROWS)
    arguments = parser.parse_args()
    if missing():
        sys.exit(missing())
    run(arguments.rows)
