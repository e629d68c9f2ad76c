"""The reference has every error, and every name of the library that a page teaches."""

import importlib
import re
from pathlib import Path

import pytest

from squareone import errors

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.rst"),
    *(ROOT / "docs" / "guide").glob("*.rst"),
]


def listed():
    """The names in the reference, with their modules."""
    names, module = set(), "squareone"
    for line in (ROOT / "docs" / "reference.rst").read_text().splitlines():
        if found := re.match(r"\.\. (?:module|currentmodule):: ([\w.]+)$", line):
            module = found[1]
        elif found := re.match(r"   ([A-Za-z][\w.]*)$", line):
            names.add(found[1] if found[1].startswith("squareone.") else f"{module}.{found[1]}")
    return names


def taught(path):
    """What the code of a page imports from the library."""
    for module, names in re.findall(
        r"from (squareone[\w.]*) import (\([^)]*\)|[^(\n]+)", path.read_text()
    ):
        for name in re.findall(r"\w+", re.sub(r"#.*|\.\.\.", "", names)):
            yield module, name


def test_every_error_is_in_the_reference():
    assert {f"squareone.errors.{name}" for name in errors.__all__} <= listed()


@pytest.mark.parametrize("name", sorted(listed()))
def test_what_is_listed_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_imports_is_in_the_reference(path):
    public = {name.rpartition(".")[2] for name in listed()}
    modules = {name.rpartition(".")[0] for name in listed()}
    assert {
        f"{module}.{name}"
        for module, name in taught(path)
        if f"{module}.{name}" not in modules and (name not in public or module not in modules)
    } == set()
