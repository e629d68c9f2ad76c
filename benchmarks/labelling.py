"""How long a person waits for ``squareone label``: ``python -m benchmarks.labelling [rows]``.

A table of texts is made, the page started in a process of its own, and answered over HTTP as fast
as it goes, while the learner works. Told are the seconds to the first question, the milliseconds
from an answer to its confirmation and to the next question, and the memory of both processes.
"""

import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

WORDS = 20_000  # of a vocabulary with the frequencies of language
LONG = 60  # words in a text
ANSWERS = 200


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


def run(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.csv"
        write_table(path, rows)
        print(f"{rows:,} rows, {path.stat().st_size / 2**20:,.0f} MiB", flush=True)
        began = time.perf_counter()
        command = [sys.executable, "-m", "squareone", "label", str(path), "--text", "body"]
        page = subprocess.Popen(
            [*command, "--labels", "yes,no", "--no-browser"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            link = next(filter(None, (re.search(r"http://\S+", line) for line in page.stderr)))
            answer_all(page, link.group(), began)
        finally:
            page.terminate()
            page.wait()


def answer_all(page, link, began):
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
        print(f"first question after {time.perf_counter() - began:.1f} s", flush=True)
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
                    print(found["pause"]["text"])
                    break
                if not ahead:
                    time.sleep(0.01)
            waited.append(time.perf_counter() - start)
            if not ahead:
                break
            time.sleep(0.2)  # a person is not faster
        print("answer to confirmation:", quantiles(confirmed))
        print("answer to the next question:", quantiles(waited))
        peaks = [f"{bytes_ / 2**20:,.0f} MiB" for bytes_ in memory_of(page)]
        print(f"at most in memory, page and learner: {', '.join(peaks)}")
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"(this program: {own:,.0f} MiB)")


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
