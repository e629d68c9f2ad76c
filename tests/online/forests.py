"""Random forests, in the form of the reference."""


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


def as_parents(forest):
    return dict(enumerate(forest))
