"""Exact solvers: one factorisation of the kernel matrix, or of the features, for every λ."""
