"""Solvers: factor once, then answer for every λ and all targets.

By family: :mod:`.exact`, :mod:`.krylov` and :mod:`.few_centers`. All of them keep the contract of
:class:`~squareone.solvers.contract.Factor`: residuals, complements of the leverages, errors without
a set of rows, degrees of freedom and coefficients. :mod:`squareone.planning` chooses among them.
"""

from typing import Any

from .contract import Factor
from .exact.cholesky import CholeskyFactor
from .exact.feature_matrix import CentredRows, DualFeatures
from .exact.spectral import SpectralFactor
from .exact.symmetric_system import SymmetricSystem
from .exact.weighting import Weighting
from .few_centers.center_basis import CenterBasis
from .few_centers.pcg import PcgFactor
from .few_centers.rectangle import RectangleFactor
from .krylov.krylov import KrylovFactor
from .krylov.normal_equations import Limits

__all__ = [
    "CenterBasis",
    "CentredRows",
    "CholeskyFactor",
    "DualFeatures",
    "Factor",
    "KrylovFactor",
    "Limits",
    "PcgFactor",
    "RectangleFactor",
    "SpectralFactor",
    "SymmetricSystem",
    "Weighting",
]


def __getattr__(name: str) -> Any:
    if name == "Plan":  # where it has always been found
        from importlib import import_module

        return import_module("squareone.planning").Plan
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
