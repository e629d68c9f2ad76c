"""For all tests: the combinations and pages that only longer runs see are marked.

With ``--device`` estimators of the laws, and of tests of devices, work there.
"""

import pytest

from tests.combinations import mark_combinations

# Laws of what is worked on in the machine's memory only.
_NOT_ON_DEVICES = ("test_sparse.py", "test_online.py", "test_orols.py")


@pytest.hookimpl(tryfirst=True)  # before `-m` and `-k` look at marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_combinations(items)
    if config.getoption("--device") is not None:
        items[:] = [item for item in items if _on_devices(item)]
    for item in items:
        if item.path.suffix == ".rst":  # pages that tell what docstrings and tests show already
            item.add_marker("thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        help="where matrices of the laws are: cuda, or torch:cpu for the same operations",
    )


def _on_devices(item: pytest.Item) -> bool:
    """Whether a test is of something that is worked on elsewhere than in the machine's memory."""
    others = "sparse" in item.name or "every_name_is_an_option" in item.name
    return not (others or item.path.name in _NOT_ON_DEVICES)
