"""Kernel products and fits with centers on a GPU: ``python -m benchmarks.gpu_centers``.

Parts run in order while there is time for them, each with what it has found written to a file of
its own in the folder of the results; one that fails says so, and the next one begins. Data are made
up, but for MNIST's digits and the letters, which are in the folder named by ``SQUAREONE_DATA``.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from squareone import RLSRegressor
from squareone.devices import CenterValues, open_place, torch_streamed_rows
from squareone.devices.torch_products import Products
from squareone.kernels import Gaussian, Laplacian, Matern

RESULTS = Path(__file__).resolve().parent / "results"
EPS = float(np.finfo(np.float32).eps)
#: Bytes of a block of kernel values.
BLOCK = 2.0**30
# Sums of kernel values below this are below the range of float32.
LEAST = 1e-30
Found = dict[str, Any]


class Parts:
    """Runs parts in order while there is time, and writes what each finds."""

    def __init__(self, folder: Path, seconds: float, device: str) -> None:
        self.folder = folder
        self.whole = seconds
        self.end = time.perf_counter() + seconds
        self.device = device
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def left(self) -> float:
        """Seconds."""
        return self.end - time.perf_counter()

    def run(self, name: str, part: Callable[["Parts"], Iterator[Found]], least: float) -> None:
        """Run one part, if ``least`` seconds are left; a line is written for all it yields."""
        path = self.folder / "found.jsonl"
        if self.left < least:
            print(f"{name}: left out, {self.left:.0f} s are left", flush=True)
            return
        start = time.perf_counter()
        with path.open("a") as file:
            try:
                for found in part(self):
                    line = json.dumps({"part": name, **found}, default=str)
                    print(line, flush=True)
                    print(line, file=file, flush=True)
            except Exception:  # noqa: BLE001 (the others are to run)
                text = traceback.format_exc()
                print(f"{name}: {text[-1500:]}", flush=True)
                print(json.dumps({"part": name, "failed": text}), file=file, flush=True)
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        torch.cuda.empty_cache()


def seconds_of(call: Callable[[], Any], repeats: int = 3) -> float:
    """The median after a warm-up."""
    took = []
    for number in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if number:
            took.append(time.perf_counter() - start)
    return statistics.median(took)


def made_up(n: int, d: int, device: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and targets (n,) with a nonlinear rule, float32."""
    generator = torch.Generator(device).manual_seed(seed)
    X = torch.randn(n, d, generator=generator, device=device)
    y = torch.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + torch.tanh(X[:, 4])
    y += 0.3 * torch.randn(n, generator=generator, device=device)
    return X.cpu().numpy(), y.cpu().numpy()


# --- what products are worth --------------------------------------------------------------------


def _exactly(kernel: Any, X: torch.Tensor, C: torch.Tensor, V: torch.Tensor) -> Any:
    """K V and |K||V| in float64, by direct differences, a few rows at a time."""
    Z, W, V = X.double() / kernel.sigma, C.double() / kernel.sigma, V.double()
    metric = 1.0 if isinstance(kernel, Laplacian) else 2.0
    found, size = [], []
    for rows in Z.split(512):
        D = torch.cdist(rows, W, p=metric, compute_mode="donot_use_mm_for_euclid_dist")
        if isinstance(kernel, Matern):
            s = np.sqrt(2.0 * kernel.nu) * D
            K = torch.exp(-s) * {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[kernel.nu]
        else:
            K = torch.exp(-D if metric == 1.0 else -0.5 * D * D)
        found.append(K @ V)
        size.append(K @ V.abs())
    return torch.cat(found), torch.cat(size)


def accuracy(parts: Parts) -> Iterator[Found]:
    """The largest error over what is allowed, kernel by kernel, width by width."""
    device = torch.device(parts.device)
    kernels = [Gaussian, Laplacian, *(_matern(nu) for nu in (0.5, 1.5, 2.5))]
    cases = [(kernel, 32, 1) for kernel in kernels] + [(Gaussian, d, 1) for d in (1, 784, 100)]
    cases += [(Gaussian, 32, 16), (Gaussian, 32, 64), (Laplacian, 32, 16), (_matern(2.5), 784, 16)]
    for make, d, t in cases:
        if parts.left < 0.8 * parts.whole:
            return
        worst: Found = {"ratio": 0.0}
        start = time.perf_counter()
        for offset in (0.0, 1e4):
            for width in (1e-3, 1e-1, 1.0, 10.0, 1e3):
                found = _error(make(width * np.sqrt(d)), d, t, offset, device)
                if not found["ratio"] <= worst["ratio"]:
                    worst = {**found, "offset": offset, "width": width}
        took = time.perf_counter() - start
        yield {"kernel": str(make(1.0)), "d": d, "t": t, **worst, "seconds": round(took, 1)}


def _matern(nu: float) -> Callable[[float], Matern]:
    return lambda width: Matern(width, nu=nu)


def _error(kernel: Any, d: int, t: int, offset: float, device: torch.device) -> Found:
    generator = torch.Generator(device).manual_seed(d)
    X = torch.randn(1500, d, generator=generator, device=device) + offset
    C = torch.cat([X[:400], torch.randn(500, d, generator=generator, device=device) + offset])
    V = torch.randn(900, t, generator=generator, device=device)
    points = C.cpu().numpy()
    origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    values = CenterValues(kernel, points, origin, np.dtype(np.float32))
    products = Products(values, device, BLOCK)
    got, again = products.times(X, V), products.times(X, V)
    want, size = _exactly(kernel, X, C, V)
    back = products.transposed_times(C, V)  # between the centers: symmetric
    there, whole = _exactly(kernel, C, C, V)
    p = 1 if isinstance(kernel, Laplacian) else 2
    centred = torch.cat([X, C]).double() - torch.from_numpy(origin).double().to(device)
    farthest = float(torch.linalg.vector_norm(centred, ord=p, dim=1).max()) / kernel.sigma
    allowed = max(3e-7, min(1e-4, 4.0 * EPS * farthest**2))
    error = max(
        float(((got - want).abs() / size.clamp_min(LEAST)).max()),
        float(((back - there).abs() / whole.clamp_min(LEAST)).max()),
    )
    same = bool(torch.equal(got, again))
    return {"ratio": error / allowed, "error": error, "allowed": allowed, "equal bits": same}


def rates(parts: Parts) -> Iterator[Found]:
    """Tel/s of K(X, C)V for n = 10⁶, m = 20,000, d = 32, by columns; both directions."""
    n, m, d = 1_000_000, 20_000, 32
    device = torch.device(parts.device)
    X, _ = made_up(n, d, parts.device)
    there = torch.from_numpy(X).to(device)
    values = CenterValues(Gaussian(float(np.sqrt(d))), X[:m], np.zeros(d, np.float32), X.dtype)
    products = Products(values, device, BLOCK)
    for t in (1, 16, 64):
        V = torch.randn(m, t, device=device)
        U = torch.randn(n, t, device=device)
        took = seconds_of(partial(products.times, there, V))
        back = seconds_of(partial(products.transposed_times, there, U))
        yield {"t": t, "Tel/s": n * m / took / 1e12, "transposed": n * m / back / 1e12}


def blocks(parts: Parts) -> Iterator[Found]:
    """KᵀKv for a tenth of the rows of HIGGS, by blocks of several sizes."""
    n, m, d = 1_000_000, 100_000, 28
    device = torch.device(parts.device)
    X, _ = made_up(n, d, parts.device)
    there = torch.from_numpy(X).to(device)
    values = CenterValues(Gaussian(float(np.sqrt(d))), X[:m], np.zeros(d, np.float32), X.dtype)
    v = torch.randn(m, 1, device=device)
    for size in (2.0**28, 2.0**30, 2.0**32):
        products = Products(values, device, size)
        took = seconds_of(partial(products.normal, there, None, v), repeats=1)
        yield {"bytes of a block": size, "seconds": took, "Tel/s": 2.0 * n * m / took / 1e12}


# --- fits ---------------------------------------------------------------------------------------


def _fitted(X: np.ndarray, y: np.ndarray, device: str, **settings: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    model = RLSRegressor(**settings, device=device, random_state=0).fit(X, y)
    return model, time.perf_counter() - start


def _summary(model: Any, took: float, X: np.ndarray, y: np.ndarray) -> Found:
    start = time.perf_counter()
    error = float(np.sqrt(np.mean(np.square(model.predict(X) - y))))
    return {
        "seconds": took,
        "stages": {name: round(value, 2) for name, value in model.plan_.stages.items()},
        "test RMSE": error,
        "predicted in": time.perf_counter() - start,
        "iterations": getattr(model, "n_iter_", None),
        "alpha": float(np.max(model.alpha_)),
        "GPU GiB": torch.cuda.max_memory_allocated() / 2**30,
    }


def rectangle(parts: Parts) -> Iterator[Found]:
    """10⁶ × 20 rows, 10,000 centers, 20 λ by leave-one-out on 5,000 rows."""
    X, y = made_up(1_020_000, 20, parts.device)
    new, X, y_new, y = X[:20_000], X[20_000:], y[:20_000], y[20_000:]
    settings: Found = {
        "kernel": Gaussian(float(np.sqrt(20))),
        "alpha": np.logspace(-6, 3, 20) * 10.0,
        "solver": "rectangle",
        "loo_rows": 5000,
    }
    _fitted(X[:20_000], y[:20_000], parts.device, **settings, centers=1000)
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        model, took = _fitted(X, y, parts.device, **settings, centers=10_000)
        yield _summary(model, took, new, y_new)
        del model
        if parts.left < 0.5 * parts.whole:
            return


def pcg(parts: Parts) -> Iterator[Found]:
    """10⁷ × 28 rows, 20,000 centers: rows on the GPU and in the machine's memory."""
    X, y = made_up(10_020_000, 28, parts.device)
    new, X, y_new, y = X[:20_000], X[20_000:], y[:20_000], y[20_000:]
    settings: Found = {
        "kernel": Gaussian(float(np.sqrt(28))),
        "alpha": 10.0,
        "solver": "pcg",
        "tol": 5e-3,
    }
    _fitted(X[:100_000], y[:100_000], parts.device, **settings, centers=1000)
    usual = torch_streamed_rows._SHARE
    for m, share, least in (
        (20_000, usual, 30.0),
        (20_000, 0.0, 30.0),
    ):
        if parts.left < least:
            yield {"centers": m, "left out": parts.left}
            continue
        torch_streamed_rows._SHARE = share
        torch.cuda.reset_peak_memory_stats()
        model, took = _fitted(X, y, parts.device, **settings, centers=m)
        rows = "on the GPU" if share else "in the machine's memory"
        yield {"centers": m, "rows": rows, **_summary(model, took, new, y_new)}
        del model
    torch_streamed_rows._SHARE = usual


def memory(parts: Parts) -> Iterator[Found]:
    """A fit that does not fit, and then one that does."""
    X, y = made_up(300_000, 10, parts.device)
    free = torch.cuda.mem_get_info()[0]
    taken = torch.empty(int(0.97 * free / 4), device=parts.device)
    try:
        RLSRegressor(
            Gaussian(3.0), 1.0, centers=8000, device=parts.device, memory_limit="60GiB"
        ).fit(X, y)
        text = "it fitted"
    except MemoryError as error:
        text = str(error)[:200]
    del taken
    torch.cuda.empty_cache()
    model, took = _fitted(X, y, parts.device, kernel=Gaussian(3.0), alpha=1.0, centers=2000)
    yield {"first": text, "second": took, "RMSE": _summary(model, took, X, y)["test RMSE"]}


def exact(parts: Parts) -> Iterator[Found]:
    """Letter and MNIST: ``python -m benchmarks.gpu``."""
    limit = max(15.0, parts.left - 12.0)
    given = ["-m", "benchmarks.gpu", "--device", parts.device]
    given += ["--output", str(parts.folder / "gpu.md")]
    run = subprocess.run(
        ["timeout", str(int(limit)), sys.executable, *given],
        capture_output=True,
        text=True,
        check=False,
    )
    yield {"printed": run.stdout[-3000:], "said": run.stderr[-1500:]}


def main() -> None:
    """Run all parts, or those that are named."""
    every = {
        "accuracy": (accuracy, 20.0),
        "rates": (rates, 20.0),
        "rectangle": (rectangle, 25.0),
        "pcg": (pcg, 40.0),
        "blocks": (blocks, 15.0),
        "exact": (exact, 15.0),
        "memory": (memory, 10.0),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu-centers")
    parser.add_argument("parts", nargs="*", default=list(every))
    options = parser.parse_args()
    parts = Parts(options.output, options.seconds, options.device)
    open_place(options.device)
    print(torch.cuda.get_device_name(0), torch.__version__, flush=True)
    for name in options.parts:
        parts.run(name, *every[name])


if __name__ == "__main__":
    main()
