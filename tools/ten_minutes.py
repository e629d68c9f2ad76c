"""What the page "Ten minutes with a CSV" shows, by running it: ``python -m tools.ten_minutes``.

The outputs of the commands and pictures of the report go into ``docs/ten_minutes``. It takes some
minutes, and needs chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from .browser import missing, open_browser, picture, show

FOLDER = Path(__file__).parents[1] / "docs" / "ten_minutes"
#: Files of outputs, and the commands.
COMMANDS = {
    "fit": "squareone fit patients.csv --target progression",
    "predict": "squareone predict patients.squareone new.csv --columns age --columns bmi",
    "inspect": "squareone inspect patients.squareone",
    "suspects": "squareone suspects patients.csv --target progression --quick --rows 5",
    "explain": "squareone explain patients.squareone new.csv --data patients.csv --row 1 --most 3",
    "compare": "squareone compare patients.csv --target progression --quick",
}
#: Pictures of the top of the report: width, height, and light or dark.
PICTURES = {
    "wide": (1400, 1500, "light"),
    "narrow": (390, 1500, "light"),
    "dark": (390, 1500, "dark"),
}


def table(folder: Path) -> None:
    """patients.csv, with words and gaps as people have them, and new.csv."""
    frame = load_diabetes(as_frame=True, scaled=False).frame.rename(
        columns={"target": "progression"}
    )
    frame["sex"] = np.where(frame["sex"] == 1, "f", "m")
    frame.loc[::25, "s6"] = np.nan
    frame[:400].to_csv(folder / "patients.csv", index=False)
    frame[400:406].drop(columns="progression").to_csv(folder / "new.csv", index=False)


def main() -> None:
    """Run the commands, and take the pictures."""
    if lacking := missing():
        raise FileNotFoundError(lacking)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        table(folder)
        for output, command in COMMANDS.items():
            done = subprocess.run(
                [sys.executable, "-m", *command.split()],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            text = f"$ {command}\n{done.stderr}{done.stdout}"
            lines = "\n".join(line.rstrip() for line in text.splitlines())
            (FOLDER / f"{output}.txt").write_text(lines + "\n")
        with open_browser() as driver:
            for name, (width, height, scheme) in PICTURES.items():
                show(driver, folder / "patients.html", width, scheme)
                (FOLDER / f"{name}.png").write_bytes(picture(driver, width, height))


if __name__ == "__main__":
    main()
