"""Report: what a fit found and what it cost, as a figure or as a text.

:func:`path_figure` draws the held-out error over λ; :func:`summary` says in a few lines which
kernel, λ and solver a fitted estimator has, how well it predicts unseen rows, and what that cost.
"""

from .path import path_figure
from .summary import summary

__all__ = ["path_figure", "summary"]
