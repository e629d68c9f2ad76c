"""Progress: silent unless asked, nothing within a second, and scikit-learn's callbacks."""

import io
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone.estimators.fitted_estimator import set_callbacks
from squareone.fitting import progress as module
from squareone.fitting.progress import Progress, fit_progress


class Clock:
    """Time passes when the test says so."""

    now = 100.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(clock):
    def progress(verbose, **options):
        return Progress(verbose, title="fit", clock=clock, background=False, **options)

    return progress


def lines(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


# --- when ---


@pytest.mark.parametrize("quiet", [Progress, Progress.silent], ids=["default", "silent"])
def test_silent_by_default(quiet, clock, capsys, monkeypatch):
    monkeypatch.setattr(module.threading, "Thread", None)  # no thread either
    progress = quiet()
    progress._clock = clock
    with progress, progress.stage("path", steps=2):
        clock.wait(1000.0)
        progress.step("alpha = 1", -1.0)
        progress.tick()
    assert lines(capsys) == []


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_nothing_is_shown_of_less_than_a_second(make, clock, capsys, verbose):
    with make(verbose) as progress:
        for _ in range(3):
            with progress.stage("path", steps=3):
                clock.wait(0.3)
                progress.step("alpha = 1", -1.0)
                progress.tick()
    assert lines(capsys) == []


def test_lengthy_work_is_shown_from_the_start(make, capsys):
    with make(1, lengthy=True).stage("factorisation"):
        assert lines(capsys) == ["[fit] factorisation ..."]


def test_a_thread_looks_at_the_clock_while_a_stage_is_silent(clock, monkeypatch):
    written = threading.Event()

    class Stream(io.StringIO):
        def flush(self):
            written.set()

    monkeypatch.setattr(sys, "stderr", Stream())
    monkeypatch.setattr(module, "_TICK", 0.001)
    with Progress(1, clock=clock).stage("kernel matrix"):
        clock.wait(1.0)
        assert written.wait(timeout=30)
    assert sys.stderr.getvalue().startswith("[squareone] kernel matrix ...\n")


# --- plain lines ---


def test_each_stage_has_its_lines(make, clock, capsys):
    with make(1) as progress:
        with progress.stage("start of the search"):
            clock.wait(0.4)
        with progress.stage("kernel matrix"):
            clock.wait(0.6)
            progress.tick()
            assert lines(capsys) == ["[fit] kernel matrix ..."]
            clock.wait(1.4)
        with progress.stage("path", steps=16):
            clock.wait(90.0)
            progress.step("alpha = 1", -1.0)
            clock.wait(110.0)
            progress.step("alpha = 2", -2.0)
        with progress.stage("coefficients"):
            clock.wait(0.1)
    assert lines(capsys) == [
        "[fit] kernel matrix: 2.0 s",
        "[fit] path ...",
        "[fit] path: 1 of 16, about 22 min 30 s left, 90 s so far",
        "[fit] path: 2 of 16, about 23 min 20 s left, 3 min 20 s so far",
        "[fit] path, 2 steps: 3 min 20 s",
        "[fit] coefficients ...",
    ]


def test_each_step_has_a_line_if_asked_for(make, clock, capsys):
    with make(2) as progress, progress.stage("path", steps=3):
        progress.step("alpha = 0.1", -0.25)
        clock.wait(0.5)
        progress.step("alpha = 1", -np.pi)
        assert lines(capsys) == []
        clock.wait(0.5)
        progress.step("alpha = 10")
        clock.wait(0.5)
    assert lines(capsys) == [  # those of the first second too
        "[fit] path, 1 of 3: alpha = 0.1, score = -0.25",
        "[fit] path, 2 of 3: alpha = 1, score = -3.14159",
        "[fit] path, 3 of 3: alpha = 10",
        "[fit] path, 3 steps: 1.5 s",
    ]


def test_the_end_of_a_single_call_that_held_the_lock(make, clock, capsys):
    with make(1).stage("factorisation"):
        clock.wait(4000.0)
    assert lines(capsys) == ["[fit] factorisation: 1 h 06 min"]


def test_nested_stages_are_named_but_have_no_lines_of_their_own(make, clock, capsys):
    with make(2) as progress, progress.stage("search for the width", steps=2):
        clock.wait(1.0)
        with progress.stage("factorisation"):
            clock.wait(30.0)
            progress.tick()
        with progress.stage("path"):
            progress.step("alpha = 1", -1.0)
        progress.step("sigma = 3", -1.0)
    assert lines(capsys) == [
        "[fit] search for the width ...",
        "[fit] search for the width > factorisation: 0 of 2, 31 s so far",
        "[fit] search for the width > path, 1: alpha = 1, score = -1",
        "[fit] search for the width, 1 of 2: sigma = 3, score = -1",
        "[fit] search for the width, 1 step: 31 s",
    ]


def test_more_steps_than_expected(make, clock, capsys):
    with make(1, lengthy=True) as progress, progress.stage("path", steps=1):
        for _ in range(2):
            clock.wait(30.0)
            progress.step("alpha = 1")
    assert lines(capsys)[1:3] == [
        "[fit] path: 1 of 1, 30 s so far",
        "[fit] path: 2 done, 60 s so far",
    ]


def test_stages_without_a_common_display(make, clock, capsys):
    progress = make(1)
    for name in ("kernel matrix", "factorisation"):
        with progress.stage(name):
            clock.wait(2.0)
    assert lines(capsys) == [
        "[fit] kernel matrix: 2.0 s",
        "[fit] factorisation ...",
        "[fit] factorisation: 2.0 s",
    ]


def interrupted(progress, clock):
    with progress, progress.stage("path", steps=3):
        clock.wait(2.0)
        progress.step("alpha = 1")
        clock.wait(2.0)
        raise KeyboardInterrupt


def test_an_interrupt_passes_through(make, clock, capsys):
    progress = make(1)
    with pytest.raises(KeyboardInterrupt):
        interrupted(progress, clock)
    clock.wait(100.0)
    progress.tick()
    assert lines(capsys) == ["[fit] path ...", "[fit] path, 1 step: stopped after 4.0 s"]


@pytest.mark.parametrize("stream", [None, object(), io.StringIO()], ids=["none", "odd", "closed"])
def test_a_missing_stderr_does_not_matter(make, monkeypatch, stream):
    if isinstance(stream, io.StringIO):
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    with make(2, lengthy=True) as progress, progress.stage("path"):
        progress.step("alpha = 1", -1.0)


def test_lines_of_fits_in_threads_stay_whole(clock, capsys):
    def fit(title):
        progress = Progress(2, title=title, lengthy=True, clock=clock)
        with progress.stage("path", steps=50):
            for i in range(50):
                progress.step(f"alpha = {i}", -1.0)

    threads = [threading.Thread(target=fit, args=[f"fit {i}"]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ["path ..."] + [f"path, {i + 1} of 50: alpha = {i}, score = -1" for i in range(50)]
    seen = lines(capsys)
    for k in range(4):
        title = f"[fit {k}] "
        assert [x.removeprefix(title) for x in seen if x.startswith(title)] == expected
    assert len(seen) == 4 * 51


# --- terminals ---


def one_long_stage(progress, clock):
    with progress, progress.stage("search for the [red] width", steps=2):
        clock.wait(1.0)
        with progress.stage("factorisation"):
            clock.wait(1.0)
        progress.step("sigma = [1, 2]", -1.0)
        clock.wait(1.0)


PLAIN = (
    "[fit] search for the [red] width ...\n"
    "[fit] search for the [red] width, 1 of 2: sigma = [1, 2], score = -1\n"
    "[fit] search for the [red] width, 1 step: 3.0 s\n"
)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_file_gets_no_control_characters(make, clock, capsys, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    one_long_stage(make(2), clock)
    assert capsys.readouterr().err == PLAIN


def test_a_terminal_without_rich(make, clock, monkeypatch):
    for name in ("rich", "rich.console", "rich.file_proxy", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    one_long_stage(make(2), clock)
    assert sys.stderr.getvalue() == PLAIN


def test_a_dumb_terminal(make, clock, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", Terminal())
    one_long_stage(make(2), clock)
    assert sys.stderr.getvalue() == PLAIN


@pytest.fixture
def console(monkeypatch):
    rich_console = pytest.importorskip("rich.console")
    console = rich_console.Console(
        file=Terminal(), force_terminal=True, width=100, color_system=None, _environ={}
    )
    monkeypatch.setattr(module, "_terminal", lambda: console)
    return console


HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"  # the cursor


def screen(written):
    """What is left to see: the lines of a terminal that was sent ``written``."""
    rows, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if part == "\n":
            row += 1
            rows += [""] * (row == len(rows))
            column = 0
        elif part == "\r":
            column = 0
        elif part.endswith("A"):
            row -= int(part[2:-1])
        elif part == "\x1b[2K":
            rows[row] = ""
        elif not part.startswith("\x1b"):
            rows[row] = rows[row][:column].ljust(column) + part + rows[row][column + len(part) :]
            column += len(part)
    assert column == 0  # ready for what comes next
    assert not any(line.strip() for line in rows[row:])
    return [line.rstrip() for line in rows[:row]]


def test_bars(make, clock, console):
    before = sys.stdout, sys.stderr
    one_long_stage(make(2), clock)
    written = console.file.getvalue()
    assert written.startswith(HIDE)
    assert written.rindex(SHOW) > written.rindex(HIDE)
    assert "search for the [red] width ━" in written
    assert "  factorisation            ━" in written
    assert "0:00:02 1 of 2, about 2.0 s left" in written
    assert screen(written) == PLAIN.splitlines()[1:]  # above the bars, which do not stay
    assert (sys.stdout, sys.stderr) == before
    assert not console._live_stack


def test_bars_show_stages_only_unless_steps_are_asked_for(make, clock, console):
    one_long_stage(make(1), clock)
    assert "sigma =" not in console.file.getvalue()


def test_bars_are_never_drawn_of_less_than_a_second(make, clock, console):
    with make(2).stage("path", steps=1):
        clock.wait(0.9)
    assert console.file.getvalue() == ""


def test_an_interrupt_removes_the_bars(make, clock, console):
    before = sys.stdout, sys.stderr
    with pytest.raises(KeyboardInterrupt):
        interrupted(make(1, lengthy=True), clock)
    written = console.file.getvalue()
    assert "path ━" in written
    assert screen(written) == ["[fit] path, 1 step: stopped after 4.0 s"]
    assert written.rindex(SHOW) > written.rindex(HIDE)
    assert (sys.stdout, sys.stderr) == before
    assert not console._live_stack


def test_another_display_is_not_drawn_over(make, clock, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    terminal = sys.stderr
    first, second = make(1, lengthy=True), make(1, lengthy=True)
    with first.stage("path"), second.stage("kernel matrix"):
        assert first._bars is not None
        assert second._bars is None
    assert "[fit] kernel matrix ..." in terminal.getvalue()
    assert sys.stderr is terminal


def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, squareone.estimators, squareone.fitting.progress as p\n"
        "p.Progress(2).stage('path').__enter__()\n"
        "assert not {'rich', 'sklearn.callback'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- scikit-learn's callbacks ---


class Mean(RegressorMixin, BaseEstimator):
    """Predicts a constant, in stages."""

    set_callbacks = set_callbacks

    def __init__(self, verbose=0, fails=False):
        self.verbose = verbose
        self.fails = fails

    def fit(self, X, y, sample_weight=None):
        with fit_progress(self, X, y, sample_weight) as progress:
            with progress.stage("factorisation"), progress.stage("tiles"):
                pass
            with progress.stage("path", steps=2):
                for i in range(3):  # one more than expected
                    with progress.stage("inside a step"):
                        progress.step("not a task")
                    progress.step(f"alpha = {i}", -1.0)
                if self.fails:
                    raise KeyboardInterrupt
            self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Recorder:
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.seen.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(("begin", context.task_name))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.seen.append(("end", context.task_name))
        self.last = X, y, metadata, fitted_estimator


X, y = np.arange(8.0).reshape(4, 2), np.array([1.0, 2.0, 3.0, 6.0])
STARTED = [
    ("setup", "fit"),
    ("begin", "fit"),
    ("begin", "factorisation"),
    ("begin", "tiles"),
    ("end", "tiles"),
    ("end", "factorisation"),
    ("begin", "path"),
    ("begin", "alpha = 0"),
    ("end", "alpha = 0"),
    ("begin", "alpha = 1"),
    ("end", "alpha = 1"),
]


@pytest.fixture
def api():
    return pytest.importorskip("sklearn.callback")


def test_callbacks_see_stages_and_steps_as_tasks(api):
    recorder = Recorder()
    weights = np.ones(4)
    model = Mean().set_callbacks(recorder).fit(X, y, weights)
    assert recorder.seen == [*STARTED, ("end", "path"), ("end", "fit"), ("teardown", "fit")]
    rows, targets, metadata, fitted = recorder.last
    assert rows is X
    assert targets is y
    assert metadata["sample_weight"] is weights
    assert fitted is not model
    assert fitted.predict(X)[0] == 3.0
    assert set(vars(model)) == {"verbose", "fails", "mean_", "_skl_callbacks"}


def test_an_interrupt_tears_callbacks_down(api):
    recorder = Recorder()
    model = Mean(fails=True).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert recorder.seen == [*STARTED, ("teardown", "fit")]
    assert set(vars(model)) == {"verbose", "fails", "_skl_callbacks"}


@pytest.mark.parametrize("where", ["setup", "on_fit_task_begin", "on_fit_task_end", "teardown"])
def test_a_callback_that_fails(api, where):
    recorder = Recorder()

    def fail(estimator, context):
        raise ArithmeticError

    setattr(recorder, where, fail)
    with pytest.raises(ArithmeticError):
        Mean().set_callbacks(recorder).fit(X, y)
    assert ("teardown", "fit") in recorder.seen or where == "teardown"


def test_callbacks_are_checked_copied_and_removed(api):
    recorder = Recorder()
    with pytest.raises(TypeError, match="FitCallback"):
        Mean().set_callbacks(print)
    model = clone(Mean().set_callbacks(recorder)).fit(X, y)
    assert recorder.seen
    recorder.seen.clear()
    model.set_callbacks().fit(X, y)
    assert recorder.seen == []


def test_callbacks_come_down_from_a_pipeline(api):
    recorder = Recorder()
    recorder.max_propagation_depth = None
    make_pipeline(StandardScaler(), Mean()).set_callbacks(recorder).fit(X, y)
    names = [name for what, name in recorder.seen if what == "end"]
    assert names[-6:] == ["factorisation", "alpha = 0", "alpha = 1", "path", "fit", "fit"]
    assert [what for what, _ in recorder.seen].count("setup") == 1


def test_scikit_learns_own_callbacks(api, capsys):
    pytest.importorskip("rich")
    monitor = api.ScoringMonitor(scoring="r2")
    Mean().set_callbacks(api.ProgressBar(), monitor).fit(X, y)
    shown = capsys.readouterr().out
    assert "Mean - path" in shown
    (row,) = monitor.get_logs().data  # one model, hence one score
    assert row["r2"] == pytest.approx(0.0)


def test_without_the_callback_api(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    assert not hasattr(Mean(), "set_callbacks")
    assert Mean().fit(X, y).predict(X)[0] == 3.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (9.9, "9.9 s"),
        (10.0, "10 s"),
        (99.4, "99 s"),
        (100.0, "1 min 40 s"),
        (3599.0, "59 min 59 s"),
        (3600.0, "1 h 00 min"),
    ],
)
def test_times_as_they_are_read(seconds, text):
    assert module.readable_time(seconds) == text
