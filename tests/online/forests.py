"""Random forests, in the form of the reference."""

import numpy as np


def random_forest(rng, k):
    """Parents of k nodes, None for roots, in any order."""
    numbers = rng.permutation(k)
    forest = [None] * k
    for i, node in enumerate(numbers):
        if i and rng.random() < 0.75:
            forest[node] = int(rng.choice(numbers[:i]))
    return forest


def random_rows(rng, n, k):
    return rng.random((n, k)) < rng.uniform(0.1, 0.9, k)


def as_array(forest):
    return np.array([-1 if above is None else above for above in forest])
