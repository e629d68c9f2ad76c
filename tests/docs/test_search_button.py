"""The theme's search button has a name at every width, and the name contains what is shown."""

from pathlib import Path

import pytest

from tests.browser import chromium
from tools.browser import emulate

pytestmark = pytest.mark.thorough
SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "search_button.js"


def name_of_the_button(driver):
    tree = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    (name,) = [node["name"]["value"] for node in tree if node["role"]["value"] == "button"]
    return name.replace(" ", "")


def test_the_search_button_has_a_name_at_every_width(tmp_path):
    package = Path(pytest.importorskip("pydata_sphinx_theme").__file__).parent
    theme = package / "theme" / "pydata_sphinx_theme"
    template = pytest.importorskip("jinja2").Template
    markup = template((theme / "components" / "search-button-field.html").read_text())
    # The title, which would be a name, is made a tooltip by Bootstrap's script.
    button = markup.render(_=str).replace(" title=", " data-bs-original-title=")
    style = theme / "static" / "styles" / "pydata-sphinx-theme.css"
    page = tmp_path / "page.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{style.as_uri()}">'
        f'<script src="{SCRIPT.as_uri()}"></script>{button}'
    )
    shown = {}
    with chromium() as driver:
        for width in (390, 820, 1400):
            emulate(driver, width, "light")
            driver.get(page.as_uri())
            text = driver.execute_script("return document.querySelector('button').innerText")
            shown[width] = "".join(text.split())
            name = name_of_the_button(driver)
            assert name.startswith("Search")
            assert shown[width] in name
    assert shown[390] == ""  # the case in which the icon stands alone
    assert shown[1400].startswith("Search")
