"""Fits to files larger than the memory they may take: the system refuses any more than that."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("resource")
pytest.importorskip("pyarrow")

from squareone.rows import BlockWriter

d, MEGABYTE = 64, 2**20

# What the libraries take before is no matter: the limit is on what the fit allocates.
FIT = """
import resource, sys
import numpy as np
import pyarrow, pyarrow.parquet
from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.rows import open_rows
path, solver, loaded, megabytes = sys.argv[1], sys.argv[2], sys.argv[3] == "loaded", sys.argv[4]
kernel, centers = ("linear", None) if solver == "gram" else (Gaussian(8.0), 128)

def model(limit=f"{megabytes}MiB"):
    return RLSRegressor(
        kernel, 10.0, solver=solver, centers=centers, memory_limit=limit, tol=1e-2, random_state=0
    )

pyarrow.set_cpu_count(1)
stream = open_rows(path)
y = np.empty(len(stream), np.float32)
for rows, block in stream.blocks(4096):
    y[rows] = np.sin(block[:, 0])
warm = stream[np.arange(200)]
model(None).fit(warm, y[:200]).predict(warm)
used = [line for line in open("/proc/self/status") if line.startswith("VmData")][0]
limit = int(used.split()[1]) * 1024 + int(megabytes) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if loaded:
    stream = stream[:]
found = model().fit(stream, y)
print(float(np.abs(found.predict(warm) - y[:200]).mean()))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same kind of rows, 205 million bytes as .npy and 154 million as Parquet."""
    folder = tmp_path_factory.mktemp("large")
    paths = {}
    for kind, n in (("npy", 800_000), ("parquet", 600_000)):
        paths[kind] = folder / f"rows.{kind}"
        rng = np.random.default_rng(0)
        with BlockWriter(paths[kind], [f"x{i}" for i in range(d)], n) as file:
            for _ in range(20):
                file.write(rng.standard_normal((n // 20, d), dtype=np.float32))
    yield paths
    for path in paths.values():
        path.unlink()


def run(path, solver, how, megabytes):
    return subprocess.run(
        [sys.executable, "-c", FIT, str(path), solver, how, str(megabytes)],
        capture_output=True,
        text=True,
    )


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a limit the system enforces")


@pytest.mark.slow
@linux
@pytest.mark.parametrize(
    ("kind", "solver", "megabytes"),
    [
        ("npy", "rectangle", 170),
        ("npy", "pcg", 170),
        ("npy", "gram", 170),
        ("parquet", "rectangle", 140),
    ],
)
def test_a_fit_to_a_file_larger_than_the_memory(kind, solver, megabytes, files):
    assert files["npy"].stat().st_size > 190 * MEGABYTE
    found = run(files[kind], solver, "streamed", megabytes)
    assert found.returncode == 0, found.stderr
    assert 0.0 < float(found.stdout) < 0.7


@pytest.mark.slow
@linux
@pytest.mark.parametrize(("kind", "megabytes"), [("npy", 170), ("parquet", 140)])
def test_the_rows_themselves_do_not_fit(kind, megabytes, files):
    """So that the fits above did not hold them."""
    found = run(files[kind], "rectangle", "loaded", megabytes)
    assert found.returncode != 0
    assert "MemoryError" in found.stderr
