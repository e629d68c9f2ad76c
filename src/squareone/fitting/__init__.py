"""The procedure of a fit."""
