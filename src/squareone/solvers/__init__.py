"""Solvers: factor once, then answer for every λ and all targets.

Each file is one solver. All of them keep the contract of :class:`~squareone.solvers.factor.Factor`:
residuals, complements of the leverages, errors without a set of rows, degrees of freedom and
coefficients. :mod:`~squareone.solvers.plan` chooses among them.
"""

from .center_basis import CenterBasis
from .center_costs import CENTER_SOLVERS
from .cholesky import CholeskyFactor
from .factor import Factor
from .features import CentredRows, DualFeatures
from .gram import GramFactor
from .krylov import KrylovFactor
from .normal import Limits
from .nystrom import NystromFactor
from .pcg import PcgFactor
from .plan import Plan, choose_centers, make_plan
from .rectangle import RectangleFactor
from .spectral import SpectralFactor
from .symmetric import SymmetricSystem
from .task import Task
from .thin_svd import SvdFactor
from .weighting import Weighting

__all__ = [
    "CENTER_SOLVERS",
    "CenterBasis",
    "CentredRows",
    "CholeskyFactor",
    "DualFeatures",
    "Factor",
    "GramFactor",
    "KrylovFactor",
    "Limits",
    "NystromFactor",
    "PcgFactor",
    "Plan",
    "RectangleFactor",
    "SpectralFactor",
    "SvdFactor",
    "SymmetricSystem",
    "Task",
    "Weighting",
    "choose_centers",
    "make_plan",
]
