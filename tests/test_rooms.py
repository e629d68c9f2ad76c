"""The order of the house: one name for a file, and solvers known by the registry alone."""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import squareone
from squareone import RLSRegressor
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
CLONE = Path(__file__).parents[1]
REGISTRY = ROOT / "solvers" / "registry.py"
OUTSIDE = [path for path in FILES if path != REGISTRY]
LONGEST_FUNCTION = 60
MOST_FILES_OF_A_FIT = 46


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


def test_every_room_is_in_the_table_and_on_the_page_for_contributors():
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    contributing = (CLONE / "CONTRIBUTING.md").read_text()
    table = contributing.partition("| room |")[2].partition("\n\n")[0]
    assert {room for room in rooms if f"`{room}/`" not in table} == set()
    assert {file for file in files if f"`{file}.py`" not in table} == set()
    page = (CLONE / "docs" / "architecture.rst").read_text()
    assert {room for room in rooms if f"``{room}``" not in page} == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.rst"])
def test_files_that_a_page_for_contributors_names_are_there(page):
    """With their room, or by themselves: a file is found by its name alone."""
    named = set(re.findall(r"[\w/]+\.py\b", (CLONE / page).read_text()))
    assert len(named) > 10
    theirs = {str(path.relative_to(CLONE)) for path in CLONE.rglob("*.py")}
    ours = {f"src/squareone/{name_of(path)}" for path in FILES}
    known = {*theirs, *ours}
    assert {
        name for name in named if not any(f"/{each}".endswith(f"/{name}") for each in known)
    } == set()


def test_a_fit_walks_through_few_files():
    """How many files someone reads who follows ``RLSRegressor().fit`` from its first line on."""
    X = np.random.default_rng(0).standard_normal((120, 3))
    model = RLSRegressor().fit(X, X[:, 0])  # what is imported late is there now
    seen = set()

    def note(frame, event, _):
        seen.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        model.fit(X, X[:, 0])
    finally:
        sys.setprofile(before)
    files = {path for path in FILES if str(path) in seen}
    assert {ROOT / "fitting" / "procedure.py", ROOT / "solvers" / "exact" / "spectral.py"} <= files
    assert len(files) <= MOST_FILES_OF_A_FIT, sorted(map(name_of, files))


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
