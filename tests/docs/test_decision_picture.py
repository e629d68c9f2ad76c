"""The picture of a decision shows its answers at every width, without scrolling."""

import json
import re
from pathlib import Path

import pytest

from tests.browser import chromium
from tools.browser import emulate

pytestmark = pytest.mark.thorough
DOCS = Path(__file__).parents[2] / "docs"
PAGE = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
#: What stands beyond the window or its own box, and what is shown.
BEYOND = """
const shown = [...document.querySelectorAll('svg text')].filter(e => e.checkVisibility());
const out = shown.filter(e => e.getBoundingClientRect().right > innerWidth);
const boxes = [...document.querySelectorAll('svg rect')].filter(e => e.checkVisibility());
const wide = shown.filter(e => {
  const t = e.getBoundingClientRect();
  const own = boxes.map(b => b.getBoundingClientRect())
    .find(b => b.top < t.top && t.bottom < b.bottom && b.left < t.right && t.left < b.right);
  return own && (t.left < own.left || t.right > own.right);
});
return [out, wide, shown].map(all => all.map(e => e.textContent));
"""


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_answers_are_shown(tmp_path, width):
    pytest.importorskip("sphinx")

    from docs._ext.decision_picture import picture

    text = (DOCS / "guide" / "which.rst").read_text()
    lines = re.findall(r"^   (\[.*\])$", text, flags=re.M)
    *questions, otherwise = map(json.loads, lines)
    style = (DOCS / "_static" / "wider.css").as_uri()
    page = tmp_path / "page.html"
    page.write_text(
        f'{PAGE}<link rel="stylesheet" href="{style}">'
        f'<div style="padding:0 16px;font-family:sans-serif">'
        f"{picture(questions, otherwise, 'a decision')}</div>"
    )
    with chromium() as driver:
        emulate(driver, width, "light")
        driver.get(page.as_uri())
        beyond, outside, shown = driver.execute_script(BEYOND)
    assert beyond == outside == []
    told = [line for question in questions for lines in question for line in lines] + otherwise
    assert sorted(set(shown) - {"yes", "no"}) == sorted(set(told))
