"""Progress of a fit: lines on stderr, or bars where rich is there, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import current_process
from typing import Any, Self

# Seconds: nothing is shown of work that takes less.
_WORTH_SHOWING = 1.0
# Seconds without a line after which one says that the work goes on.
_SILENCE = 30.0
# Seconds between two looks at the clock from the background.
_TICK = 0.25
# For all fits: a line is written whole, and of two in threads only one finds the terminal free.
_lock = threading.RLock()


@dataclass
class _Stage:
    name: str
    steps: int | None
    began: float
    depth: int
    done: int = 0
    bar: Any = None  # the number of its bar in rich's display

    def steps_done(self, now: float) -> str:
        """``3 of 14, about 44 s left``; the estimate supposes that all steps take the same time."""
        if self.steps is None or self.done > self.steps:
            return f"{self.done} done" if self.done else ""
        left = (now - self.began) * (self.steps - self.done) / max(self.done, 1)
        about = f", about {readable_time(left)} left" if 0 < self.done < self.steps else ""
        return f"{self.done} of {self.steps}{about}"


class Progress:
    """The stages of one fit, shown while they last.

    Once a second has passed, each outermost stage is announced, and says at its end how long it
    took if that was more than a second. On a terminal, with rich installed, bars stand below these
    lines and disappear with the last stage. Elsewhere (files, pipes, notebooks) there are plain
    lines only, and one now and then says that the work goes on.

    Parameters
    ----------
    verbose : int
        0: silent. 1: the stages. 2 or more: also a line for each step.
    title : str
        What each line begins with.
    lengthy : bool
        Whether the work is known to take more than a second, and is shown from the start. Without
        that, a first stage that is a single call of LAPACK, which holds Python's lock, is not
        announced before it ends.
    tasks : Tasks or None
        Told of the same by ``begin(name, steps)``, ``step(text)`` and ``end()``: the view of
        scikit-learn's callbacks.
    clock : callable
        Seconds, only ever more.
    background : bool
        Whether a thread looks at the clock; else only stages and steps do, and :meth:`tick`.

    Examples
    --------
    >>> progress = Progress(verbose=2)
    >>> with progress.stage("search for the width", steps=2):
    ...     progress.step("sigma = 0.5", -0.31)
    ...     progress.step("sigma = 1", -0.27)  # all in less than a second: nothing is shown
    """

    def __init__(
        self,
        verbose: int = 0,
        *,
        title: str = "squareone",
        lengthy: bool = False,
        tasks: Any = None,
        clock: Callable[[], float] = time.monotonic,
        background: bool = True,
    ) -> None:
        self._verbose = int(verbose)
        self._title = title
        self._delay = 0.0 if lengthy else _WORTH_SHOWING
        self._tasks = tasks
        self._clock = clock
        self._background = background
        self._began = self._last_line = clock()
        self._uses = 0  # with-blocks that are open
        self._stages: list[_Stage] = []  # those under way, the outermost first
        self._early: list[str] = []  # lines before the first second was over
        self._visible = False
        self._bars: Any = None
        self._finished = threading.Event()

    @classmethod
    def silent(cls) -> Self:
        """Nothing is shown, and no callback is told."""
        return cls(0)

    def __enter__(self) -> Self:
        """Keep one display over several stages; optional around a single one."""
        with _lock:
            self._uses += 1
            if self._uses == 1 and self._verbose and self._background:
                self._finished = threading.Event()
                threading.Thread(target=self._watch, args=[self._finished], daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        with _lock:
            self._uses -= 1
            if self._uses == 0:
                self._finished.set()
                bars, self._bars, self._visible = self._bars, None, False
                if bars is not None:
                    bars.stop()

    def _watch(self, finished: threading.Event) -> None:
        while not finished.wait(_TICK):
            self.tick()

    @contextmanager
    def stage(self, name: str, steps: int | None = None) -> Iterator[None]:
        """Show what happens inside as a stage.

        Parameters
        ----------
        name : str
        steps : int, optional
            How many calls of :meth:`step` to expect, at most; None if that is not known.
        """
        with self:
            if self._tasks is not None:
                self._tasks.begin(name, steps)
            with _lock:
                stage = _Stage(name, steps, self._clock(), len(self._stages))
                visible = self._is_visible()
                self._stages.append(stage)
                if visible:
                    self._announce(stage)
            how = "stopped after "
            try:
                yield
                how = ""
            finally:
                self._end(stage, how)
                if self._tasks is not None and not how:
                    self._tasks.end()

    def _end(self, stage: _Stage, how: str) -> None:
        with _lock:
            self._stages.pop()
            spent = self._clock() - stage.began
            if self._is_visible() and stage.depth == 0 and spent >= _WORTH_SHOWING:
                steps = f", {stage.done} step{'s' * (stage.done > 1)}" if stage.done else ""
                self._write(f"{stage.name}{steps}: {how}{readable_time(spent)}")
            if stage.bar is not None and self._bars is not None:
                self._bars.remove_task(stage.bar)

    def step(self, text: str, score: float | None = None) -> None:
        """One unit of the innermost stage is done.

        Parameters
        ----------
        text : str
            What was tried, as ``"alpha = 0.1"``.
        score : float, optional
            How good it was.
        """
        stage = self._stages[-1]
        stage.done += 1
        counted = stage.steps is not None and stage.done <= stage.steps
        if self._tasks is not None and (counted or stage.steps is None):
            self._tasks.step(text)
        with _lock:
            visible = self._is_visible()
            if self._verbose > 1:
                of = f" of {stage.steps}" if counted else ""
                value = "" if score is None else f", score = {score:.6g}"
                line = f"{self._where()}, {stage.done}{of}: {text}{value}"
                self._write(line) if visible else self._early.append(line)
            self._draw(stage)
        self.tick()

    def spent(self) -> float:
        """Seconds since the innermost stage began."""
        return self._clock() - self._stages[-1].began if self._stages else 0.0

    def tick(self) -> None:
        """Open the display if it is time, or say that the work goes on; for the background."""
        with _lock:
            if not self._is_visible() or self._bars is not None or not self._stages:
                return
            now, stage = self._clock(), self._stages[0]
            if now - self._last_line >= _SILENCE:
                done = stage.steps_done(now)
                spent = f"{readable_time(now - stage.began)} so far"
                self._write(f"{self._where()}: {f'{done}, ' if done else ''}{spent}")

    def _where(self) -> str:
        return " > ".join(stage.name for stage in self._stages)

    def _is_visible(self) -> bool:
        """Whether there is a display; opens it when its time has come."""
        due = self._verbose and self._uses and self._clock() - self._began >= self._delay
        if due and not self._visible:
            self._visible = True
            self._bars = _bars(self._clock)
            for line in self._early:
                self._write(line)
            self._early.clear()
            for stage in self._stages:
                self._announce(stage)
        return self._visible

    def _announce(self, stage: _Stage) -> None:
        if self._bars is not None:
            description = "  " * stage.depth + stage.name
            stage.bar = self._bars.add_task(description, total=stage.steps, done="")
            self._bars.tasks[-1].start_time = stage.began
            self._draw(stage)
        elif stage.depth == 0 and not (self._verbose > 1 and stage.done):  # its steps named it
            self._write(f"{stage.name} ...")

    def _draw(self, stage: _Stage) -> None:
        if stage.bar is not None and self._bars is not None:
            done = stage.steps_done(self._clock())
            self._bars.update(stage.bar, completed=stage.done, done=done)
            self._bars.refresh()  # at once: what follows may hold Python's lock for long

    def _write(self, line: str) -> None:
        self._last_line = self._clock()
        line = f"[{self._title}] {line}"
        if self._bars is not None:
            self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            # no stderr, or one that was closed, is no reason to lose a fit
            with suppress(AttributeError, OSError, ValueError):
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()


def readable_time(seconds: float) -> str:
    """``"44 s"``, ``"3 min 05 s"``."""
    if seconds < 100:
        return f"{seconds:.{1 if seconds < 10 else 0}f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # None, a stand-in without the method, or closed
        return False


def _terminal() -> Any:
    """rich's console on stderr; None where bars cannot be drawn, or would be drawn over others."""
    if not _is_terminal(sys.stderr) or current_process().name != "MainProcess":
        return None
    try:
        from rich.console import Console
        from rich.file_proxy import FileProxy
    except ImportError:
        return None
    if isinstance(sys.stderr, FileProxy):  # a live display is there, which lets lines through
        return None
    console = Console(stderr=True)
    return console if console.is_terminal and console.is_interactive else None


def _bars(clock: Callable[[], float]) -> Any:
    """rich's display of bars, started; None where there is no terminal for it."""
    console = _terminal()
    if console is None:
        return None
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[done]}", markup=False),
        console=console,
        transient=True,
        get_time=clock,
        # what is printed passes above the bars, but not from a file to the terminal
        redirect_stdout=_is_terminal(sys.stdout),
    )
    bars.start()
    return bars


# --- scikit-learn's callbacks, from its version 1.9 on ---


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
