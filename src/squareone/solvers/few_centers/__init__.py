"""Solvers for models of few centers."""
