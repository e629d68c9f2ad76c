"""Ten pages of the built site under axe-core: ``python -m tools.accessibility``.

Each page that ``make docs`` built is looked at in three widths, light and dark, in chromium.
axe-core comes from the npm registry by ``npm pack``, or is a file: ``--axe axe.min.js``. The exit
status is 1 where anything serious or critical was found. What axe cannot decide by itself, such as
text over pictures, is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .browser import emulate, missing, open_browser

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
VERSION = "4.14.1"
PAGES = (
    "index", "install", "guide/index", "guide/which", "from_csv", "comparison", "coming_from",
    "reference", "derivations", "auto_examples/index",
)  # fmt: skip
WIDTHS = (390, 820, 1400)
SCHEMES = ("light", "dark")
SERIOUS = ("serious", "critical")

# Colours on their way from one theme to the other would be seen as a lack of contrast.
_READY = (
    "return document.readyState === 'complete' && document.fonts.status === 'loaded' "
    "&& document.getAnimations().length === 0"
)
_RUN = """
const done = arguments[0];
axe.run(document, {resultTypes: ['violations']}).then(
  found => done(found.violations.map(rule => [rule.impact, rule.id, rule.nodes.length,
    rule.nodes[0].target.join(' '), rule.nodes[0].failureSummary])),
  error => done(String(error)));
"""


class _Quiet(SimpleHTTPRequestHandler):
    """Files without a line for each of them."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder: axe reads style sheets, which a page of ``file://`` may not."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def fetched_axe() -> str:
    """The script of axe-core, from the npm registry."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as packed:
            script = packed.extractfile("package/axe.min.js")
            assert script is not None
            return script.read().decode()


def findings(driver: Any, axe: str) -> list[list[Any]]:
    """What axe finds in the page that is open: impact, rule, places, the first, and what to do."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 60).until(lambda d: d.execute_script(_READY))
    driver.execute_script(axe)
    found = driver.execute_async_script(_RUN)
    if isinstance(found, str):
        raise RuntimeError(f"axe did not run on {driver.current_url}: {found}")
    return list(found)


def main() -> int:
    """All pages; the number of serious findings decides the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES, help="without .html; ten by default")
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--axe", type=Path, help="axe.min.js, in place of the npm registry's")
    arguments = parser.parse_args()
    lacking = missing()
    absent = [page for page in arguments.pages if not (arguments.site / f"{page}.html").exists()]
    if lacking or absent:
        parser.error(lacking or f"{arguments.site} has no {', '.join(absent)}: make docs builds it")
    axe = arguments.axe.read_text() if arguments.axe else fetched_axe()
    looked, serious = 0, 0
    with served(arguments.site) as address, open_browser() as driver:
        driver.set_script_timeout(120)
        for page in arguments.pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    emulate(driver, width, scheme)
                    driver.get(f"{address}/{page}.html")
                    looked += 1
                    for impact, rule, places, first, remedy in findings(driver, axe):
                        serious += impact in SERIOUS
                        view = f"{page}, {width} px, {scheme}"
                        print(f"{view}: {impact}: {rule}, {places} ×, first {first}")
                        if impact in SERIOUS:
                            print("    " + remedy.replace("\n", "\n    "))
    print(f"{looked} views of {len(arguments.pages)} pages: {serious} serious or critical findings")
    return 1 if serious else 0


if __name__ == "__main__":
    sys.exit(main())
