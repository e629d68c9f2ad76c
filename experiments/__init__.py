"""Experiments on real data, one command each; see the README beside this file."""

from benchmarks.threads import pin_threads

# Here, because a package is imported before its modules, and these import numpy.
THREADS = pin_threads()
