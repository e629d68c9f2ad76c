"""Tools for contributors, which are no part of the package."""
