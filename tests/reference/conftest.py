"""Fixtures of the tests of the references."""

import pytest

from tests.reference.shared import some_data


@pytest.fixture
def data():
    return some_data()
