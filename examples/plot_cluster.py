"""
A fit on a cluster
==================

The rows are a Dask array, computed by the workers when they are needed and never here. The fit is
the same, to the bit, with one worker and with several, and after a worker was lost.
"""

import time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

from squareone import RLSRegressor
from squareone.kernels import Gaussian

N, CHUNK = 200_000, 20_000


def ground(easting, northing):
    """Height over a place."""
    return np.sin(3 * easting) * np.cos(2 * northing) + 0.3 * np.sin(7 * easting * northing)


def places(block_id):
    """The places of a chunk, made anew wherever it is needed."""
    return np.random.default_rng(block_id[0]).uniform(-1, 1, (CHUNK, 2))


X = da.map_blocks(places, chunks=((CHUNK,) * (N // CHUNK), (2,)), dtype=float)
noise = np.random.default_rng(99).standard_normal(N)
y = ground(X[:, 0], X[:, 1]) + 0.5 * noise

# %%
# A cluster in this process stands for one of many machines: only the two lines that open it would
# be others. ``fit`` sends tasks to it, one for each group of rows, and adds their sums in a tree
# whose order is that of the rows.

coefficients = []
for workers in (1, 2):
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as machines,
        Client(machines),
    ):
        start = time.perf_counter()
        model = RLSRegressor(Gaussian(0.3), centers=150).fit(X, y)
        seconds = time.perf_counter() - start
        coefficients.append(model.dual_coef_)
        error = da.sqrt(((model.predict(X) - ground(X[:, 0], X[:, 1])) ** 2).mean()).compute()
    print(f"{workers} workers: {seconds:.1f} s, error {error:.4f} beside noise of 0.5")
print("equal to the bit:", bool((coefficients[0] == coefficients[1]).all()))

# %%
# The plan of the fit, and what it learned from rows that were never together in one place.

print(model.plan_)
side = np.linspace(-1, 1, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained", sharey=True)
for ax, values, title in (
    (axes[0], ground(grid[..., 0], grid[..., 1]), "the ground"),
    (axes[1], model.predict(grid.reshape(-1, 2)).reshape(120, 120), f"from {N:,} noisy heights"),
):
    ax.imshow(values, extent=(-1, 1, -1, 1), origin="lower", vmin=-1.2, vmax=1.2, cmap="RdBu_r")
    ax.set_title(title)
plt.show()
