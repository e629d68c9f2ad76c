"""A pass over a file several times as large as the memory it may take."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("resource")
pytest.importorskip("pyarrow")

from squareone.rows import BlockWriter

n, d, LIMIT = 600_000, 32, 48  # 154 million bytes of numbers; megabytes that may be allocated

# What the libraries take before the first pass is no matter: the limit is above that.
PASS = """
import resource, sys
import numpy as np
import pyarrow, pyarrow.parquet
from squareone.rows import open_rows, rows_of
pyarrow.set_cpu_count(1)
stream = open_rows(sys.argv[1])
stream[[0]]
used = [line for line in open("/proc/self/status") if line.startswith("VmData")][0]
limit = int(used.split()[1]) * 1024 + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.ones(stream.shape)
except MemoryError:
    pass
else:
    sys.exit("the limit is not enforced")
print(sum(float(block.sum()) for _, block in stream.blocks(8192)))
print(float(rows_of(stream).mean().sum()) * len(stream))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit that the system enforces")
@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_file_larger_than_the_memory(kind, tmp_path):
    path = tmp_path / f"large.{kind}"
    rng, total = np.random.default_rng(0), 0.0
    with BlockWriter(path, [f"x{i}" for i in range(d)], n) as file:
        for _ in range(6):
            block = rng.standard_normal((n // 6, d))
            file.write(block)
            total += block.sum()
    assert path.stat().st_size > 2.5 * LIMIT * 2**20
    found = subprocess.run(
        [sys.executable, "-c", PASS, str(path), str(LIMIT)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    np.testing.assert_allclose([float(line) for line in found.stdout.split()], total, rtol=1e-9)
