"""After a fit: intervals and their product, probabilities and the fit, files and the disk."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import get_blas_funcs
from sklearn.base import clone

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import wide
from benchmarks.measure import Contestant

ROWS, NEW_ROWS = 5_000, 1_000
MANY_ROWS, MANY_NEW_ROWS = 16_000, 4_640
CLASSES = 10
FILE_ROWS, FILE_FEATURES = 4_000, 5_000


def _intervals(scale: Scale, dtype: str) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    n, m = scale.rows(ROWS), scale.rows(NEW_ROWS)
    X, y = wide(n + m, dtype)
    model = RLSRegressor(Gaussian(sigma=16.0), alpha=1.0, solver="cholesky").fit(X[:n], y[:n])
    _ = model.loo_predictions_  # as after a fit that chose λ
    new = X[n:]
    inverse = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
    columns = np.asfortranarray(inverse[:, :m])
    # by the BLAS of the triangular products: NumPy's is another one, whose threads spin on
    (gemm,) = get_blas_funcs(("gemm",), (inverse, columns))
    return Contest(
        Contestant(lambda: model.predict_interval(new)),
        Contestant(lambda: gemm(1.0, inverse.T, columns)),
    )


def _many_intervals(scale: Scale, *, loaded: bool) -> Contest:
    """The product of a square, whose n² left-out values are needed, with as many columns."""
    import squareone
    from squareone.kernels import Gaussian

    n, m = scale.rows(MANY_ROWS), scale.rows(MANY_NEW_ROWS)
    X, y = wide(n + m, "float64", d=8)
    model = squareone.RLSRegressor(Gaussian(sigma=3.0), alpha=1.0, solver="cholesky")
    model.fit(X[:n], y[:n])
    _ = model.loo_predictions_
    new = X[n:]
    ready = Contestant(lambda each: each.predict_interval(new), lambda: (model,))
    if loaded:
        folder = Path(tempfile.mkdtemp(prefix="squareone-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        model.save(folder / "model.safetensors")
        ready = Contestant(ready.run, lambda: (squareone.load(folder / "model.safetensors"),))
    square = np.random.default_rng(0).standard_normal((n, n))
    columns = np.asfortranarray(square[:, :m])
    (gemm,) = get_blas_funcs(("gemm",), (square, columns))
    return Contest(
        ready,
        Contestant(lambda: gemm(1.0, square.T, columns)),
    )


def _probabilities(scale: Scale) -> Contest:
    from squareone import RLSClassifier
    from squareone.kernels import Gaussian

    n = scale.rows(ROWS)
    X, values = wide(n, "float64", outputs=CLASSES)
    y = np.asarray(values).argmax(axis=1)
    model = RLSClassifier(Gaussian(sigma=16.0), solver="cholesky")
    plain = RLSClassifier(Gaussian(sigma=16.0), solver="cholesky", calibration=None)
    return Contest(
        Contestant(lambda: clone(model).fit(X, y).predict_proba(X[:1])),
        Contestant(lambda: clone(plain).fit(X, y)),
    )


def _files(scale: Scale, what: str) -> Contest:
    import squareone
    from squareone.kernels import Gaussian

    X, y = wide(scale.rows(FILE_ROWS), "float64", d=FILE_FEATURES)
    model = squareone.RLSRegressor(Gaussian(sigma=70.0), alpha=1.0, solver="cholesky").fit(X, y)
    folder = Path(tempfile.mkdtemp(prefix="squareone-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    saved, plain = folder / "model.safetensors", folder / "plain"
    model.save(saved)
    content = saved.read_bytes()
    plain.write_bytes(content)
    if what == "save":
        return Contest(Contestant(lambda: model.save(saved)), Contestant(_new_file(plain, content)))
    return Contest(
        Contestant(lambda: squareone.load(saved)), Contestant(lambda: plain.read_bytes())
    )


def _new_file(path: Path, content: bytes) -> Callable[[], None]:
    """Write a file beside the old one and replace that, as a save does."""

    def write() -> None:
        new = path.with_suffix(".new")
        new.write_bytes(content)
        new.replace(path)

    return write


CASES: list[Case] = [
    *(
        timed(
            f"intervals-{dtype}",
            partial(_intervals, dtype=dtype),
            what=f"jackknife+ intervals for 1,000 points, 5,000 training rows, {dtype}",
            against="product of an n x n matrix with as many columns",
            target=1.5,
            repeats=7,
        )
        for dtype in ("float64", "float32")
    ),
    *(
        timed(
            f"many-intervals-{name.split()[-1]}",
            partial(_many_intervals, loaded=loaded),
            what=f"jackknife+ intervals for 4,640 points, 16,000 training rows, {name}",
            against="product of an n x n matrix with as many columns",
            target=None,
            repeats=1,
        )
        for name, loaded in (("fitted", False), ("after loading", True))
    ),
    timed(
        "probabilities",
        _probabilities,
        what="fit 5,000 rows of 10 classes, best λ, and calibrate probabilities",
        against="the fit without a calibration",
        target=1.1,
        repeats=3,
    ),
    *(
        timed(
            what,
            partial(_files, what=what),
            what=f"{what} a model of 4,000 rows and 5,000 features, 160 MB",
            against=f"a plain {plain} of as many bytes",
            target=1.5,
            repeats=5,
        )
        for what, plain in (("save", "write to a new file"), ("load", "read"))
    ),
]
