"""Binary BCH codes by the algebra of finite fields, and the choice of some of their words.

A polynomial over GF(2) is an array of its coefficients, zeros and ones, the constant first; a word
is the polynomial of its bits. An element of GF(2^m) is an integer whose bits are the coefficients
of a polynomial in α, a root of the primitive polynomial of the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..arrays import Array

__all__ = ["LARGEST_DIMENSION", "LENGTHS", "BinaryCode", "bch_codes", "choose_messages"]

# For each length 2^m − 1 the smallest primitive polynomial of degree m, its coefficients as bits:
# x⁴ + x + 1, x⁵ + x² + 1, x⁶ + x + 1 and x⁷ + x + 1.
_PRIMITIVE = {15: 0b10011, 31: 0b100101, 63: 0b1000011, 127: 0b10000011}

#: The lengths for which there are codes.
LENGTHS = tuple(_PRIMITIVE)

#: Message bits of the largest code that words are chosen from: the choice looks at all of them.
LARGEST_DIMENSION = 16


@dataclass(frozen=True)
class BinaryCode:
    """A cyclic code: the multiples of a generator polynomial g(x) that divides xⁿ − 1.

    Attributes
    ----------
    length : int
        n, the bits of a word.
    dimension : int
        The bits of a message.
    designed_distance : int
        δ. Two words differ in δ bits or more.
    generator : tuple of n − dimension + 1 ints
        The coefficients of g, the constant first.
    """

    length: int
    dimension: int
    designed_distance: int
    generator: tuple[int, ...]

    @property
    def pairs(self) -> int:
        """The pairs of a word and its complement: one word of each can be used for a class."""
        return 1 << (self.dimension - 1)

    def words(self, messages: Array) -> Array:
        """The words of ``messages`` (w,), whose bits are polynomials: an array (w, length) of 0, 1.

        Cost: w·dimension·length additions.
        """
        generators = np.zeros((self.dimension, self.length))  # row i is xⁱ g(x)
        for shift, row in enumerate(generators):
            row[shift : shift + len(self.generator)] = self.generator
        bits = messages[:, None] >> np.arange(self.dimension) & 1  # (w, dimension)
        return (bits @ generators).astype(np.int64) % 2


@cache
def bch_codes(length: int) -> tuple[BinaryCode, ...]:
    """The narrow-sense BCH codes of ``length`` that correct at least one bit, the smallest first.

    The generator with designed distance δ is the product of the minimal polynomials of
    α, α², …, α^(δ−1), each taken once. Where several δ have the same generator, the largest is
    kept; it is odd. The all-ones word belongs to each code, since 1 is no root of a generator.

    Cost: some length² operations.

    Examples
    --------
    >>> from squareone.targets.bch import bch_codes
    >>> [(code.dimension, code.designed_distance) for code in bch_codes(15)]
    [(1, 15), (5, 7), (7, 5), (11, 3)]

    References
    ----------
    .. [1] S. Lin and D. J. Costello (2004). *Error Control Coding*, second edition, section 6.1
       and Table 6.1.
    """
    powers = _powers_of_alpha(length)
    generator = np.ones(1, np.int64)
    codes = []
    for coset in _cyclotomic_cosets(length):
        if coset[0] > 1:  # the roots so far are α, …, α^(coset[0] − 1)
            codes.append(_cyclic_code(length, coset[0], generator))
        generator = np.convolve(generator, _minimal_polynomial(coset, powers)) % 2
    codes.append(_cyclic_code(length, length, generator))
    return tuple(reversed(codes))


def _cyclic_code(length: int, designed_distance: int, generator: Array) -> BinaryCode:
    dimension = length - generator.size + 1
    return BinaryCode(length, dimension, designed_distance, tuple(generator.tolist()))


def _powers_of_alpha(length: int) -> list[int]:
    """α⁰, α¹, …, α^(length − 1): every element of the field but zero."""
    powers = [1]
    while len(powers) < length:
        times_alpha = powers[-1] << 1
        powers.append(times_alpha ^ _PRIMITIVE[length] if times_alpha > length else times_alpha)
    return powers


def _cyclotomic_cosets(length: int) -> list[list[int]]:
    """The sets {i, 2i, 4i, …} modulo ``length``, without {0}, by their smallest members.

    Each comes with that member first. If α^i is a root of a polynomial over GF(2), so are the
    α^j of the same set.
    """
    cosets: list[list[int]] = []
    seen: set[int] = set()
    for i in range(1, length):
        if i in seen:
            continue
        coset = [i]
        while (double := 2 * coset[-1] % length) != i:
            coset.append(double)
        seen.update(coset)
        cosets.append(coset)
    return cosets


def _minimal_polynomial(coset: list[int], powers: list[int]) -> Array:
    """∏ (x − α^i) over a cyclotomic coset: its coefficients are zeros and ones of the field."""
    logarithms = {power: exponent for exponent, power in enumerate(powers)}
    product = [1]
    for i in coset:
        times_root = [powers[(logarithms[c] + i) % len(powers)] if c else 0 for c in product]
        product = [a ^ b for a, b in zip([0, *product], [*times_root, 0], strict=True)]
    return np.array(product)


def choose_messages(code: BinaryCode, k: int) -> Array:
    """``k`` messages (k,) whose words are far apart, and whose columns are far from constant.

    Of each word w and its complement one has an odd number of ones, as the length n is odd, and
    only these are used. Two of them differ in an even number of bits, and so in δ + 1 or more.

    One word is added after the other. The first ``dimension`` are linearly independent: then no
    column is constant over the classes, and no two are equal or complementary. (Where k is smaller
    this holds as far as k words allow.) Apart from that each word has the least

        Σ_w' ((n + 1)/2 − d(w, w'))⁴

    over the words w' chosen before, d being the number of bits in which two words differ. (In the
    smallest code of more than one bit it is zero throughout.) Among equals, the word for which
    Σ_j s_j⁴ is least, s_j being the sum of column j with bits as ±1, so that columns divide the
    classes evenly; then the smallest message. Within a code, the words of k classes are the first
    of those of more.

    Cost: k·length·2^dimension operations at most, and 2^dimension·length numbers of memory.
    """
    words = code.words(np.arange(1 << code.dimension))
    weights = words.sum(axis=1)  # of every word: d is a weight too, that of the sum of two words
    odd = np.flatnonzero(weights % 2)  # (pairs,) messages
    signs = 2.0 * words[odd] - 1.0  # (pairs, length)
    off_the_middle = ((code.length + 1) // 2 - weights) ** 4

    crowding = np.zeros(odd.size, np.int64)
    column_sums = np.zeros(code.length)
    refused = np.zeros(weights.size, bool)  # by message: what the words so far span
    refused[0] = True
    chosen = np.empty(k, np.int64)
    for step in range(k):
        if step == code.dimension:  # they span all: from here on only the words so far
            refused[:] = False
            refused[chosen[:step]] = True
        open_to = np.flatnonzero(~refused[odd])
        open_to = open_to[crowding[open_to] == crowding[open_to].min()]
        # The growth of Σ s⁴, less what is the same for all words: whole numbers below 2⁵³.
        growth = signs[open_to] @ (column_sums**3 + column_sums)
        best = open_to[np.argmin(growth)]
        chosen[step] = message = odd[best]
        refused[message] = True
        if step < code.dimension:
            refused[np.flatnonzero(refused) ^ message] = True
        crowding += off_the_middle[odd ^ message]
        column_sums += signs[best]
    return chosen
