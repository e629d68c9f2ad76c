"""Solvers for few centers: coefficients belong to some points, whatever the number of rows."""
