"""Krylov solver: linear models of many features, from products with the rows alone."""
