"""Solvers: factor once, then answer for every λ and all targets.

Each file is one solver. All of them keep the contract of :class:`~squareone.solvers.factor.Factor`:
residuals, complements of the leverages, errors without a set of rows, degrees of freedom and
coefficients. :mod:`~squareone.solvers.plan` chooses among them.
"""

from .cholesky import CholeskyFactor
from .costs import Task
from .factor import Factor
from .features import CentredRows, DualFeatures
from .gram import GramFactor
from .krylov import KrylovFactor
from .normal import Limits
from .plan import Plan, make_plan
from .spectral import SpectralFactor
from .symmetric import SymmetricSystem
from .thin_svd import SvdFactor
from .weighting import Weighting

__all__ = [
    "CentredRows",
    "CholeskyFactor",
    "DualFeatures",
    "Factor",
    "GramFactor",
    "KrylovFactor",
    "Limits",
    "Plan",
    "SpectralFactor",
    "SvdFactor",
    "SymmetricSystem",
    "Task",
    "Weighting",
    "make_plan",
]
