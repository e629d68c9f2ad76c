"""Code on the pages that is no doctest: Python runs on small data, commands and options exist."""

import ast
import inspect
import os
import re
import shlex
import subprocess
import sys

import click
import pytest
from sklearn.datasets import make_classification

import squareone
from squareone.errors import DeviceNotFoundError
from tests.docs.commands import ROOT, check, check_arguments, subcommands

PAGES = [*(ROOT / "docs").glob("*.rst"), *(ROOT / "docs" / "guide").glob("*.rst")]


def blocks(path, *kinds):
    """The code blocks of a page that are of one of these kinds."""
    kind = "|".join(kinds)
    found = re.findall(
        rf"^( *)\.\. code-block:: (?:{kind})\n\n((?:\1 {{3}}.*\n|\n)+)",
        path.read_text(),
        flags=re.M,
    )
    return [inspect.cleandoc(code) for _, code in found]


PYTHON = {
    f"{path.stem}-{number}": code
    for path in PAGES
    for number, code in enumerate(blocks(path, "python"))
}
COMMANDS = [
    line.removeprefix("$ ")
    for path in PAGES
    for code in blocks(path, "shell", "console")
    for line in code.splitlines()
    if line.strip() and not line.startswith("#")
] + [
    line.removeprefix("$ ")
    for path in (ROOT / "docs" / "ten_minutes").glob("*.txt")
    for line in path.read_text().splitlines()
    if line.startswith("$ ")
]
OPTIONS = [
    (path.stem, option)
    for path in PAGES
    for option in re.findall(r"``(--[^`]*)``", path.read_text())
    if "``python -m benchmarks" not in path.read_text().split(f"``{option}``")[0][-120:]
]


def small():
    X, y = make_classification(60, random_state=0)
    return {"X": X, "y": y, "X_new": X[:5]}


def test_blocks_are_found():
    assert set(PYTHON) == {"index-0", "estimators-0", "estimators-1", "gpu-0", "gpu-1"}
    assert "squareone fit patients.csv --target progression" in COMMANDS
    assert len(COMMANDS) >= 12


def test_the_first_page_runs():
    exec(PYTHON["index-0"], small())


def test_constructors_are_told_as_they_are():
    calls = re.findall(r"^(RLS\w+)\((.*?)\)$", PYTHON["estimators-0"], flags=re.M | re.S)
    methods = re.findall(r"^(fit|plan)\((.*?)\)$", PYTHON["estimators-0"], flags=re.M | re.S)
    told = {}
    for name, text in calls:
        call = ast.parse(f"f({text.replace('*, ', '').replace('..., ', '')})", mode="eval").body
        told[name] = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    common = told["RLSRegressor"].copy()
    del common["scale"]
    for name, parameters in (
        ("RLSRegressor", told["RLSRegressor"]),
        ("RLSClassifier", common | told["RLSClassifier"]),
    ):
        real = inspect.signature(getattr(squareone, name)).parameters
        assert {key: each.default for key, each in real.items()} == parameters
    for name, text in methods:
        real = inspect.signature(getattr(squareone.RLSRegressor, name)).parameters
        assert ["self", *re.findall(r"(\w+)(?:=None)?(?:,|$)", text)] == list(real)


def test_a_progress_bar_runs():
    pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    exec(PYTHON["estimators-1"], small() | {"RLSRegressor": squareone.RLSRegressor})


def test_a_device_is_used_or_its_absence_said():
    try:
        exec(PYTHON["gpu-0"], small() | {"RLSClassifier": squareone.RLSClassifier})
    except (DeviceNotFoundError, ImportError) as error:
        assert re.search("torch|cuda", str(error), flags=re.I)  # noqa: PT017


@pytest.mark.thorough
def test_dispatch_to_other_arrays():
    code = "import numpy as np, sklearn\nfrom squareone import RLSRegressor\n"
    code += "X = np.linspace(0, 1, 40)[:, None]; y = X[:, 0]\n" + PYTHON["gpu-1"]
    code += "\nassert model.predict(X).shape == (40,)"
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command):
    check(command)


def test_nothing_is_installed_from_an_index():
    """The name is on none: a stranger could take it. What is installed is a file or a folder."""
    installed = [shlex.split(each)[-1] for each in COMMANDS if "pip install" in each]
    assert len(installed) >= 4
    assert all(each.startswith(".") or each.endswith(".whl") for each in installed)


@pytest.mark.parametrize(("page", "option"), OPTIONS)
def test_options_exist(page, option):
    """Each in some command, on the page of labelling in that one; with the value beside it."""
    name, _, value = option.partition(" ")
    commands = subcommands()
    found = [
        parameter
        for key, command in commands.items()
        if page != "labelling" or key == "label"
        for parameter in command.params
        if name in parameter.opts
    ]
    assert found
    choices = [each.type.choices for each in found if isinstance(each.type, click.Choice)]
    if value and choices:
        assert any(value.split()[0] in names for names in choices)


@pytest.mark.parametrize(
    "wrong",
    [
        ["fit", "a.csv", "--tagret", "b"],
        ["fit", "--target", "b"],
        ["fits", "a.csv"],
        ["fit", "a.csv", "--target", "b", "--task", "guessing"],
        ["suspects", "a.csv", "--target", "b", "--rows", "five"],
    ],
    ids=" ".join,
)
def test_commands_that_do_not_exist_are_found(wrong):
    with pytest.raises((click.UsageError, KeyError)):
        check_arguments(wrong)
