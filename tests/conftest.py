"""For all tests: the combinations that only `make test-all` runs are marked."""

import pytest

from tests.combinations import mark_thorough


@pytest.hookimpl(tryfirst=True)  # before `-m` and `-k` look at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_thorough(items)
