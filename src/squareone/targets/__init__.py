"""Targets: what is predicted, as columns of numbers, and back again."""

from .labels import Labels
from .regression import Responses

__all__ = ["Labels", "Responses"]
