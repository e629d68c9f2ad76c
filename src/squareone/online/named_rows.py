"""Rows as dictionaries from the names of features to numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..texts import listed


class FeatureNames:
    """Names of the features of a stream, and their places.

    Parameters
    ----------
    names : iterable of hashable
    """

    def __init__(self, names: Iterable[Hashable]) -> None:
        self.names = list(names)
        self.places = {name: place for place, name in enumerate(self.names)}
        if len(self.places) < len(self.names):
            repeated = sorted(str(name) for name in self.names if self.names.count(name) > 1)
            msg = f"n_features names {repeated[0]!r} twice: names of features are unique"
            raise ValueError(msg)

    def new_in(self, x: Mapping[Any, Any]) -> list[Any]:
        """Keys that are no feature, in their order."""
        return [key for key in x if key not in self.places]

    def with_names(self, names: list[Any]) -> FeatureNames:
        """And some more."""
        return FeatureNames([*self.names, *names])

    def as_strings(self) -> Array | None:
        """For scikit-learn's ``feature_names_in_``; None where they are no texts."""
        if not all(isinstance(name, str) for name in self.names):
            return None
        return np.array(self.names, dtype=object)

    def row(self, x: Mapping[Any, Any], *, zeros: bool) -> Array:
        """The numbers (d,) of a dictionary without other keys; ``zeros`` for missing ones.

        Otherwise these are an error, as is what is no number.
        """
        places, values = self.entries(x, zeros=zeros)
        row = np.zeros(len(self.names))
        row[places] = values
        return row

    def entries(self, x: Mapping[Any, Any], *, zeros: bool) -> tuple[Array, Array]:
        """Places and numbers (s,) of what a dictionary has, in its order."""
        if not zeros and len(x) < len(self.names):
            missing = [name for name in self.names if name not in x]
            msg = (
                f"x has no {_some(missing)}: every feature is expected, or "
                'missing_features="zero" makes zeros of those that are not there'
            )
            raise ValueError(msg)
        places, values = np.empty(len(x), np.int64), np.empty(len(x))
        for i, (key, value) in enumerate(x.items()):
            try:
                places[i], values[i] = self.places[key], value
            except (TypeError, ValueError) as error:
                msg = (
                    f"x has {value!r} for {key!r}: a number is expected. Make a feature of every "
                    f'word, for instance {{"{key}={value}": 1.0}}'
                )
                raise ValueError(msg) from error
        return places, values


def refuse_new(new: list[Any]) -> None:
    """Say that keys are no features."""
    msg = (
        f"x has {_some(new)}, which the rows before had not: leave it out, or "
        'new_features="add" makes a feature of it, which was zero so far'
    )
    raise ValueError(msg)


def _some(names: list[Any]) -> str:
    return listed([repr(name) for name in names], 5)
