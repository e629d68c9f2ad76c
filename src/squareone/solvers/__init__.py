"""Solvers: factor once, then answer for every λ and all targets.

Each file is one solver. All of them keep the contract of :class:`~squareone.solvers.contract.Factor`:
residuals, complements of the leverages, errors without a set of rows, degrees of freedom and
coefficients. :mod:`~squareone.planning.plan` chooses among them.
"""

from ..planning.plan import Plan, choose_centers, make_plan
from .center_costs import CENTER_SOLVERS
from .contract import Factor
from .exact.cholesky import CholeskyFactor
from .exact.feature_matrix import CentredRows, DualFeatures
from .exact.gram import GramFactor
from .exact.spectral import SpectralFactor
from .exact.svd import SvdFactor
from .exact.symmetric_system import SymmetricSystem
from .exact.weighting import Weighting
from .few_centers.center_basis import CenterBasis
from .few_centers.nystrom import NystromFactor
from .few_centers.pcg import PcgFactor
from .few_centers.rectangle import RectangleFactor
from .krylov.krylov import KrylovFactor
from .krylov.normal_equations import Limits
from .task import Task

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
