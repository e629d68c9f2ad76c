"""The HTML report: what it says, what it keeps to itself, and how it looks in a browser."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

import squareone
from squareone import TableClassifier, TableRegressor
from squareone.report import html
from squareone.report.html_report import _choice
from squareone.report.outer_errors import OuterErrors
from squareone.report.verdict import number, percent, share_explained, verdict_of
from squareone.tables import TableEncoder
from tests.browser import CONTRAST, cannot_be_tested, chromium, unshared
from tools.browser import picture, show

SECRETS = ["Quisquilia", "Xanthippe", "918273.125", "Zebedaeus"]


def people(n=120, seed=0):
    """A table whose cells would be recognised, and two targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(0, 1, n).round(3),
            "group": rng.choice(["red", "blue"], n),
            "name": [f"{rng.choice(SECRETS[:2])} {i}" for i in range(n)],
            "<script>alert(1)</script>": rng.standard_normal(n),
            "cost $x^2$ & more": rng.standard_normal(n),
        }
    )
    frame.loc[3, "group"] = SECRETS[3]
    y = 3 * frame["size"] + (frame["group"] == "red") + 0.1 * rng.standard_normal(n)
    y[5] = 918273.125 / 1e5
    classes = np.where(y > 2, "many", "few").astype(object)
    classes[7] = SECRETS[0]  # a level of one row
    return frame, pd.Series(y, name="<b>rent</b>"), classes


@pytest.fixture(scope="module")
def reports():
    frame, y, classes = people()
    encoder = TableEncoder(random_state=0)
    first = TableRegressor("gaussian", encoder=encoder).fit(frame, y)
    second = TableClassifier("gaussian", encoder=encoder).fit(frame, classes)
    binary = np.where(classes == "many", "many", "few")
    third = TableClassifier("gaussian", encoder=encoder).fit(frame, binary)
    large = 12_345 * y
    fourth = TableRegressor("gaussian", encoder=encoder).fit(frame, large)
    return {
        "numbers": html(first, frame, y),
        "large numbers": html(fourth, frame, large, quick=True),
        "classes": html(second, frame, classes, quick=True),
        "two classes": html(third, frame, binary, quick=True),
    }


KINDS = ["numbers", "large numbers", "classes", "two classes"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_one_file_without_scripts_and_network(reports, kind):
    text = reports[kind].text
    assert len(text.encode()) < 1_000_000
    assert "<script" not in text
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\s\"'<>]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_cell_is_in_it(reports, kind):
    text = reports[kind].text
    for secret in SECRETS:
        assert secret not in text
    for i in range(10, 100):
        assert f"{SECRETS[0]} {i}" not in text


def test_cells_are_shown_where_that_is_asked_for():
    frame, y, _ = people()
    model = TableRegressor("gaussian", encoder=TableEncoder(random_state=0)).fit(frame, y)
    text = html(model, frame, y, quick=True, show_rows=True).text
    assert "target" in text
    assert "size = 0." in text
    assert "shows values of rows" in text


def test_names_are_escaped(reports):
    text = reports["numbers"].text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>rent</b>" not in text
    assert "&lt;b&gt;rent&lt;/b&gt;" in text
    assert "cost $x^2$ &amp; more" in text  # not mathematics


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_says_what_it_shows(reports, kind):
    text = reports[kind].text
    figures = re.findall(r"<svg[^>]*>", text)
    assert figures
    for figure in figures:
        label = re.search(r'aria-label="([^"]{20,})"', figure)
        assert label, figure


def test_the_verdict_is_first_and_the_rest_in_order(reports):
    text = reports["numbers"].text
    parts = ["verdict", "error", "predictions", "intervals", "columns", "suspects", "choice"]
    places = [text.index('aria-label="verdict"')]
    places += [text.index(f'id="{part}"') for part in [*parts[1:], "checks", "plan", "made"]]
    assert places == sorted(places)


def test_the_brier_score_is_explained(reports):
    assert "Brier" not in reports["numbers"].text
    for kind in ("classes", "two classes"):
        page = reports[kind].text
        assert "mean square error of the probabilities, summed over the classes" in page
        outer = reports[kind].outer
        truth = np.eye(len(outer.classes))[outer.truth]
        score = np.square(outer.model - truth).sum(axis=1).mean()
        assert f'<td class="n">{number(score)}</td>' in page


@pytest.mark.parametrize("plainer", [False, True])
def test_why_the_best_candidate_was_not_taken(plainer):
    trials = {
        "kernel": np.array(["Gaussian()", "Matern()"]),
        "rounds": np.zeros(2, int),
        "power": np.zeros(2),
        "preparation": np.zeros(2, int),
        "rows": np.full(2, 90),
        "stage": np.ones(2, int),
        "score": np.array([-0.31, -0.30]),
        "chosen": np.array([plainer, not plainer]),
    }
    record = SimpleNamespace(learned=SimpleNamespace(trials=trials))
    found = _choice(SimpleNamespace(encoder=None, _recorded=lambda: record))
    assert [row[0] for row in found["rows"]] == ["Matern", "Gaussian"]
    assert found["plainer"] == plainer


def test_a_wrong_target_is_the_first_to_look_at(reports):
    report = reports["numbers"]
    row = re.search(r'id="suspects".*?<b>row ([\d,]+)</b>', report.text, re.DOTALL)
    assert row.group(1) == "6"  # counted from 1


def test_it_is_written_and_shown(reports, tmp_path):
    report = reports["numbers"]
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == report.text
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown


def test_other_estimators_and_unknown_codes_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(TypeError, match="TableRegressor or TableClassifier"):
        html(squareone.RLSRegressor("linear", alpha=1.0).fit(X, y), X, y)
    model = TableRegressor("linear", encoder=TableEncoder(drop_identifiers=False)).fit(X, y)
    with pytest.raises(ValueError, match="SQ001"):
        html(model, X, y, ignore=["SQ999"])


# --- verdicts ---


def errors_of(model, guess, trees=None, n=100, seed=0):
    """Errors of given sizes, of so many rows."""
    rng = np.random.default_rng(seed)
    truth = guess * rng.standard_normal(n)
    noise = rng.standard_normal(n)
    return OuterErrors(
        task="regression",
        rows=np.arange(n),
        folds=np.arange(n) % 5,
        truth=truth,
        model=truth + model * noise,
        guess=np.zeros(n),
        trees=None if trees is None else truth + trees * rng.standard_normal(n),
        how="",
    )


def test_what_verdicts_say():
    errors = errors_of(1.0, 10.0, trees=3.0)
    good = verdict_of(errors, "rent")
    assert good.useful
    assert (
        f"off by {number(errors_of(1.0, 10.0).error(errors_of(1.0, 10.0).model)[0])}"
        in good.headline
    )
    assert f"the mean is off by {number(errors.error(errors.guess)[0])}" in good.headline
    assert f"boosted trees by {number(errors.error(errors.trees)[0])}" in good.headline
    assert good.headline.count(". ") == 0  # one sentence
    assert "better than boosted trees, beyond chance" in good.trees
    assert "cannot be told" in verdict_of(errors_of(1.0, 10.0, trees=1.0), "rent").trees
    assert "worse than boosted trees" in verdict_of(errors_of(3.0, 10.0, trees=1.0), "rent").trees
    assert "too few rows to tell" in verdict_of(errors_of(9.0, 10.0, n=12), "rent").guessing
    same = errors_of(10.0, 10.0, n=40_000)
    same.model = 0.001 * same.truth[::-1]
    assert "next to nothing about rent" in verdict_of(same, "rent").guessing
    assert "worse than always guessing" in verdict_of(errors_of(40.0, 10.0), "rent").guessing


@pytest.mark.parametrize(
    ("value", "shown"),
    [(24123.4, "24,100"), (0.012345, "0.0123"), (0.0, "0"), (2.65, "2.65"), (np.inf, "unknown"),
     (1e-9, "1.00e-09"), (1e20, "1.00e+20"), (-3.14159, "-3.14")],
)  # fmt: skip
def test_numbers_are_short(value, shown):
    assert number(value) == shown


def test_shares_are_short():
    assert percent(0.1234) == "12.3 %"
    assert percent(0.891) == "89 %"
    shown = [share_explained(x) for x in (-0.08, -1e-5, 0.0, 0.0006, 0.43, 0.994, 0.996)]
    assert shown == ["nothing", "nothing", "nothing", "0.1 %", "43 %", "99 %", "nearly all"]


# --- in a browser ---

# Texts that are not whole inside of their figure.
CUT = """
const cut = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const frame = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll('text')) {
    const box = text.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) cut.push(text.textContent);
  }
}
return cut;
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_it_looks_right_in_a_browser(browser, reports, tmp_path, kind, scheme, width):
    path = tmp_path / "report.html"
    reports[kind].save(path)
    show(browser, path, width, scheme)
    for details in browser.find_elements("tag name", "details"):
        browser.execute_script("arguments[0].open = true", details)
    root = "document.documentElement"
    inner, outer = browser.execute_script(f"return [{root}.scrollWidth, {root}.clientWidth]")
    assert width - 20 < outer <= width  # a scroll bar
    assert inner <= outer, "it scrolls sideways"
    assert browser.get_log("browser") == []
    for figure in browser.find_elements("css selector", "figure svg"):
        assert figure.get_attribute("role") == "img"
        assert len(figure.get_attribute("aria-label")) > 20
        box = figure.rect
        assert 200 < box["width"] <= width
    assert browser.execute_script(CUT) == []
    levels = [int(e.tag_name[1]) for e in browser.find_elements("css selector", "h1, h2, h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    ratio, where = browser.execute_script(CONTRAST)
    assert ratio >= 4.5, where
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", paper)[0]) > 128) == (scheme == "light")
    folder = os.environ.get("SQUAREONE_SCREENSHOTS")
    if folder:
        name = f"{kind.replace(' ', '_')}_{width}_{scheme}.png"
        (Path(folder) / name).write_bytes(picture(browser, width))


def test_a_browser_without_a_network_shows_it(reports, tmp_path):
    reports["numbers"].save(tmp_path / "report.html")
    browser = shutil.which("chromium")
    if not browser:
        cannot_be_tested("chromium is not there: .ci/browser installs it")
    done = subprocess.run(
        [*unshared("-rn"), browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
         (tmp_path / "report.html").as_uri()],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert 'id="checks"' in done.stdout
