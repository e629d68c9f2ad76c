"""Pictures of the page of ``squareone label``: ``python -m tools.labelling_pages``.

They go into ``docs/guide/labelling``. A simulated person answers some questions first. It needs
chromium.
"""

from __future__ import annotations

import base64
import csv
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .browser import open_browser

FOLDER = Path(__file__).parents[1] / "docs" / "guide" / "labelling"
#: Pictures: width, height, and the panel that is open.
PICTURES = {
    "wide": (1000, 480, None),
    "narrow": (390, 640, None),
    "progress": (820, 760, "progress"),
}
_SPAM = ["offer", "prize", "click", "money", "winner", "free", "cheap", "deal"]
_HAM = ["meeting", "report", "lunch", "project", "team", "review", "agenda", "draft"]
_COMMON = ["the", "a", "for", "of", "to", "we", "you", "it", "is", "on"]
_ANSWERS = 230


def table(path: Path) -> None:
    """Mails of two kinds, which share most of their words."""
    draw = random.Random(0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        for _ in range(1200):
            own = _SPAM if draw.random() < 0.35 else _HAM
            words = draw.choices(own, k=3) + draw.choices(_SPAM + _HAM, k=4)
            words += draw.choices(_COMMON, k=9)
            draw.shuffle(words)
            writer.writerow([" ".join(words).capitalize() + "."])


def label_of(text: str) -> str:
    """What the simulated person says."""
    words = re.findall(r"\w+", text.lower())
    return "1" if sum((w in _SPAM) - (w in _HAM) for w in words) > 0 else "2"


def answer(driver: Any, count: int) -> None:
    """Answer so many questions, or until there are none."""
    from selenium.webdriver.support.ui import WebDriverWait

    shown = "return document.querySelector('#labels button')?.disabled === false"
    ended = "return document.getElementById('pause-do')?.hidden === false && row.hidden"
    for _ in range(count):
        WebDriverWait(driver, 60, 0.02).until(
            lambda d: d.execute_script(shown) or d.execute_script(ended)
        )
        if driver.execute_script(ended):
            driver.find_element("id", "audit-only").click()
            continue
        text = driver.find_element("id", "text").text
        driver.find_element("tag name", "body").send_keys(label_of(text))


def settle(driver: Any) -> None:
    """Until a row is shown, and every answer has been said to be on the disk."""
    from selenium.webdriver.support.ui import WebDriverWait

    settled = "return !row.hidden && document.getElementById('saved').textContent === 'all saved'"
    WebDriverWait(driver, 60, 0.02).until(lambda d: d.execute_script(settled))


def main() -> None:
    """Label, and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_browser() as driver:
        path = Path(folder) / "mails.csv"
        table(path)
        command = [sys.executable, "-m", "squareone", "label", str(path), "--text", "body"]
        command += ["--labels", "spam,ham", "--no-browser"]
        page = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert page.stderr is not None
        link = next(filter(None, (re.search(r"http://\S+", line) for line in page.stderr))).group()
        try:
            driver.get(link)
            answer(driver, _ANSWERS)
            settle(driver)
            for name, (width, height, panel) in PICTURES.items():
                driver.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
                )
                if panel:
                    driver.find_element("css selector", f"[data-panel={panel}]").click()
                    from selenium.webdriver.support.ui import WebDriverWait

                    WebDriverWait(driver, 60).until(
                        lambda d: "Looking" not in d.find_element("id", "figures").text
                    )
                shot = driver.execute_cdp_cmd("Page.captureScreenshot", {})
                (FOLDER / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            page.terminate()
            page.wait()


if __name__ == "__main__":
    main()
