"""Every update of a stream is all or nothing, whatever goes wrong in the middle of it."""

import random
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone

import squareone
from squareone import (
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.errors import IllConditionedWarning, SingularSystemError
from squareone.kernels import Gaussian
from squareone.online import DualLearners, PrimalLearners
from squareone.online.rollback import Restorable
from tests.estimators.interrupts import interrupted, lines_of

rng = np.random.default_rng(0)
n, d = 290, 5
X = rng.standard_normal((n, d))
three = np.argmax(X[:, :3] + 0.5 * rng.standard_normal((n, 3)), axis=1)
late = np.where(np.arange(n) < 120, three % 2, three)  # a third class comes late
numbers = X @ rng.standard_normal((d, 2))
weights = np.arange(n) % 3.0
FORMS = ["primal", "dual", "diagonal"]
add = {"new_classes": "add"}

MODELS = {
    **{f"perceptron, {form}": SecondOrderPerceptron(form=form, **add) for form in FORMS},
    **{f"incremental, {form}": IncrementalRLSClassifier(form=form, **add) for form in FORMS},
    **{f"sampler, {form}": SelectiveSamplingClassifier(form=form, **add) for form in FORMS},
    **{
        f"hierarchy, {form}": HierarchicalClassifier(taxonomy={"a": [0, 1], "b": [2]}, form=form)
        for form in FORMS
    },
    "average": SecondOrderPerceptron(hypothesis="average", **add),
    "penalised": SecondOrderPerceptron(hypothesis="penalised", **add),
    "several ridges": IncrementalRLSClassifier(alpha=[10.0, 0.1], **add),
    "a width to come": IncrementalRLSClassifier("gaussian", **add),
    "a budget": SecondOrderPerceptron(Gaussian(1.0), budget=4, **add),
    "randomised": SelectiveSamplingClassifier(strategy="randomized", **add),
    "filter": FilteringClassifier(),
    "forgetting": IncrementalRLSRegressor(forgetting=0.95),
    "regression": IncrementalRLSRegressor(),
    "far above the ridge": IncrementalRLSRegressor(alpha=1e-9, form="dual"),
}


def begun(name, rows):
    model = clone(MODELS[name])
    if isinstance(model, FilteringClassifier):
        return model.start([0, 1], d).feedback(X[:rows], three[:rows] % 2)
    if isinstance(model, IncrementalRLSRegressor):
        return model.partial_fit(X[:rows], numbers[:rows])
    if isinstance(model, HierarchicalClassifier):
        return model.partial_fit(X[:rows], three[:rows])
    return model.partial_fit(X[:rows], late[:rows], classes=[0, 1])


def operations(model, start):
    """What may be done with a stream, by name."""
    rest, one = slice(start, n), start + 3
    if isinstance(model, FilteringClassifier):
        two = three % 2
        return {
            "feedback": lambda each: each.feedback(X[rest], two[rest]),
            "decide": lambda each: each.decide(X[rest]),
            "one": lambda each: each.learn_one(X[one], two[one]),
        }
    y = numbers if isinstance(model, IncrementalRLSRegressor) else late
    y = three if isinstance(model, HierarchicalClassifier) else y
    found = {
        "many": lambda each: each.partial_fit(X[rest], y[rest]),
        "sparse": lambda each: each.partial_fit(csr_matrix(X[rest]), y[rest]),
        "weighted": lambda each: each.partial_fit(X[rest], y[rest], sample_weight=weights[rest]),
        "one": lambda each: each.learn_one(X[one], y[one]),
        "one of a new class": lambda each: each.learn_one(X[one], y[-1]),
    }
    if isinstance(model, SelectiveSamplingClassifier):
        found["query"] = lambda each: each.query(X[rest])
    return found


def saved(model, path):
    """All of a stream, as the bytes of its file."""
    squareone.save(model, path)
    return path.read_bytes()


@pytest.mark.costly
@pytest.mark.filterwarnings("ignore::squareone.errors.IllConditionedWarning")
@pytest.mark.parametrize("start", [pytest.param(30, marks=pytest.mark.thorough), 140])
@pytest.mark.parametrize("name", MODELS)
def test_an_interrupt_leaves_all_or_nothing(name, start, tmp_path):
    model = begun(name, start)
    before = saved(model, tmp_path / "model")
    for operation in operations(model, start).values():
        done = deepcopy(model)
        lines = lines_of(lambda done=done, do=operation: do(done))
        after = saved(done, tmp_path / "model")
        for at in random.Random(start).sample(range(1, lines + 1), 2):
            each = deepcopy(model)
            assert interrupted(lambda each=each, do=operation: do(each), at)
            found = saved(each, tmp_path / "model")
            assert found in (before, after)
            if found == before:  # and it goes on as if nothing had happened
                operation(each)
                assert saved(each, tmp_path / "model") == after


def test_an_interrupt_while_features_are_added_leaves_none(tmp_path):
    model = IncrementalRLSClassifier(new_features="add", missing_features="zero").start([0, 1])
    for row in X[:40]:
        model.learn_one({f"x{j}": row[j] for j in range(3)}, int(row[0] > 0))
    before = saved(model, tmp_path / "model")
    new = {"x1": 1.0, "x7": 2.0}
    for at in range(1, lines_of(lambda: deepcopy(model).learn_one(new, 1)), 3):
        each = deepcopy(model)
        interrupted(lambda each=each: each.learn_one(new, 1), at)
        if saved(each, tmp_path / "model") == before:
            assert each.n_features_in_ == 3
            assert each.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    before = saved(model, tmp_path / "model")
    assert model.predict_one(new) in (0, 1)  # which adds none
    assert saved(model, tmp_path / "model") == before


def test_an_interrupted_first_call_leaves_no_stream():
    lines = lines_of(lambda: IncrementalRLSClassifier().partial_fit(X, three))
    for at in range(1, lines, 17):
        model = IncrementalRLSClassifier()
        interrupted(lambda model=model: model.partial_fit(X, three), at)
        assert not hasattr(model, "_record") or model.n_rounds_ == n
        model = IncrementalRLSClassifier()
        interrupted(lambda model=model: model.fit(X, three), at)
        assert not hasattr(model, "_record") or model.n_rounds_ == n


# --- rows that cannot be learned ---


@pytest.mark.parametrize(
    "kind", [IncrementalRLSRegressor, IncrementalRLSClassifier, SecondOrderPerceptron]
)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_failure_in_a_later_block_takes_all_blocks_back(kind, form, monkeypatch):
    y = X[:, 0] if kind is IncrementalRLSRegressor else three % 2
    model = kind(form=form).partial_fit(X[:20], y[:20])
    before, rounds = model.predict(X), model.n_rounds_
    learners = {"primal": PrimalLearners, "dual": DualLearners}[form]
    calls = []
    for name in sorted({"learn", "learn_each", "learn_rows"} & vars(learners).keys()):
        original = getattr(learners, name)

        def failing(self, *arguments, original=original):
            calls.append(None)
            if len(calls) == (20 if kind is SecondOrderPerceptron else 2):
                msg = "out of memory"
                raise MemoryError(msg)
            return original(self, *arguments)

        monkeypatch.setattr(learners, name, failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[20:], y[20:])
    assert model.n_rounds_ == rounds
    assert_array_equal(model.predict(X), before)
    monkeypatch.undo()
    expected = kind(form=form).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_array_equal(model.partial_fit(X[20:], y[20:]).predict(X), expected.predict(X))


def test_rows_that_a_kernel_cannot_tell_apart_take_all_blocks_back():
    rows = np.vstack([X[:200], X[:200]])
    model = IncrementalRLSRegressor(Gaussian(3.0), alpha=1e-18)
    with pytest.warns(IllConditionedWarning, match="digits are lost"):
        model.partial_fit(rows[:2], rows[:2, 0])
    before = model.predict(X)
    with pytest.raises(SingularSystemError, match="alpha=1e-18 is lost in rounding"):
        model.partial_fit(rows[2:], rows[2:, 0])
    assert model.n_rounds_ == 2
    assert_array_equal(model.predict(X), before)


def test_one_row_is_refused_as_a_block_is():
    model = IncrementalRLSRegressor(Gaussian(3.0), alpha=1e-18, fit_intercept=False).start(d)
    learned = []

    def learn_all():
        for row in np.vstack([X[:100], X[:100]]):
            model.learn_one(row, row[0])
            learned.append(np.isfinite(model.predict(X)).all())

    with (
        pytest.warns(IllConditionedWarning, match="digits are lost"),
        pytest.raises(SingularSystemError, match="alpha=1e-18 is lost in rounding"),
    ):
        learn_all()
    assert all(learned)
    assert model.n_rounds_ == len(learned)
    assert np.isfinite(model.predict(X)).all()


def test_a_warning_that_is_an_error_takes_all_back():
    rows = np.column_stack([X[:, :1] + 1.7e12] * 2)
    model = IncrementalRLSRegressor(alpha=1e-6).partial_fit(np.zeros((9, 2)), X[:9, 0])
    before = model.predict(rows)
    with pytest.warns(IllConditionedWarning, match="digits are lost"):
        deepcopy(model).partial_fit(rows, X[:, 0])
    # warnings are errors in these tests
    with pytest.raises(IllConditionedWarning):
        model.partial_fit(rows, X[:, 0])
    assert model.n_rounds_ == 9
    assert_array_equal(model.predict(rows), before)


# --- what is remembered ---


@pytest.mark.parametrize("name", MODELS)
def test_lists_and_dictionaries_are_named_for_snapshots(name):
    """What is changed where it is has to be copied before."""
    model, seen = begun(name, 40), []

    def look(part):
        seen.append(part)
        held = {key for key, value in vars(part).items() if isinstance(value, list | dict)}
        own = type(part).snapshot is not Restorable.snapshot
        fixed = {"contenders", "_vectors", "families", "_earlier", "_panels", "names"}
        assert own or held - fixed <= set(part.containers), type(part)
        for inner in part.parts():
            look(inner)

    look(model._record)
    assert len(seen) > 2 or isinstance(model, HierarchicalClassifier)
