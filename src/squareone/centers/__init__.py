"""Centers: the few points that carry coefficients in a kernel model of many rows.

A selector is a small value, ``PivotedCholesky(500)``; its ``select`` looks at rows and a kernel and
returns a :class:`Selection`: the points, which rows they are, and the share of the trace of the
kernel matrix that they explain.
"""

from .base import Selector
from .chosen_centers import Selection
from .explained import explained_trace
from .given import Given
from .kmeans import KMeans
from .leverage import LeverageScores
from .pivoted_cholesky import PivotedCholesky
from .trace_greedy import TraceGreedy
from .uniform import Uniform, selector_from

__all__ = [
    "Given",
    "KMeans",
    "LeverageScores",
    "PivotedCholesky",
    "Selection",
    "Selector",
    "TraceGreedy",
    "Uniform",
    "explained_trace",
    "selector_from",
]
