"""Every page of the guide has a card, and every card a page in the list beside it."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def test_cards_and_lists_have_the_same_pages():
    text = (GUIDE / "index.rst").read_text()
    cards = re.findall(r"^ +:link: (\S+)$", text, flags=re.M)
    listed = re.findall(r"^   (/?\w+)$", text, flags=re.M)
    assert cards == listed
    pages = {path.stem for path in GUIDE.glob("*.rst")} - {"index"}
    assert pages == {page for page in cards if not page.startswith("/")}
