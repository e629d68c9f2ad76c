"""For all tests: the combinations and pages that only `make test-all` runs are marked."""

import pytest

from tests.combinations import mark_thorough


@pytest.hookimpl(tryfirst=True)  # before `-m` and `-k` look at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_thorough(items)
    for item in items:
        if item.path.suffix == ".rst":  # pages that tell what docstrings and tests show already
            item.add_marker("thorough")
