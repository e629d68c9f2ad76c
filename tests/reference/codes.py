r"""Binary BCH codes by their definition: the words that have certain powers of alpha as roots.

A word of n = 2^m - 1 bits is an integer, bit j being the coefficient of :math:`x^j`. So is an
element of GF(2^m), bit j being the coefficient of :math:`\alpha^j`, and a polynomial over GF(2).
No generator is made: the words are the null space of the parity checks.
"""

from __future__ import annotations

from collections.abc import Iterator


def remainder(dividend: int, divisor: int) -> int:
    """Divide polynomials over GF(2) and return what is left."""
    while dividend.bit_length() >= divisor.bit_length():
        dividend ^= divisor << (dividend.bit_length() - divisor.bit_length())
    return dividend


def product(a: int, b: int, modulus: int) -> int:
    """Multiply two elements of the field."""
    total = 0
    for j in range(b.bit_length()):
        if b >> j & 1:
            total ^= a << j
    return remainder(total, modulus)


def powers(modulus: int) -> list[int]:
    r"""List :math:`\alpha^0, \alpha^1, \dots` until 1 comes again."""
    found = [1]
    while (following := product(found[-1], 2, modulus)) != 1:
        found.append(following)
    return found


def smallest_primitive_polynomial(m: int) -> int:
    """Return the first polynomial of degree m whose root has 2^m - 1 powers."""
    for modulus in range(2**m + 1, 2 ** (m + 1), 2):
        if len(powers(modulus)) == 2**m - 1:
            return modulus
    raise AssertionError("there is one of every degree")


def value_at(word: int, exponent: int, alphas: list[int]) -> int:
    r"""Evaluate a polynomial over GF(2) at :math:`\alpha^e`."""
    total = 0
    for j in range(word.bit_length()):
        if word >> j & 1:
            total ^= alphas[exponent * j % len(alphas)]
    return total


def words(m: int, designed_distance: int) -> set[int]:
    r"""Return the words with the roots :math:`\alpha, \dots, \alpha^{\delta - 1}`.

    The values of :math:`x^j` at all the roots are the j-th column of the parity checks. Columns are
    eliminated one after the other, remembering which were added; whenever nothing is left of one,
    those that were added make a word.
    """
    alphas = powers(smallest_primitive_polynomial(m))
    pivots: dict[int, tuple[int, int]] = {}
    basis = []
    for j in range(len(alphas)):
        column, members = 0, 1 << j
        for i in range(1, designed_distance):
            column = column << m | alphas[i * j % len(alphas)]
        while column and column.bit_length() in pivots:
            other, other_members = pivots[column.bit_length()]
            column, members = column ^ other, members ^ other_members
        if column:
            pivots[column.bit_length()] = column, members
        else:
            basis.append(members)
    return set(sums(basis))


def sums(basis: list[int]) -> Iterator[int]:
    """Yield the sum of every subset."""
    if not basis:
        yield 0
        return
    for rest in sums(basis[1:]):
        yield rest
        yield rest ^ basis[0]


def smallest_distance(code: set[int]) -> int:
    """Return the least distance of two words of a linear code: the least weight but zero."""
    return min(word.bit_count() for word in code if word)


def rank(vectors: list[int]) -> int:
    """Count the linearly independent among bit vectors."""
    independent: list[int] = []
    for vector in vectors:
        for other in independent:  # clears the leading bit of ``other``
            vector = min(vector, vector ^ other)
        if vector:
            independent.append(vector)
    return len(independent)
