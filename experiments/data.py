"""The data sets, by name: from a folder if there is one, otherwise from OpenML.

The folder is the one named by the environment variable ``SQUAREONE_DATA``. It holds ``<name>.npz``
with ``X_train``, ``y_train``, ``X_test`` and ``y_test`` where a split has been published, and with
``X`` and ``y`` otherwise (``abalone`` also has ``sex``, one of M, F and I).

OpenML keeps all rows of a set in one table; its first rows are taken for training. As far as is
known, this is the published split for usps, optdigits, pendigits and mnist. It is another one for
letter, whose rows are in another order there, and for satimage, which has five rows fewer: figures
from OpenML differ for these two. Reading from OpenML needs pandas. Without a folder
california_housing comes from scikit-learn's own loader, where counts of rooms are per household.
"""

import os
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_california_housing, fetch_openml

VARIABLE = "SQUAREONE_DATA"


class Rows(NamedTuple):
    """Rows (n, d), not scaled, and their targets (n,)."""

    X: NDArray
    y: NDArray

    def sample(self, at_most: int) -> Self:
        """Return that many random rows, always the same ones; all if there are fewer."""
        n = len(self.y)
        if n <= at_most:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(n, at_most, replace=False))
        return type(self)(self.X[chosen], self.y[chosen])


class Split(NamedTuple):
    """A published split."""

    train: Rows
    test: Rows


class DataNotFoundError(RuntimeError):
    """A data set that is neither in the folder nor to be had from OpenML."""


class _Table(NamedTuple):
    """Where OpenML has a set, and how many of its rows are for training."""

    name: str
    version: int
    training_rows: int | None = None


_OPENML = {
    "usps": _Table("USPS", 2, 7_291),
    "letter": _Table("letter", 1, 16_000),
    "optdigits": _Table("optdigits", 1, 3_823),
    "pendigits": _Table("pendigits", 1, 7_494),
    "satimage": _Table("satimage", 1, 4_435),
    "mnist": _Table("mnist_784", 1, 60_000),
    "boston": _Table("boston", 1),
    "abalone": _Table("abalone", 1),
}


def load_split(name: str) -> Split:
    """Return a set that has a training and a test part."""
    arrays = _read(name)
    return Split(*(Rows(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "test")))


def load_all(name: str) -> Rows:
    """Return both parts of a set that has two, as one."""
    train, test = load_split(name)
    return Rows(np.concatenate([train.X, test.X]), np.concatenate([train.y, test.y]))


def load_rows(name: str) -> Rows:
    """Return a set for regression, which has one part; the sex of an abalone as three columns."""
    arrays = _read(name)
    X = arrays["X"].astype(np.float64)
    if "sex" in arrays:
        X = np.hstack([arrays["sex"][:, None] == np.array(["M", "F", "I"]), X])
    return Rows(X, arrays["y"].astype(np.float64))


def source() -> str:
    """Say where the sets come from, for a reader of the results."""
    if os.environ.get(VARIABLE):
        return f"the folder in {VARIABLE}"
    return "OpenML, or scikit-learn's loaders"


def _read(name: str) -> dict[str, NDArray]:
    folder = os.environ.get(VARIABLE)
    return _from_openml(name) if not folder else _from_folder(name, Path(folder))


def _from_folder(name: str, folder: Path) -> dict[str, NDArray]:
    # A missing file is not fetched instead: its split might be another one.
    try:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except FileNotFoundError as error:
        msg = (
            f"the folder in {VARIABLE} has no {name}.npz: put it there, or unset {VARIABLE} to "
            "fetch the set from OpenML"
        )
        raise DataNotFoundError(msg) from error


def _from_openml(name: str) -> dict[str, NDArray]:
    if name == "california_housing":
        try:
            X, y = fetch_california_housing(return_X_y=True)
        except OSError as error:
            msg = f"{name} could not be fetched ({error}): set {VARIABLE} to a folder that has it"
            raise DataNotFoundError(msg) from error
        return {"X": X, "y": y}
    if name not in _OPENML:
        raise DataNotFoundError(f"{name!r} is none of the sets {', '.join(_OPENML)}")
    table = _OPENML[name]
    try:
        frame, target = fetch_openml(
            table.name, version=table.version, as_frame=True, return_X_y=True
        )
    except (OSError, ValueError) as error:  # no network; not there, or not any more
        msg = (
            f"{name} could not be fetched from OpenML ({error}): set {VARIABLE} to a folder that "
            f"has {name}.npz"
        )
        raise DataNotFoundError(msg) from error
    if name == "abalone":
        sex = frame.pop("Sex").to_numpy(str)
        return {"X": frame.to_numpy(np.float64), "y": target.to_numpy(np.float64), "sex": sex}
    X, y = frame.to_numpy(np.float64), target.to_numpy(str)
    if name == "usps":  # digits are numbered from one there; three decimals need no float64
        X, y = X.astype(np.float32), (y.astype(int) - 1)
    if table.training_rows is None:
        return {"X": X, "y": y}
    n = table.training_rows
    return {"X_train": X[:n], "y_train": y[:n], "X_test": X[n:], "y_test": y[n:]}
