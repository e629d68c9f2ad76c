"""Tests of pages in a browser: where it may be missing, and what contrast a page has."""

import os
from contextlib import contextmanager

import pytest

from tools.browser import missing, open_browser


@contextmanager
def chromium():
    """A driver of the browser; where it has to be there, its absence is a failure."""
    lacking = missing()
    if lacking:
        (pytest.fail if os.environ.get("SQUAREONE_BROWSER") == "required" else pytest.skip)(lacking)
    with open_browser() as driver:
        yield driver


#: The least contrast of what is shown, and of which element.
CONTRAST = """
const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
const paper = element => { for (let e = element; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor;
  if (c !== 'rgba(0, 0, 0, 0)' && c !== 'transparent') return c; } return 'rgb(255, 255, 255)'; };
let worst = [99, ''];
const all = 'p, h1, h2, h3, td, th, dt, dd, summary, figcaption, pre, button, kbd, label, svg text';
for (const e of document.querySelectorAll(all)) {
  if (!e.checkVisibility() || e.closest(':disabled')) continue;
  const s = getComputedStyle(e), ink = e.closest('svg') ? s.fill : s.color;
  const a = light(ink), b = light(paper(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < worst[0]) worst = [ratio, e.tagName + ' ' + e.textContent.slice(0, 40)];
}
return worst;
"""
