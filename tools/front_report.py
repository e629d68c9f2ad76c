"""The picture of the README, light and dark, the top of a report: ``python -m tools.front_report``.

It takes a minute, and needs chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.browser import open_browser, picture, show
from tools.front_chart import FOLDER
from tools.ten_minutes import table

#: In pixels.
WIDTH, HEIGHT = 1000, 660


def main() -> None:
    """Fit the table of "Ten minutes with a CSV", and look at its report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(folder)
        command = ["-m", "squareone", "fit", "patients.csv", "--target", "progression"]
        subprocess.run([sys.executable, *command], cwd=folder, check=True)
        with open_browser() as driver:
            for scheme in ("light", "dark"):
                show(driver, folder / "patients.html", WIDTH, scheme)
                (FOLDER / f"report-{scheme}.png").write_bytes(picture(driver, WIDTH, HEIGHT))


if __name__ == "__main__":
    main()
