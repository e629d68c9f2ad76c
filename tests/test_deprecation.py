"""The one warning of names that go away."""

import warnings

import pytest

from squareone.deprecation import warn_deprecated


def old_function():
    warn_deprecated("old_function", "new_function", gone_in="9.9")


def test_it_points_at_the_line_that_is_to_be_changed():
    with pytest.warns(FutureWarning, match="write new_function") as seen:
        old_function()
    assert seen[0].filename == __file__


def test_it_is_shown_without_asking_for_it():
    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        old_function()
    assert len(seen) == 1
    assert not issubclass(seen[0].category, DeprecationWarning | PendingDeprecationWarning)
