"""The lists the laws run over: solvers from the registry; a new kernel is one line here."""

from dataclasses import dataclass

import numpy as np

from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from squareone.solvers.registry import SOLVERS as REGISTRY
from squareone.solvers.registry import names
from tests.reference import brute_force

#: Solvers with all rows as centers: whether each needs features (a linear kernel).
SOLVERS = {
    name: solver.needs_linear for name, solver in REGISTRY.items() if not solver.with_centers
}
#: Those that do not stop at a tolerance, and those that factor the kernel matrix.
DIRECT = [name for name in SOLVERS if not REGISTRY[name].iterates]
OF_MATRICES = [name for name in SOLVERS if REGISTRY[name].works_on == "kernel matrix"]
#: Solvers with centers; those among them that factor something of all rows, and those of these
#: that do not stop at a tolerance; those that do not, whatever they factor.
WITH_CENTERS = names(lambda solver: solver.with_centers)
OF_ALL_ROWS = names(lambda solver: solver.with_centers and not solver.handed_on)
DIRECT_OF_ALL_ROWS = [name for name in OF_ALL_ROWS if not REGISTRY[name].iterates]
DIRECT_WITH_CENTERS = [name for name in WITH_CENTERS if not REGISTRY[name].iterates]


class ForAnyFeatures(Kernel):
    """A kernel that is made for as many features as the rows have: laws run over several."""

    fills_anywhere = True

    def __init__(self, make):
        self.make = make

    def check_parameters(self):
        return

    def resolve(self, X, rng):
        return self.make(X.shape[1]).resolve(X, rng)


def directions(d):
    """A metric of two directions, neither orthogonal nor of the same length (d, 2)."""
    angles = np.arange(1.0, d + 1.0)
    return np.stack([np.cos(angles), 0.5 * np.sin(2.0 * angles)], axis=1)


def weights_of_features(d):
    """From a tenth to two (d,)."""
    return np.linspace(2.0, 0.1, d)


KERNELS: dict[str, tuple[Kernel, list[tuple[str, dict]]]] = {
    "linear": (Linear(), [("linear", {})]),
    "cosine": (Cosine(), [("cosine", {})]),
    "polynomial": (
        Polynomial(3, gamma=0.2, coef0=1.0),
        [("polynomial", {"gamma": 0.2, "coef0": 1.0, "degree": 3})],
    ),
    "gaussian": (Gaussian(2.0), [("gaussian", {"sigma": 2.0})]),
    "laplacian": (Laplacian(4.0), [("laplacian", {"sigma": 4.0})]),
    "matern": (Matern(3.0, nu=2.5), [("matern", {"sigma": 3.0, "nu": 2.5})]),
    "constant + gaussian": (
        Constant(0.5) + Gaussian(2.0),
        [("constant", {"value": 0.5}), ("gaussian", {"sigma": 2.0})],
    ),
    "metrics": (
        ForAnyFeatures(
            lambda d: (
                Gaussian(2.0, metric=directions(d)) + Laplacian(4.0, metric=weights_of_features(d))
            )
        ),
        [
            ("gaussian", {"sigma": 2.0, "metric": directions}),
            ("laplacian", {"sigma": 4.0, "metric": weights_of_features}),
        ],
    ),
}

# rows, features: tall, nearly square, square, wide, one feature
SHAPES = [(24, 4), (9, 8), (8, 8), (8, 13), (12, 1)]


def solver_kernel_pairs():
    return [
        (solver, kernel)
        for solver, needs_features in SOLVERS.items()
        for kernel in KERNELS
        if kernel == "linear" or not needs_features
    ]


@dataclass
class Data:
    X: np.ndarray  # (n, d)
    Y: np.ndarray  # (n, t)
    weights: np.ndarray | None  # (n,)
    X_new: np.ndarray  # (5, d)

    @property
    def y(self):
        """Targets as a user gives them: a vector where there is one column."""
        return self.Y[:, 0] if self.Y.shape[1] == 1 else self.Y


def make_data(n, d, *, targets=1, weighted=False, seed=0):
    """Rows off centre, targets with an offset, weights with a zero among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.5
    Y = np.sin(X @ rng.standard_normal((d, targets))) + 0.3 * rng.standard_normal((n, targets)) + 4
    weights = None
    if weighted:
        weights = rng.uniform(0.2, 3.0, n)
        weights[2] = 0.0
    return Data(X, Y, weights, rng.standard_normal((5, d)) + 1.5)


def reference_kernel(name, X, Z):
    """The kernel matrix by explicit loops; the terms of a sum are added."""
    d, total = X.shape[1], 0.0
    for term, given in KERNELS[name][1]:
        params = {key: value(d) if callable(value) else value for key, value in given.items()}
        total = total + brute_force.kernel_matrix(term, X, Z, **params)
    return total
