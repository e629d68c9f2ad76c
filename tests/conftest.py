"""For all tests: the combinations and pages that only longer runs see are marked."""

import pytest

from tests.combinations import mark_combinations


@pytest.hookimpl(tryfirst=True)  # before `-m` and `-k` look at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_combinations(items)
    for item in items:
        if item.path.suffix == ".rst":  # pages that tell what docstrings and tests show already
            item.add_marker("thorough")
