"""Tests of pages in a browser, or without a network: what may be missing, and what contrast is."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from tools.browser import missing, open_browser


def cannot_be_tested(why):
    """A skip; where everything has to be there, as ``.ci/run`` says, a failure."""
    (pytest.fail if os.environ.get("SQUAREONE_BROWSER") == "required" else pytest.skip)(why)


def unshared(*flags):
    """``unshare`` with these flags, where namespaces are allowed."""
    unshare = shutil.which("unshare")
    if unshare is None:
        cannot_be_tested("unshare is not there, which takes the network away")
    done = subprocess.run([unshare, *flags, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        cannot_be_tested(f"namespaces are not allowed here: {done.stderr.strip()}")
    return [unshare, *flags]


@contextmanager
def chromium():
    """A driver of the browser."""
    lacking = missing()
    if lacking:
        cannot_be_tested(lacking)
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
