"""Solvers by Krylov subspaces."""
