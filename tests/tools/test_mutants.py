"""What the mutation tool changes, and what it leaves alone."""

import ast
from pathlib import Path

import pytest

import squareone
from tools.mutation.mutants import draw, mutants_of

ROOMS = Path(squareone.__file__).parent


def _changed(source):
    return {
        mutant.applied(source.encode()).decode() for mutant in mutants_of("a.py", source.encode())
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"(a >= b)", "(a <= b)"}),
        ("a == b", {"(a != b)"}),
        ("a is None", {"(a is not None)"}),
        ("a < b <= c", {"(a >= b <= c)", "(a <= b <= c)", "(a < b > c)", "(a < b < c)"}),
        ("λ + b", {"(λ - b)"}),
        ("λ * (b / c)", {"(λ / (b / c))", "λ * ((b * c))"}),
        ("a += b", {"a -= b"}),
        ("f(3, 0.5)", {"f((4), 0.5)", "f(3, (1.5))"}),
        ("a and b", {"(a or b)"}),
        ("f(not a)", {"f((a))"}),
        ("if a:\n    f()", {"if (not a):\n    f()"}),
        ("b if f(a) else c", {"b if (not f(a)) else c"}),
        ("if a or b:\n    f()", {"if (not (a or b)):\n    f()", "if (a and b):\n    f()"}),
    ],
)
def test_changes(source, expected):
    assert _changed(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""2 + 2 < 5"""',
        "True",
        "x: Literal[3]",
        "def f(a: Literal[3]) -> Literal[4]: ...",
        "raise ValueError(a + b)",
        "warnings.warn(f(a + 1), stacklevel=2)",
        "NotPossibleError(1)",
        "f'{a + 1}'",
        "a + 'text'",
        "@f(3)\ndef g(): ...",
    ],
)
def test_left_alone(source):
    assert _changed(source) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("room", ["solvers", "selection", "fitting"])
def test_mutants_are_programs(room):
    for file in sorted((ROOMS / room).rglob("*.py")):
        source = file.read_bytes()
        for mutant in mutants_of(str(file), source)[::200]:
            assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


def test_drawn_from_covered_lines_and_once_from_a_line():
    source = b"a = b + c + d\nb = c < d\ne = (\n    3)\n"
    mutants = mutants_of("a.py", source)
    drawn = draw(mutants, {"a.py": {1, 4}}, 9, seed=0)
    assert sorted(mutant.line for mutant in drawn) == [1, 4]
    assert drawn == draw(mutants, {"a.py": {1, 4}}, 9, seed=0)
    assert draw(mutants, {}, 9, seed=0) == []
