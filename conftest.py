"""For all tests and doctests."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _no_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a plan measures of the machine is kept for this run only, and not in the home folder."""
    before = os.environ.get("SQUAREONE_CACHE")
    os.environ["SQUAREONE_CACHE"] = str(tmp_path_factory.mktemp("speed"))
    yield
    if before is None:
        del os.environ["SQUAREONE_CACHE"]
    else:
        os.environ["SQUAREONE_CACHE"] = before
