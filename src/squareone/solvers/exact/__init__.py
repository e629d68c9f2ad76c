"""Solvers by a factorisation of the whole system."""
