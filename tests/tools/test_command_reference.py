"""The reference of the commands is that of the commands there are."""

from tools.command_reference import PAGE, page


def test_the_page_is_up_to_date():
    message = "python -m tools.command_reference writes it anew"
    assert PAGE.read_text() == page(), message
