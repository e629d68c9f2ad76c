"""Seconds of fits on a GPU: ``python -m benchmarks.gpu --device cuda``.

Absolute times: a GPU is one machine's alone, and there is nothing on it to compare with in the same
run. The digits of MNIST and the letters are read from the folder named by ``SQUAREONE_DATA``.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import Rows, load_split
from squareone import RLSClassifier
from squareone.kernels import Gaussian

RESULTS = Path(__file__).resolve().parent / "results"
# What an automatic fit of all 60,000 rows ends at: experiments/results/mnist.md.
MNIST = {"kernel": Gaussian(sigma=1077.0), "alpha": 0.049}


@dataclass(frozen=True)
class Work:
    """A fit to be timed, and what to reach."""

    name: str
    data: str
    parameters: dict[str, Any]
    repeats: int
    seconds: float
    error: float | None


CASES = [
    Work("letter, 16,000 rows, σ and λ automatic", "letter", {}, 3, 6.0, None),
    Work("MNIST, 60,000 rows, one σ and λ, all leave-one-out values", "mnist", MNIST, 3, 5.5, 1.21),
    Work("MNIST, 60,000 rows, σ and λ automatic", "mnist", {}, 1, 60.0, 1.25),
]
HEADER = ("work", "seconds (median)", "to reach", "test error %", "leave-one-out error %", "λ", "σ")


def main() -> None:
    """Measure every case after a warm-up, print the table as it grows, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, help="only so many training rows, to try it out")
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu.md")
    options = parser.parse_args()
    lines = ["| " + " | ".join(row) + " |" for row in (HEADER, ["---"] * len(HEADER))]
    for work in CASES:
        train, test = (_single(part) for part in load_split(work.data))
        train = Rows(train.X[: options.rows], train.y[: options.rows])
        lines.append("| " + " | ".join(_measured(work, train, test, options.device)) + " |")
        print(lines[-1], flush=True)
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text("\n".join([_title(options.device), "", *lines, ""]))


def _title(device: str) -> str:
    name = device
    if device.startswith("cuda"):
        import torch

        name = f"{torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}"
    return f"`python -m benchmarks.gpu --device {device}`: {name}, float32"


def _measured(work: Work, train: Rows, test: Rows, device: str) -> list[str]:
    small = Rows(train.X[:2000], train.y[:2000])
    _timed(lambda: _fitted(work, small, device))  # libraries are loaded, handles made
    seconds = []
    for _ in range(work.repeats):
        model, took = _timed(lambda: _fitted(work, train, device))
        seconds.append(took)
        held_out = np.argmax(model.loo_predictions_, axis=1)
        loo = 100 * float(np.mean(model.classes_[held_out] != train.y))
        error = 100 * float(np.mean(model.predict(test.X) != test.y))
        alpha, sigma = float(np.max(model.alpha_)), float(model.kernel_.sigma)
        del model
    reach = f"{work.seconds:g} s" + (f", {work.error} %" if work.error else "")
    median = f"{statistics.median(seconds):.2f} of {len(seconds)}"
    return [work.name, median, reach, f"{error:.2f}", f"{loo:.2f}", f"{alpha:.3g}", f"{sigma:.4g}"]


def _fitted(work: Work, rows: Rows, device: str) -> RLSClassifier:
    model = RLSClassifier(**work.parameters, device=device, random_state=0).fit(rows.X, rows.y)
    if model.loo_predictions_.shape[0] != len(rows.y):
        msg = f"{len(rows.y)} leave-one-out values are expected"
        raise AssertionError(msg)
    return model


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _single(rows: Rows) -> Rows:
    """Half the memory; the pixels are integers from 0 to 255, so nothing is lost."""
    return Rows(rows.X.astype(np.float32), rows.y)


if __name__ == "__main__":
    main()
