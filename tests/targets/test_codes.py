"""Codings: the words of BCH codes are those of their definition, and errors are corrected."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.multiclass import _ovr_decision_function

from squareone.targets.bch import LARGEST_DIMENSION, LENGTHS, bch_codes, choose_messages
from squareone.targets.codes import BCH, OneVsAll, OneVsOne
from tests.reference import codes as reference

# S. Lin and D. J. Costello (2004), Error Control Coding, second edition, Table 6.1: (n, k, t), of
# which the table leaves out the repetition codes.
PUBLISHED = {
    15: [(11, 1), (7, 2), (5, 3)],
    31: [(26, 1), (21, 2), (16, 3), (11, 5), (6, 7)],
    63: [
        *[(57, 1), (51, 2), (45, 3), (39, 4), (36, 5), (30, 6), (24, 7), (18, 10), (16, 11)],
        *[(10, 13), (7, 15)],
    ],
    127: [
        *[(120, 1), (113, 2), (106, 3), (99, 4), (92, 5), (85, 6), (78, 7), (71, 9), (64, 10)],
        *[(57, 11), (50, 13), (43, 14), (36, 15), (29, 21), (22, 23), (15, 27), (8, 31)],
    ],
}
CODES = [code for length in LENGTHS for code in bch_codes(length)]
SMALL = [code for code in CODES if code.dimension <= 15]
# Two and three classes, fewer and more than message bits, all words of the smallest code, and the
# first code with words at several distances.
NUMBERS = [2, 3, 4, 7, 10, 16, 20, 26, 64, 105, 300]
CASES = [(length, k) for length in LENGTHS for k in NUMBERS]

each_code = pytest.mark.parametrize("code", CODES, ids=lambda c: f"({c.length}, {c.dimension})")
each_small = pytest.mark.parametrize("code", SMALL, ids=lambda c: f"({c.length}, {c.dimension})")
each_case = pytest.mark.parametrize(("length", "k"), CASES)
each_coding = pytest.mark.parametrize("coding", [OneVsAll(), OneVsOne(), BCH(15), BCH(31)])


def as_integers(bits):
    """Rows of bits (w, length), the constant first, as polynomials of the reference."""
    return [int("".join(map(str, row[::-1])), 2) for row in bits]


def all_words(code):
    return as_integers(code.words(np.arange(2**code.dimension)))


@functools.cache
def chosen_words(length, k):
    """The words of k classes, with their constant columns."""
    code = code_for(length, k)
    return code.words(choose_messages(code, k))


def code_for(length, k):
    dimension = BCH(length).dimension(k)
    return next(code for code in bch_codes(length) if code.dimension == dimension)


def distances(words):
    """Of all pairs of rows of bits."""
    first, second = np.triu_indices(words.shape[0], 1)
    return np.sum(words[first] != words[second], axis=1)


# ---------------------------------------------------------------------------------------------
# The codes
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", LENGTHS)
def test_parameters_are_the_published_ones(length):
    found = [(code.dimension, (code.designed_distance - 1) // 2) for code in bch_codes(length)]
    assert found == [(1, (length - 1) // 2), *reversed(PUBLISHED[length])]
    assert all(code.designed_distance % 2 for code in bch_codes(length))


@each_small
def test_words_are_those_of_the_definition(code):
    found = all_words(code)
    expected = reference.words(code.length.bit_length(), code.designed_distance)
    assert len(found) == 2**code.dimension
    assert set(found) == expected


@each_small
def test_true_distance_reaches_the_designed_one(code):
    """And is no larger, for codes as small as these: the designed distance is not too modest."""
    assert reference.smallest_distance(set(all_words(code))) == code.designed_distance


@each_small
def test_codes_are_cyclic_and_closed_under_complements(code):
    words = set(all_words(code))
    n = code.length
    assert {(word << 1 | word >> (n - 1)) & (2**n - 1) for word in words} == words
    assert {word ^ (2**n - 1) for word in words} == words


@each_code
def test_generators_divide_and_have_their_roots(code):
    (generator,) = as_integers(np.array([code.generator]))
    assert generator.bit_length() == code.length - code.dimension + 1
    assert reference.remainder(2**code.length | 1, generator) == 0
    modulus = reference.smallest_primitive_polynomial(code.length.bit_length())
    alphas = reference.powers(modulus)
    roots = [not reference.value_at(generator, e, alphas) for e in range(code.length)]
    assert not roots[0]
    assert all(roots[1 : code.designed_distance])
    if code.dimension > 1:  # the designed distance is the largest that this generator has
        assert not roots[code.designed_distance]


# ---------------------------------------------------------------------------------------------
# The words that are chosen
# ---------------------------------------------------------------------------------------------


@each_case
def test_the_smallest_code_with_enough_words(length, k):
    enough = [code for code in bch_codes(length) if 2 ** (code.dimension - 1) >= k]
    expected = min(enough, key=lambda code: code.dimension)
    assert BCH(length).dimension(k) == expected.dimension
    assert BCH(length).designed_distance(k) == expected.designed_distance


@each_case
def test_words_are_members_far_apart_and_span_the_messages(length, k):
    words = chosen_words(length, k)
    code = code_for(length, k)
    (generator,) = as_integers(np.array([code.generator]))
    assert not any(reference.remainder(word, generator) for word in as_integers(words))
    found = distances(words)
    assert found.min() >= code.designed_distance + 1
    assert found.max() < length  # no complements
    assert reference.rank(as_integers(words)) == min(k, code.dimension)


@each_case
def test_columns(length, k):
    """None is constant, and where the words span the messages none repeats another."""
    matrix = BCH(length).matrix(k)
    words = chosen_words(length, k)
    kept = words.min(axis=0) != words.max(axis=0)
    assert matrix.dtype == np.float64
    assert_array_equal(matrix, np.where(words[:, kept], 1.0, -1.0))
    if k >= BCH(length).dimension(k):
        assert kept.all()
        products = np.abs(matrix.T @ matrix) - k * np.eye(length)
        assert products.max() < k


@pytest.mark.parametrize("length", LENGTHS)
def test_up_to_length_plus_one_classes_are_equidistant(length):
    found = distances(chosen_words(length, length + 1))
    assert_array_equal(found, (length + 1) // 2)


@pytest.mark.parametrize(("length", "k"), [(15, 26), (15, 105), (31, 105), (63, 70), (63, 105)])
def test_choice_separates_better_than_the_first_messages(length, k):
    """Fewer of the closest pairs, and columns that divide the classes more evenly."""
    code = code_for(length, k)
    words = chosen_words(length, k)
    every = code.words(np.arange(2**code.dimension))
    first = every[every.sum(axis=1) % 2 == 1][:k]
    closest = code.designed_distance + 1
    assert np.sum(distances(words) == closest) < 0.75 * np.sum(distances(first) == closest)

    def smaller_side(bits):
        ones = bits.sum(axis=0)
        return np.minimum(ones, k - ones).min()

    assert smaller_side(words) >= 0.4 * k > smaller_side(first)


def test_columns_of_twenty_classes_are_even():
    """Of the 63 columns none has fewer than 7 of 20 classes on a side; the first words have 1."""
    ones = chosen_words(63, 20).sum(axis=0)
    assert ones.min() >= 7
    assert ones.max() <= 13


def test_more_classes_keep_the_words_of_fewer():
    assert_array_equal(BCH(63).matrix(20)[:12], BCH(63).matrix(12))
    assert_array_equal(BCH(15).matrix(40)[:20], BCH(15).matrix(20))


@pytest.mark.parametrize("length", LENGTHS)
def test_every_word_can_be_used(length):
    """All pairs of the smallest code, and the largest code where there are few enough."""
    assert np.unique(BCH(length).matrix(length + 1), axis=0).shape[0] == length + 1
    if length == 15:
        assert np.unique(BCH(15).matrix(1024), axis=0).shape[0] == 1024


# ---------------------------------------------------------------------------------------------
# Decoding
# ---------------------------------------------------------------------------------------------


@each_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decoding", ["correlation", "hamming"])
def test_exact_words_have_a_value_of_one(length, k, dtype, decoding):
    coding = BCH(length, decoding)
    matrix = coding.matrix(k)
    values = coding.decision_values(matrix.astype(dtype), matrix)
    assert values.dtype == dtype
    assert values.shape == (k, k)
    assert_array_equal(np.diag(values), dtype(1.0))
    others = values[~np.eye(k, dtype=bool)]
    assert others.max() < 1.0
    next_best = 1.0 - 2.0 * distances(matrix).min() / matrix.shape[1]
    assert_allclose(others.max(), next_best, rtol=0, atol=np.finfo(dtype).eps)


@each_case
def test_hamming_decoding_corrects_half_the_designed_distance(length, k):
    rng = np.random.default_rng(length + k)
    coding = BCH(length, "hamming")
    matrix = coding.matrix(k)
    errors = (coding.designed_distance(k) - 1) // 2
    classes = rng.integers(k, size=200)
    columns = matrix[classes] * rng.uniform(0.1, 3.0, (200, matrix.shape[1]))
    for row in columns:
        row[rng.choice(row.size, errors, replace=False)] *= -1.0
    values = coding.decision_values(columns, matrix)
    assert_array_equal(np.argmax(values, axis=1), classes)
    assert_allclose(values.max(axis=1), 1.0 - 2.0 * errors / matrix.shape[1], rtol=1e-14)


def test_the_two_decodings_by_hand():
    matrix = np.array([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    columns = np.array([[0.5, 0.0, 2.0]])
    assert_allclose(BCH().decision_values(columns, matrix), [[-0.5, 0.5]])
    assert_allclose(BCH(decoding="hamming").decision_values(columns, matrix), [[0.0, 0.0]])


@pytest.mark.parametrize("coding", [OneVsAll(), OneVsOne(), BCH(15), BCH(31), BCH(63)])
@pytest.mark.parametrize("k", [2, 3, 5, 16])
def test_columns_linear_in_the_indicators_have_the_order_of_one_vs_all(coding, k):
    indicators = np.random.default_rng(k).standard_normal((50, k))
    matrix = coding.matrix(k)
    values = coding.decision_values(indicators @ matrix, matrix)
    assert_array_equal(np.argsort(values, axis=1), np.argsort(indicators, axis=1))


def test_one_vs_all():
    matrix = OneVsAll().matrix(4)
    assert_array_equal(matrix, 2 * np.eye(4) - 1)
    columns = np.random.default_rng(0).standard_normal((5, 4))
    assert_array_equal(OneVsAll().decision_values(columns, matrix), columns)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_one_vs_one_is_that_of_scikit_learn(k):
    matrix = OneVsOne().matrix(k)
    assert matrix.shape == (k, k * (k - 1) // 2)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    for column, (i, j) in zip(matrix.T, pairs, strict=True):
        assert_array_equal(column, np.eye(k)[i] - np.eye(k)[j])
    columns = 5.0 * np.random.default_rng(k).standard_normal((40, len(pairs)))
    # scikit-learn's columns are above zero for the second class
    expected = _ovr_decision_function((columns < 0).astype(int), -columns, k)
    assert_allclose(OneVsOne().decision_values(columns, matrix), expected, rtol=1e-13)


def test_one_vs_one_at_zero_votes_for_neither():
    matrix = OneVsOne().matrix(3)
    assert_array_equal(OneVsOne().decision_values(np.zeros((1, 3)), matrix), np.zeros((1, 3)))
    # a tie of votes 1, 1, 1 is broken by the margins, and no margin beats a vote
    circle = OneVsOne().decision_values(np.array([[1.0, -3.0, 1.0]]), matrix)
    assert np.argmax(circle) == 2
    large = OneVsOne().decision_values(np.array([[0.1, 0.1, 1e9]]), matrix)
    assert np.argmax(large) == 0


@each_coding
def test_values_have_the_type_of_the_columns(coding):
    matrix = coding.matrix(5)
    columns = np.random.default_rng(0).standard_normal((7, matrix.shape[1]))
    double = coding.decision_values(columns, matrix)
    single = coding.decision_values(columns.astype(np.float32), matrix)
    assert double.dtype == np.float64
    assert single.dtype == np.float32
    assert double.shape == single.shape == (7, 5)
    assert_allclose(single, double, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------


def test_parameters_are_stored_and_nothing_else():
    coding = BCH(31, decoding="hamming")
    assert coding.get_params() == {"length": 31, "decoding": "hamming"}
    assert vars(clone(coding)) == vars(coding)
    assert repr(coding) == "BCH(decoding='hamming', length=31)"
    coding.set_params(length=15)
    assert coding.matrix(5).shape == (5, 15)
    assert vars(BCH("nonsense", None)) == {"length": "nonsense", "decoding": None}
    for plain in (OneVsAll(), OneVsOne()):
        assert clone(plain).get_params() == {}


@pytest.mark.parametrize("length", [16, 7, 255, 0, -63, True, 63.0, "63", None, [63]])
def test_bad_lengths_are_refused(length):
    with pytest.raises(ValueError, match=r"BCH\(length=.*\): length must be one of 15, 31, 63 or"):
        BCH(length).check_parameters()
    with pytest.raises(ValueError, match="length must be"):
        BCH(length).matrix(3)


@pytest.mark.parametrize("decoding", ["Hamming", "", None, True, 1, ["hamming"]])
def test_bad_decodings_are_refused(decoding):
    expected = r'BCH\(decoding=.*\): decoding must be one of "correlation" or "hamming"'
    with pytest.raises(ValueError, match=expected):
        BCH(decoding=decoding).check_parameters()
    with pytest.raises(ValueError, match="decoding must be"):
        BCH(decoding=decoding).decision_values(np.ones((1, 3)), np.ones((2, 3)))


@each_coding
@pytest.mark.parametrize("k", [1, 0, -2, True, 3.0, "3", None])
def test_bad_numbers_of_classes_are_refused(coding, k):
    with pytest.raises(ValueError, match=r"k=.*: the number of classes, an integer of at least"):
        coding.matrix(k)


@each_coding
def test_numbers_of_numpy_are_numbers(coding):
    assert_array_equal(coding.matrix(np.int64(4)), coding.matrix(4))
    assert BCH(np.int64(31)).dimension(np.int32(32)) == 6


@pytest.mark.parametrize(
    ("length", "k", "advice"),
    [
        (15, 1025, r"words for 1024 classes, and there are 1025: use length=31, 63 or 127$"),
        (127, 16385, r"words for 16384 classes, and there are 16385: use length=31 or 63$"),
        (127, 32768, r"words for 16384 classes, and there are 32768: use length=31 or 63$"),
        (63, 32769, r"words for 32768 classes, and there are 32769: use OneVsAll\(\)$"),
    ],
)
def test_too_many_classes(length, k, advice):
    coding = BCH(length)
    for ask in (coding.matrix, coding.dimension, coding.designed_distance):
        with pytest.raises(ValueError, match=advice):
            ask(k)


@pytest.mark.parametrize(("length", "most"), [(15, 1024), (31, 2**15), (63, 2**15), (127, 2**14)])
def test_as_many_classes_as_there_are(length, most):
    assert BCH(length).dimension(most) <= LARGEST_DIMENSION
    assert BCH(length).designed_distance(most) >= 3


@each_coding
def test_columns_that_do_not_fit_are_refused(coding):
    matrix = coding.matrix(4)
    expected = rf"columns of shape .* and a code matrix of shape \(4, {matrix.shape[1]}\): an array"
    for columns in (np.ones((3, matrix.shape[1] + 1)), np.ones(matrix.shape[1])):
        with pytest.raises(ValueError, match=expected):
            coding.decision_values(columns, matrix)
