"""A fit that was interrupted goes on from its file, and ends where it would have ended."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.errors import CheckpointError
from squareone.kernels import Gaussian, Linear
from squareone.persistence import checkpoint as checkpoints
from squareone.rows import GeneratedRows
from squareone.solvers.few_centers import center_basis, feature_sums, normal_passes
from tests.estimators.data import refused

n, d, m, BLOCK = 500, 3, 20, 50
X = np.random.default_rng(0).normal(size=(n, d))
y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=n)
weights = np.random.default_rng(2).uniform(0.5, 2.0, n)
SETTINGS = {"kernel": Gaussian(1.0), "centers": m, "random_state": 0, "tol": 1e-10}
SOLVERS = ["rectangle", "nystrom", "pcg"]

pytestmark = pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")


class Interrupted:
    """Rows in blocks, until there have been so many: then somebody presses Ctrl-C."""

    def __init__(self, after=np.inf, array=X):
        self.given, self._after, self._array = 0, after, array

    def __call__(self):
        for start in range(0, n, BLOCK):
            if self.given >= self._after:
                raise KeyboardInterrupt
            self.given += 1
            yield self._array[start : start + BLOCK]

    @property
    def stream(self):
        return GeneratedRows(self, (n, d), self._array.dtype)


class Work:
    """Counts blocks whose sums are made, and passes of conjugate gradients."""

    def __init__(self, monkeypatch):
        self.blocks = self.passes = 0
        add, one_pass = feature_sums.JointSums.add, normal_passes.NormalPasses._pass

        def counted_add(sums, *arrays):
            self.blocks += 1
            return add(sums, *arrays)

        def counted_pass(passes, *arguments):
            self.passes += 1
            return one_pass(passes, *arguments)

        monkeypatch.setattr(feature_sums.JointSums, "add", counted_add)
        monkeypatch.setattr(normal_passes.NormalPasses, "_pass", counted_pass)

    def of(self, fit):
        self.blocks = self.passes = 0
        model = fit()
        return model, (self.blocks, self.passes)


@pytest.fixture(autouse=True)
def small_blocks_and_no_waiting(monkeypatch):
    monkeypatch.setattr("squareone.devices.Place.block_bytes", 8.0 * BLOCK * m)
    monkeypatch.setattr("squareone.fitting.problem.LEAST_BLOCK", 8.0 * BLOCK * m)
    monkeypatch.setattr(center_basis, "STRIP", 10)
    monkeypatch.setattr(normal_passes, "_ROWS", BLOCK)
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (0.0,))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.npz"


@pytest.fixture
def work(monkeypatch):
    return Work(monkeypatch)


def model_of(solver, path, estimator=RLSRegressor, **more):
    return estimator(**{**SETTINGS, "solver": solver, "checkpoint": path, **more})


def begin(solver, path, share=0.8, targets=y, w=None, **more):
    """A fit that is interrupted after a share of its blocks, when something has been written."""
    rows = Interrupted()
    alone = {**more, "checkpoint": None}
    model_of(solver, None, **alone).fit(rows.stream, targets, w)
    for part in (share, 0.9, 0.95, 0.97, 0.99):
        model = model_of(solver, path, **more)
        with pytest.raises(KeyboardInterrupt):
            model.fit(Interrupted(int(part * rows.given)).stream, targets, w)
        assert not hasattr(model, "dual_coef_")
        assert not hasattr(model, "n_features_in_")
        if path.exists():
            return
    pytest.fail("nothing was kept")


def interrupt(solver, path, monkeypatch, states=3, targets=y, w=None, rows=X, **more):
    """A fit that is interrupted after it has written so many states."""
    keep = checkpoints.Checkpoint.keep
    written = []

    def counted(self, *arguments):
        keep(self, *arguments)
        written.append(arguments[0])
        if len(written) >= states:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "keep", counted)
        model = model_of(solver, path, **more)
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows, targets, w)
    assert path.exists()
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "n_features_in_")


def assert_same(found, expected):
    assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9, atol=1e-11)
    assert found.alpha_ == expected.alpha_
    assert_allclose(found.best_score_, expected.best_score_, rtol=1e-6)


# --- going on ---


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_a_stream_that_is_interrupted(solver, path, work):
    expected, whole = work.of(lambda: model_of(solver, None, alpha=0.1).fit(X, y))
    begin(solver, path, alpha=0.1)
    found, rest = work.of(lambda: model_of(solver, path, alpha=0.1).fit(Interrupted().stream, y))
    assert_same(found, expected)
    assert sum(rest) < sum(whole)
    assert not path.exists()


@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("alpha", [0.1, [0.01, 0.1, 1.0]], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_after_some_states(solver, alpha, w, path, work, monkeypatch):
    expected, whole = work.of(lambda: model_of(solver, None, alpha=alpha).fit(X, y, w))
    costs = []
    for states in (2, 4, 6):
        interrupt(solver, path, monkeypatch, states, w=w, alpha=alpha)
        found, rest = work.of(lambda: model_of(solver, path, alpha=alpha).fit(X, y, w))
        assert_same(found, expected)
        assert not path.exists()
        costs.append(sum(rest))
    assert sum(whole) > costs[0] > costs[1] > costs[2]


@pytest.mark.parametrize("rows", [BLOCK // 2, BLOCK + 15, 3 * BLOCK - 1])
@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("solver", ["rectangle", "nystrom"])
def test_blocks_of_another_size(solver, w, rows, path, monkeypatch):
    """Those of a machine with more memory, or less: no row is summed twice, and none left out."""
    expected = model_of(solver, None, alpha=0.1).fit(X, y, w)
    interrupt(solver, path, monkeypatch, w=w, alpha=0.1)
    for name in ("devices.Place.block_bytes", "fitting.problem.LEAST_BLOCK"):
        monkeypatch.setattr(f"squareone.{name}", 8.0 * rows * m)
    assert_same(model_of(solver, path, alpha=0.1).fit(X, y, w), expected)


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupted_again_and_again(solver, path, monkeypatch):
    expected = model_of(solver, None, alpha=0.1).fit(X, y)
    for _ in range(3):
        interrupt(solver, path, monkeypatch, 2, alpha=0.1)
    assert_same(model_of(solver, path, alpha=0.1).fit(X, y), expected)


@pytest.mark.parametrize("solver", SOLVERS)
def test_classes(solver, path, monkeypatch):
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    settings = {"estimator": RLSClassifier, "alpha": 0.1}
    expected = model_of(solver, None, **settings).fit(X, labels)
    interrupt(solver, path, monkeypatch, targets=labels, **settings)
    found = model_of(solver, path, **settings).fit(X, labels)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_interruption_no_file_is_left(solver, path):
    expected = model_of(solver, None, alpha=0.1).fit(X, y)
    for given in (path, str(path)):
        assert_same(model_of(solver, given, alpha=0.1).fit(X, y), expected)
        assert list(path.parent.iterdir()) == []


def test_states_are_written_now_and_then(path, monkeypatch):
    """Not after every block."""
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (3600.0,))
    monkeypatch.setattr(np, "savez", lambda *a, **k: pytest.fail("written too early"))
    model_of("rectangle", path, alpha=0.1).fit(X, y)
    assert not path.exists()


class Clock:
    """Some seconds go by whenever somebody looks at it."""

    def __init__(self, monkeypatch, ticks=0.0):
        self.now, self.ticks = 0.0, ticks
        monkeypatch.setattr(checkpoints.time, "monotonic", self)

    def __call__(self):
        self.now += self.ticks
        return self.now


@pytest.mark.parametrize(("writing", "interval"), [(0.0, 5.0), (2.0, 42.0)])
def test_when_states_are_written(writing, interval, path, monkeypatch):
    """Five seconds after the beginning and after each state; later if writing takes its time."""
    clock, written, save = Clock(monkeypatch), [], np.savez

    def slow(*arrays, **named):
        save(*arrays, **named)
        clock.now += writing
        written.append(clock.now)

    monkeypatch.setattr(np, "savez", slow)
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (checkpoints._INTERVAL,))
    keeper = checkpoints.Checkpoint(path, "this fit")
    for block in range(300):
        clock.now += 1.0
        keeper.keep("sums", lambda block=block: {"rows": np.array(block)})
    assert written[0] == 5.0 + writing
    assert len(written) > 3
    assert_allclose(np.diff(written), interval)
    assert int(checkpoints.Checkpoint(path, "this fit").restored("sums")["rows"]) > 200


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_of_seconds_writes_on_its_way(solver, path, monkeypatch):
    """With the interval that it has, and a clock on which every block takes its time."""
    Clock(monkeypatch, ticks=1.0)
    written, save = [], np.savez
    monkeypatch.setattr(np, "savez", lambda *a, **k: written.append(save(*a, **k)))
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (checkpoints._INTERVAL,))
    model_of(solver, path, alpha=0.1).fit(X, y)
    assert written
    assert not path.exists()


# --- the width ---


SEARCHES = {
    "one width": {"kernel": Gaussian()},
    "a width for every feature": {"kernel": Gaussian(ard=True)},
    "a sum": {"kernel": Gaussian() + 0.1 * Linear()},
    "folds": {"kernel": Gaussian(), "cv": 3},
}


@pytest.mark.parametrize(
    ("solver", "search"),
    [
        ("pcg", "one width"),
        *(pytest.param("rectangle", name, marks=pytest.mark.thorough) for name in SEARCHES),
    ],
)
def test_a_width_that_was_found_is_not_searched_again(solver, search, path, monkeypatch):
    settings = SEARCHES[search]
    expected = model_of(solver, None, **settings).fit(X, y)
    interrupt(solver, path, monkeypatch, 1, **settings)
    assert "width/sigma" in np.load(path).files
    monkeypatch.setattr(
        "squareone.fitting.procedure.choose_width", lambda _: pytest.fail("searched again")
    )
    found = model_of(solver, path, **settings).fit(X, y)
    assert_same(found, expected)
    assert str(found.kernel_) == str(expected.kernel_)
    for name in ("sigma", "alpha", "score", "rows"):
        assert_allclose(found.path_[name], expected.path_[name], rtol=1e-6)
    assert not path.exists()


def test_the_width_is_written_before_anything_else(path, monkeypatch):
    monkeypatch.setattr(checkpoints.Checkpoint.__init__, "__defaults__", (3600.0,))
    monkeypatch.setattr("squareone.fitting.procedure.choose_centers", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        model_of("rectangle", path, kernel=Gaussian()).fit(X, y)
    assert "width/sigma" in np.load(path).files


def _interrupted(problem):
    raise KeyboardInterrupt


OTHER_SEARCHES = {
    "another alpha": {"alpha": 0.2},
    "another criterion": {"criterion": "gcv"},
    "other folds": {"cv": 4},
    "other random numbers": {"random_state": 1},
    "a given width": {"kernel": Gaussian(1.0)},
}


@pytest.mark.thorough
@pytest.mark.parametrize("other", OTHER_SEARCHES)
def test_the_width_of_another_search(other, path, monkeypatch):
    settings = {"kernel": Gaussian(), "cv": 3 if other == "other folds" else None}
    interrupt("rectangle", path, monkeypatch, 1, **settings)
    model = model_of("rectangle", path, **{**settings, **OTHER_SEARCHES[other]})
    with refused(CheckpointError, "another fit"):
        model.fit(X, y)


def test_another_fit_is_refused_before_the_search(path, monkeypatch):
    interrupt("rectangle", path, monkeypatch, 1, kernel=Gaussian())
    monkeypatch.setattr(
        "squareone.fitting.procedure.choose_width", lambda _: pytest.fail("searched")
    )
    with refused(CheckpointError, "another fit"):
        model_of("rectangle", path, kernel=Gaussian()).fit(X, y + 1.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_checkpoint_is_no_parameter_of_the_model(solver, path):
    """It is in no file, and a copy does not write to it."""
    model = model_of(solver, path, alpha=0.1).fit(X, y)
    assert model.get_params()["checkpoint"] == path
    assert_same(model, model_of(solver, None, alpha=0.1).fit(X, y))


# --- another fit ---


OTHERS = {
    "other targets": {"targets": np.where(np.arange(n) == 77, y + 1.0, y)},
    "other weights": {"w": np.where(np.arange(n) == 77, 2.0, 1.0)},
    "other rows": {"rows": X + 1e-9},
    "other precision": {"rows": X.astype(np.float32)},
    "another width": {"kernel": Gaussian(1.1)},
    "another kernel": {"kernel": "laplacian"},
    "other centers": {"random_state": 1},
    "more centers": {"centers": m + 1},
    "another selector": {"centers": selectors.PivotedCholesky(m)},
    "no intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_the_file_of_another_fit(solver, other, path, monkeypatch):
    interrupt(solver, path, monkeypatch, alpha=0.1)
    before = path.read_bytes()
    given = {"targets": y, "w": None, "rows": X}
    given |= {name: value for name, value in other.items() if name in given}
    settings = {name: value for name, value in other.items() if name not in given}
    model = model_of(solver, path, **{"alpha": 0.1, **settings})
    with refused(CheckpointError, str(path), "another fit", "Remove the file"):
        model.fit(given["rows"], given["targets"], given["w"])
    assert path.read_bytes() == before
    assert not hasattr(model, "n_features_in_")


def test_the_file_of_another_solver(path, monkeypatch):
    interrupt("rectangle", path, monkeypatch, alpha=0.1)
    for solver in ("pcg", "nystrom"):
        with refused(CheckpointError, "another fit"):
            model_of(solver, path, alpha=0.1).fit(X, y)


@pytest.mark.parametrize("alpha", [0.2, [0.1, 0.2]], ids=str)
@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_sums_serve_every_alpha(solver, alpha, path, monkeypatch):
    """The file of a fit with another λ is of use, or is refused: it changes nothing."""
    interrupt(solver, path, monkeypatch, alpha=0.1)
    expected = model_of(solver, None, alpha=alpha).fit(X, y)
    assert_same(model_of(solver, path, alpha=alpha).fit(X, y), expected)


def test_one_row_is_another_one(path, monkeypatch):
    interrupt("rectangle", path, monkeypatch, alpha=0.1)
    other = X.copy()
    other[77] += 1.0
    with refused(CheckpointError, "another fit"):
        model_of("rectangle", path, alpha=0.1).fit(other, y)


def test_solutions_of_another_tolerance(path, monkeypatch):
    settings = {"alpha": [0.01, 0.1, 1.0]}
    interrupt("pcg", path, monkeypatch, 4, tol=0.5, **settings)
    with refused(CheckpointError, "another fit"):
        model_of("pcg", path, **settings).fit(X, y)


def test_what_is_said_about_convergence(path, monkeypatch):
    """A fit that goes on warns where one that was not interrupted would."""
    settings = {"alpha": 0.001, "max_iter": 2}
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        model_of("pcg", None, **settings).fit(X, y)
    interrupt("pcg", path, monkeypatch, 3, **settings)  # the third state is the solution
    assert any(name.startswith("solutions/") for name in np.load(path).files)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        model_of("pcg", path, **settings).fit(X, y)


def test_residual_and_iterations_of_a_fit_that_went_on(path, monkeypatch):
    settings = {"alpha": 0.1, "tol": 1e-3}
    expected = model_of("pcg", None, **settings).fit(X, y)
    interrupt("pcg", path, monkeypatch, expected.n_iter_ + 1, **settings)
    found = model_of("pcg", path, **settings).fit(X, y)
    assert found.residual_ == pytest.approx(expected.residual_)
    assert found.n_iter_ == expected.n_iter_


# --- a file that is none ---


def _cut(contents):
    return contents[: len(contents) // 2]


def _flipped(contents):
    """A byte among the numbers of the first array."""
    place = contents.index(b"NUMPY") + 140
    return contents[:place] + bytes([contents[place] ^ 255]) + contents[place + 1 :]


DAMAGE = {"empty": lambda _: b"", "text": lambda _: b"hello", "cut": _cut, "flipped": _flipped}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy's file
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_a_damaged_file(solver, damage, path, monkeypatch):
    interrupt(solver, path, monkeypatch, alpha=0.1)
    path.write_bytes(damage(path.read_bytes()))
    with refused(CheckpointError, str(path), "is no checkpoint", "Remove it"):
        model_of(solver, path, alpha=0.1).fit(X, y)
    path.unlink()
    assert_same(
        model_of(solver, path, alpha=0.1).fit(X, y), model_of(solver, None, alpha=0.1).fit(X, y)
    )


def test_arrays_of_something_else(path):
    np.savez(path, weights=np.ones(3))
    with refused(CheckpointError, "another fit"):
        model_of("rectangle", path, alpha=0.1).fit(X, y)
    np.savez(path, identity=np.array([object()]), allow_pickle=True)
    with refused(CheckpointError, "is no checkpoint"):
        model_of("rectangle", path, alpha=0.1).fit(X, y)


def test_an_array_of_its_own(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with refused(CheckpointError, "is no checkpoint"):
        model_of("rectangle", path, alpha=0.1).fit(X, y)


def test_warnings_are_no_part_of_it(path, monkeypatch):
    interrupt("rectangle", path, monkeypatch, alpha=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_of("rectangle", path, alpha=0.1).fit(X, y)
