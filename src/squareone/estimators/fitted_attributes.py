"""Attributes that an estimator has after a fit: answers of the result of the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np

from .array_libraries import follow_rows_of_fit

Answer = TypeVar("Answer")


class FromResult(Generic[Answer]):
    """An attribute that the result of a fit answers, each time it is asked for.

    Before a fit it raises what ``_recorded`` of the estimator does.

    Parameters
    ----------
    answer : callable
        ``answer(result)`` is the value of the attribute.
    doc : str
        What it is, for the reference.
    assign : callable or None, default=None
        ``assign(result, value)`` takes what is assigned to it; None refuses it.
    like_rows : bool, default=False
        Whether an array is of the library of the rows of the fit.
    """

    def __init__(
        self,
        answer: Callable[[Any], Answer],
        doc: str,
        assign: Callable[[Any, Any], None] | None = None,
        *,
        like_rows: bool = False,
    ) -> None:
        self.answer, self.assign, self.like_rows = answer, assign, like_rows
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: type | None = None) -> Answer: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Answer | Self:
        if instance is None:
            return self
        found = self.answer(instance._recorded())
        return follow_rows_of_fit(instance, found) if self.like_rows else found

    def __set__(self, instance: Any, value: Any) -> None:
        if self.assign is None:
            msg = f"property {self.name!r} of {type(instance).__name__!r} object has no setter"
            raise AttributeError(msg)
        self.assign(instance._recorded(), value)


class ReadOnly(FromResult[Answer]):
    """An attribute that neither assigning nor writing into its array can change.

    Either would be ignored by predictions, and so is an error.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = super().__get__(instance, owner)
        if isinstance(found, np.ndarray):
            found = found.view()
            found.flags.writeable = False
        return found

    def __set__(self, instance: Any, value: Any) -> None:
        msg = (
            f"{self.name} of {type(instance).__name__} follows from what was learned, and "
            "predictions would not follow what is assigned to it: it cannot be changed"
        )
        raise AttributeError(msg)
