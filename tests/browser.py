"""Debian's chromium without a window, for tests of pages."""

import os
import shutil
import tempfile
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def chromium():
    """A driver of the browser; where it has to be there, its absence is a failure."""
    required = os.environ.get("SQUAREONE_BROWSER") == "required"
    there = shutil.which("chromium") and shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        webdriver = None
    if not there or webdriver is None:
        if required:
            pytest.fail("chromium, its driver and selenium are expected: .ci/browser")
        pytest.skip("no browser: .ci/browser installs one")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


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


def emulate(browser, width, scheme):
    """A window so wide, in a light or dark room."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
