"""The first page: short, its commands exist, its links lead somewhere, its chart is of the results.

Its Python is run as a doctest.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from squareone.version import __version__
from tests.docs.commands import check
from tools.front_chart import CHOICES, COLOURS, FOLDER, chart, points, tables
from tools.ten_minutes import COMMANDS as TEN_MINUTES
from tools.ten_minutes import table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.M | re.S)
COMMANDS = [
    line.removeprefix("$ ")
    for kind, block in BLOCKS
    if kind in ("shell", "console")
    for line in block.splitlines()
]
LINKS = re.findall(r"\]\(([^)]+)\)", README) + re.findall(r'(?:src|srcset)="([^"]+)"', README)


def test_it_is_short():
    assert len(README.splitlines()) <= 120
    python = [block for kind, block in BLOCKS if kind == "python"]
    assert len(python) == 1
    assert python[0].count(">>>") <= 8


@pytest.mark.parametrize("link", LINKS)
def test_links_lead_to_files(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command):
    check(command)


@pytest.mark.parametrize("module", re.findall(r"python -m ([\w.]+)", README))
def test_modules_exist(module):
    path = ROOT.joinpath(*module.split("."))
    assert module == "pip" or path.with_suffix(".py").exists() or path.is_dir()


@pytest.mark.parametrize("scheme", COLOURS)
def test_the_chart_is_of_the_results(scheme):
    message = "python -m tools.front_chart draws it anew"
    assert (FOLDER / f"chart-{scheme}.svg").read_text() == chart(COLOURS[scheme]), message


def test_every_choice_is_in_the_chart():
    assert {point.choice for point in points()} == set(CHOICES)
    others = [row for row in tables("usual_choices") if row["contestant"] != "squareone"]
    sets = len(tables("classification")) + len(tables("regression"))
    assert len(points()) == len(others) + sets


def test_losses_are_those_of_the_results():
    measured = {(point.set, point.choice): point.error for point in points()}
    section = README.partition("## When not to use it\n")[2].partition("##")[0]
    stated = 0
    for item in section.split("\n- "):
        choice = re.search(r"\*\*(.*?)\*\*", item)
        for error, name in re.findall(r"([\d.]+) ×(?: ours)? on\s+`(\w+)`", item):
            assert f"{measured[name, choice[1]]:.2f}" == error
            stated += 1
    assert stated == section.count("×") == 9


def beside(choice):
    """The sets on which a choice is slower, less and more accurate, and how many there are."""
    own = [point for point in points() if point.choice == choice]
    counted = (
        sum(point.time > 1 for point in own),
        len(own),
        sum(point.error > 1.02 for point in own),
        sum(point.error < 0.98 for point in own),
    )
    return tuple(map(str, counted))


def test_wins_and_losses_are_counted_from_the_results():
    rows = re.findall(
        r"^\| (\w+(?: process| trees)?)\b.* \| on (\d+) of (\d+) sets \| (\d+) \| (\d+) \|$",
        README,
        flags=re.M,
    )
    assert {choice for choice, *_ in rows} == set(CHOICES)
    assert len(rows) == len(CHOICES)
    for choice, *counts in rows:
        assert tuple(counts) == beside(choice)


def test_seconds_are_those_of_the_results():
    stated = re.search(
        r"in seconds: ([\d.]+) to ([\d.]+) of one core .*? ([\d.]+) on two cores", README, re.S
    )
    ours = [
        float(row["seconds"]) for row in tables("usual_choices") if row["contestant"] == "squareone"
    ]
    (letter,) = [row["fit"] for row in tables("classification") if row["set"] == "letter"]
    seen = (f"{min(ours):.1f}", f"{max(ours):.1f}", f"{float(letter.removesuffix(' s')):.0f}")
    assert stated.groups() == seen


def figures(text):
    """What is off by how much, in a verdict or what is told of one."""
    spread = r" \(± [^)]*\)"
    return re.findall(r"off by (\d+\.\d).*? (\d+\.\d).*? by (\d+\.\d)", re.sub(spread, "", text))


def test_figures_of_the_picture_are_those_of_the_report():
    shown = (ROOT / "docs" / "ten_minutes" / "fit.txt").read_text()
    page = (ROOT / "docs" / "index.rst").read_text()
    assert len(figures(shown)) == 1
    assert figures(shown) == figures(README) == figures(page)


@pytest.mark.thorough
def test_figures_of_the_picture_are_still_found(tmp_path):
    table(tmp_path)
    command = [sys.executable, "-m", *TEN_MINUTES["fit"].split()]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    message = "python -m tools.front_report and python -m tools.ten_minutes make them anew"
    assert figures(done.stderr) == figures(README), message


def test_files_of_a_release_have_the_version():
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"squareone-{__version__}-py3" in (ROOT / "docs" / "install.rst").read_text()
