"""Slow, literal reference computations against which the library is tested."""
