"""The order of the house: one name for a file, and solvers known by the registry alone."""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest

import squareone
from squareone.solvers.registry import SOLVERS

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
ROOT = Path(squareone.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
REGISTRY = ROOT / "solvers" / "registry.py"
OUTSIDE = [path for path in FILES if path != REGISTRY]
LONGEST_FUNCTION = 60


def name_of(path):
    return str(path.relative_to(ROOT))


def lines_of_code(path):
    """Numbers of the lines that are neither empty, comments nor docstrings."""
    text = path.read_text()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, docstring.end_lineno + 1))
    return lines


def test_no_name_of_a_file_comes_twice():
    counts = Counter(path.stem for path in FILES if path.stem not in ("__init__", "base"))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_says_what_it_holds(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert len(docstring.splitlines()[0]) > 12


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_function_fits_on_a_page(path):
    lines = lines_of_code(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, FUNCTIONS):
            own = sum(node.lineno <= line <= node.end_lineno for line in lines)
            assert own <= LONGEST_FUNCTION, f"{node.name} has {own} lines of code"


@pytest.mark.parametrize("path", OUTSIDE, ids=name_of)
def test_no_solver_is_known_by_its_name(path):
    """Nothing outside compares with one, looks one up or asks which factor it has."""
    for node in ast.walk(ast.parse(path.read_text())):
        inside: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            inside = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            inside = [node.slice]
        literals = [
            each.value
            for part in inside
            for each in ast.walk(part)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        assert not set(literals) & set(SOLVERS), f"line {node.lineno}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = ast.unparse(node.args[1])
            assert "Factor" not in asked, f"line {node.lineno}: {asked}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_torch_is_known_in_one_room(path):
    """Nothing outside of ``devices`` imports it, or asks for an attribute of a module so named."""
    if path.parent.name == "devices":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        imported: list[str] = []
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported = [node.module or ""]
        elif isinstance(node, ast.Name):
            imported = [node.id]
        roots = {name.partition(".")[0] for name in imported}
        assert not roots & {"torch", "triton", "cupy"}, f"line {node.lineno}"
