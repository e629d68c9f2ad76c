"""scikit-learn's callbacks, from its version 1.9 on: the stages of a fit as a tree of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from sklearn.utils.metaestimators import available_if

from ..fitting.progress import Progress


def _has_callbacks(_: object = None) -> bool:
    return find_spec("sklearn.callback") is not None


@available_if(_has_callbacks)
def set_callbacks(self: Any, *callbacks: Any) -> Any:
    """Set the callbacks of the following fits, such as ``sklearn.callback.ProgressBar()``.

    Parameters
    ----------
    *callbacks : callback instances
        Without any, those that were set are removed.

    Returns
    -------
    self
    """
    # A method, for the body of a class. scikit-learn looks for the method, not for its own mixin:
    # deriving from that would import sklearn.callback, and with it rich, into every program.
    from sklearn.callback import CallbackSupportMixin

    return CallbackSupportMixin.set_callbacks(self, *callbacks)


class Tasks:
    """The stages and steps of a fit as the tree of tasks that callbacks see.

    A stage inside a counted one is a part of its current step, and not a task of its own. A step
    begins, for a callback, when it is done. A callback's wish to stop is not followed: there would
    be no model to return.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        from sklearn.callback import CallbackSupportMixin

        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._known = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        root = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
        root.call_on_fit_task_begin(**self._known)
        self._contexts: list[Any] = [root]  # None: a stage that is not a task

    def begin(self, name: str, steps: int | None) -> None:
        """A stage begins."""
        parent, context = self._contexts[-1], None
        if parent is not None and parent.max_subtasks is None:
            context = parent.subcontext(task_name=name, max_subtasks=steps)
            context.call_on_fit_task_begin(**self._known)
        self._contexts.append(context)

    def step(self, text: str) -> None:
        """A step of the innermost stage is done."""
        if self._contexts[-1] is not None:
            context = self._contexts[-1].subcontext(task_name=text)
            context.call_on_fit_task_begin(**self._known)
            context.call_on_fit_task_end(**self._known)

    def end(self) -> None:
        """The innermost stage is done."""
        context = self._contexts.pop()
        if context is not None:
            context.call_on_fit_task_end(**self._known)

    def finish(self) -> None:
        """The estimator is fitted: a callback may ask for a copy of it."""
        self._contexts[0].call_on_fit_task_end(**self._known, reconstruction_attributes={})


@contextmanager
def fit_progress(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, lengthy: bool = False
) -> Iterator[Progress]:
    """The progress of ``estimator.fit``: to stderr by its ``verbose``, and to its callbacks.

    Parameters
    ----------
    estimator : estimator
        Has ``verbose``, and is fitted when the block ends without an exception.
    X, y, sample_weight : array-like
        As the user gave them: a callback may score the fitted estimator with them.
    lengthy : bool
        See :class:`Progress`.
    """
    title = type(estimator).__name__
    if not getattr(estimator, "_skl_callbacks", None):
        with Progress(estimator.verbose, title=title, lengthy=lengthy) as progress:
            yield progress
        return
    from sklearn.callback import with_callbacks

    try:
        tasks = Tasks(estimator, X, y, sample_weight)
        with Progress(estimator.verbose, title=title, lengthy=lengthy, tasks=tasks) as progress:
            yield progress
        tasks.finish()
    finally:
        with_callbacks(lambda _: None)(estimator)  # tears down what was set up, whatever happened
