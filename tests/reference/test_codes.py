"""The codes of the reference, checked word by word against their definition."""

import itertools

import pytest

from tests.reference import codes


@pytest.mark.parametrize("designed_distance", [3, 5, 7, 15])
def test_words_are_all_that_have_the_roots(designed_distance):
    alphas = codes.powers(codes.smallest_primitive_polynomial(4))
    roots = range(1, designed_distance)
    expected = {
        word
        for word in range(2**15)
        if not any(codes.value_at(word, root, alphas) for root in roots)
    }
    assert codes.words(4, designed_distance) == expected


def test_smallest_distance_is_that_of_all_pairs():
    code = codes.words(4, 5)
    pairs = itertools.combinations(code, 2)
    assert codes.smallest_distance(code) == min((a ^ b).bit_count() for a, b in pairs) == 5


@pytest.mark.parametrize("m", [4, 5, 6, 7])
def test_field_multiplies_as_exponents_add(m):
    modulus = codes.smallest_primitive_polynomial(m)
    alphas = codes.powers(modulus)
    assert sorted(alphas) == list(range(1, 2**m))
    for i, j in [(1, 2), (3, 2**m - 3), (2**m - 2, 2**m - 2)]:
        expected = alphas[(i + j) % len(alphas)]
        assert codes.product(alphas[i], alphas[j], modulus) == expected


def test_rank():
    assert codes.rank([0b011, 0b101, 0b110]) == 2
    assert codes.rank([0b011, 0b101, 0b111]) == 3
    assert codes.rank([0]) == 0
