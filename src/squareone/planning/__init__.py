"""The plan of a fit."""
