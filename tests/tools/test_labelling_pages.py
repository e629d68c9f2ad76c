"""Pictures of the labelling page are taken when nothing on it is about to change."""

import pytest

from tests.browser import chromium
from tools.labelling_pages import settle

pytestmark = pytest.mark.thorough
#: An answer is confirmed, and a row found, some time after the page is there.
PAGE = """<!doctype html><meta charset="utf-8"><article id="row" hidden>A row</article>
<span id="saved">1 not saved yet</span><script>
setTimeout(() => { document.getElementById('saved').textContent = 'all saved'; }, 300);
setTimeout(() => { document.getElementById('row').hidden = false; }, 600);
</script>"""


def test_answers_are_saved_and_a_row_is_shown(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    with chromium() as driver:
        driver.get(path.as_uri())
        settle(driver)
        assert driver.find_element("id", "saved").text == "all saved"
        assert driver.find_element("id", "row").is_displayed()
