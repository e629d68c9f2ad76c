"""Files that are damaged, lie, or mean harm: a clear error, or a model like any other.

Never a crash, a hang, much memory, or code that is run.
"""

import contextlib
import io
import json
import os
import pickle
import tracemalloc
import warnings
import zipfile

import joblib
import numpy as np
import pytest
from safetensors.numpy import save as to_safetensors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import squareone
from squareone import (
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian, Linear, Polynomial
from squareone.persistence import container
from tests.estimators.data import X, d, frame, indicators, n, refused, table, three, two, y

few = frame[:9]


def _one_by_one():
    model = IncrementalRLSClassifier(alpha=[1.0, 0.1], forgetting=0.9).start(["a", "b"], d)
    for row, label in zip(X[:9], two[:9], strict=True):
        model.learn_one(row, "ab"[label])
    return model


def _named():
    model = SecondOrderPerceptron(new_features="add", missing_features="zero").start([0, 1])
    for row, label in zip(X[:9], two[:9], strict=True):
        model.learn_one({"length": row[0], "width": row[1], "age": row[2]}, label)
    return model


MODELS = {
    "regressor": RLSRegressor(0.5 * Gaussian() + Polynomial(2)).fit(few, y[:9], [0, *range(1, 9)]),
    "linear": RLSRegressor("linear", alpha=[0.1, 1.0]).fit(few, y[:9]),
    "classifier": RLSClassifier(alpha=0.1).fit(few, np.array(["ab", "c"])[two[:9]]),
    "pipeline": make_pipeline(StandardScaler(), RLSRegressor("linear", alpha=0.1)).fit(few, y[:9]),
    "perceptron": SecondOrderPerceptron(alpha=[0.1, 1.0], hypothesis="average").fit(few, three[:9]),
    "points": SecondOrderPerceptron(kernel=Gaussian(1.0), budget=3).fit(few, three[:9]),
    "sampler": SelectiveSamplingClassifier(strategy="randomized", form="diagonal").fit(
        few, two[:9]
    ),
    "hierarchy": HierarchicalClassifier(taxonomy={"a": ["b", "c"]}).fit(
        few, np.array(["b", "c"])[two[:9]]
    ),
    "one by one": _one_by_one(),
    "far above the ridge": IncrementalRLSRegressor(form="dual", alpha=1e-9).fit(
        few, y[:9], np.arange(1.0, 10.0)
    ),
    "a width to come": SelectiveSamplingClassifier("gaussian").fit(few, two[:9]),
    "named": _named(),
}
_ = MODELS["classifier"].calibration_, MODELS["regressor"].leverages_


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def content(model, path):
    """The bytes of a saved model."""
    squareone.save(model, path)
    return path.read_bytes()


def load(path, data):
    path.write_bytes(data)
    return squareone.load(path)


def taken_apart(model, path):
    """The header, the model in it, and the numbers."""
    data = content(model, path)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["squareone"]), data[8 + length :]


def put_together(header, tree, numbers):
    header = {**header, "__metadata__": {"squareone": json.dumps(tree)}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def sane(path, data):
    """Refused with the error there is for that, or a model that predicts or says why not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers out of range, another scikit-learn
        try:
            model = load(path, data)
        except FileFormatError as error:
            return "refused" if str(error).startswith("cannot load") else "refused without a word"
        rows = X[:3] if getattr(model, "n_features_in_", d) == d else X[:, :2]
        with contextlib.suppress(ArithmeticError, AttributeError, TypeError, ValueError):
            assert len(model.predict(rows)) == len(rows)
    return "loaded"


# --- not such a file at all ---


def _zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model", "nothing")
    return buffer.getvalue()


def _joblib():
    buffer = io.BytesIO()
    joblib.dump(MODELS["linear"], buffer)
    return buffer.getvalue()


def _of(header, numbers=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def _tensor(shape, begin, end, dtype="F64"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def _with(text):
    return _of({"__metadata__": {"squareone": text}})


FOREIGN = {
    "empty": (b"", ["not a safetensors file", "0 bytes"]),
    "short": (b"abc", ["not a safetensors file", "3 bytes"]),
    "text": (b"n = 3, and more of that\n" * 9, ["not a safetensors file"]),
    "pickle": (pickle.dumps(MODELS["linear"]), ["looks like a pickle", "joblib", "runs"]),
    "joblib": (_joblib(), ["looks like a pickle"]),
    "zip": (_zip(), ["looks like a pickle or an archive"]),
    "zeros": (bytes(1000), ["not a safetensors file"]),
    "a header of no length": (_of(b""), ["not a safetensors file"]),
    "a header of any length": (b"\xff" * 8 + b"{}", ["not a safetensors file"]),
    "a header longer than the file": (
        (100).to_bytes(8, "little") + b"{}",
        ["cut off", "10 bytes"],
    ),
    "a huge header": (
        (2**24 + 1).to_bytes(8, "little") + b"{" + b" " * 2**24,
        ["not a safetensors file"],
    ),
    "no JSON": (_of(b"{hello}"), ["not JSON"]),
    "no UTF-8": (_of(b'{"\xff": 1}'), ["not text"]),
    "a list": (_of(b"[1]"), ["no header"]),
    "another model": (
        to_safetensors({"weight": np.zeros((2, 2))}, {"format": "pt"}),
        ["not one that squareone has written"],
    ),
    "no metadata": (_of({"a": _tensor([], 0, 8)}, bytes(8)), ["not one that squareone"]),
    "metadata of another kind": (_of({"__metadata__": 3}), ["not one that squareone"]),
    "model of another kind": (_of({"__metadata__": {"squareone": 3}}), ["not one that squareone"]),
    "model that is no JSON": (_with("{"), ["not JSON"]),
    "model that is a number": (_with("3"), ["the header", "got int"]),
    "empty model": (_with("{}"), ["format is missing"]),
    "deep": (_with("[" * 100_000), ["nested too deeply"]),
    "deep and closed": (_with('{"a":' * 20_000 + "1" + "}" * 20_000), ["nested too deeply"]),
    "deep outside": (_of(b'{"a":' + b"[" * 100_000), ["nested too deeply"]),
    "a key twice": (_with('{"format": 1, "format": 1}'), ["same key twice"]),
    "infinity": (_with('{"format": Infinity}'), ["number Infinity"]),
    "too large a number": (_with('{"format": 1e999}'), ["number 1e999"]),
    "a number of many digits": (_with(f'{{"format": {"9" * 5000}}}'), ["number that is none"]),
    "no version": (_with('{"format": true, "versions": {}, "object": {}}'), ["int is expected"]),
    "a later version": (
        _with('{"format": 5, "versions": {"squareone": "7.0"}, "object": {}}'),
        ["format 5", "squareone 7.0", "upgrade squareone"],
    ),
    "an earlier version": (
        _with('{"format": 3, "versions": {"squareone": "0.0"}, "object": {}}'),
        ["format 3", "fit the model again", "load it with squareone 0.0"],
    ),
    "an impossible version": (
        _with('{"format": -1, "versions": {}, "object": {}}'),
        ["format -1"],
    ),
}


@pytest.mark.parametrize(("data", "message"), table(FOREIGN))
def test_what_is_no_such_file_is_said(data, message, path):
    tracemalloc.start()
    with refused(FileFormatError, "cannot load", "model.safetensors", *message):
        load(path, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3e6 + 4 * len(data)


def test_what_is_no_file_is_said(tmp_path):
    with refused(FileFormatError, "not an ordinary file"):
        squareone.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # would be waited for
    with refused(FileFormatError, "not an ordinary file"):
        squareone.load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        squareone.load(tmp_path / "nothing")


# --- tensors that cannot be true ---

huge = 2**40
TENSORS = {
    "beyond the end": ({"a": _tensor([2], 0, 16)}, 8, ["should take 16 bytes, and 8 are there"]),
    "before the end": ({"a": _tensor([1], 0, 8)}, 16, ["should take 8 bytes, and 16"]),
    "overlapping": (
        {"a": _tensor([2], 0, 16), "b": _tensor([1], 8, 16)},
        16,
        ["begins at byte 8"],
    ),
    "with a hole": ({"a": _tensor([1], 8, 16)}, 16, ["begins at byte 8, not at 0"]),
    "huge": ({"a": _tensor([huge], 0, 8 * huge)}, 8, ["8,796,093,022,208 bytes"]),
    "a shape that is too large": ({"a": _tensor([huge], 0, 8)}, 8, ["should have shape"]),
    "an overflowing shape": ({"a": _tensor([2**32, 2**32, 1], 0, 0)}, 0, ["should have shape"]),
    "an overflow that fits": ({"a": _tensor([2**61 + 1], 0, 8)}, 8, ["should have shape"]),
    "zero times too much": ({"a": _tensor([0, 2**61, 2**61], 0, 0)}, 0, ["a shape that is none"]),
    "too large a side": ({"a": _tensor([0, 2**63], 0, 0)}, 0, ["a shape or a place"]),
    "a negative side": ({"a": _tensor([-1, -1], 0, 8)}, 8, ["a shape or a place"]),
    "a side of 1.0": ({"a": _tensor([1.0], 0, 8)}, 8, ["a shape or a place"]),
    "a side that is true": ({"a": _tensor([True], 0, 8)}, 8, ["a shape or a place"]),
    "a shape that is a number": ({"a": _tensor(1, 0, 8)}, 8, ["a shape or a place"]),
    "many sides": ({"a": _tensor([1] * 9, 0, 8)}, 8, ["should have shape"]),
    "a negative place": ({"a": _tensor([1], -8, 0)}, 8, ["a shape or a place"]),
    "backwards": ({"a": _tensor([1], 8, 0)}, 8, ["but has -8 bytes"]),
    "an unknown type": ({"a": _tensor([1], 0, 8, "C64")}, 8, ["cannot be read"]),
    "a type that is a list": ({"a": _tensor([1], 0, 8, [])}, 8, ["cannot be read"]),
    "no type": ({"a": {"shape": [1], "data_offsets": [0, 8]}}, 8, ["cannot be read"]),
    "three offsets": ({"a": {**_tensor([], 0, 8), "data_offsets": [0, 4, 8]}}, 8, ["be read"]),
    "a number": ({"a": 3}, 8, ["cannot be read"]),
    "neither true nor false": ({"a": _tensor([1], 0, 1, "BOOL")}, 1, ["neither true nor false"]),
    "not asked for": ({"a": _tensor([1], 0, 8)}, 8, ["format is missing"]),
}


@pytest.mark.parametrize(("tensors", "size", "message"), table(TENSORS))
def test_tensors_that_cannot_be_true_are_refused(tensors, size, message, path):
    data = _of({"__metadata__": {"squareone": "{}"}, **tensors}, b"\x02" * size)
    tracemalloc.start()
    with refused(FileFormatError, *message):
        load(path, data)
    assert tracemalloc.get_traced_memory()[1] < 3e6
    tracemalloc.stop()


# --- a model that contradicts itself ---


def _set(where, value):
    def change(tree):
        *outer, last = where.split(".")
        for name in outer:
            tree = tree[int(name) if name.isdigit() else name]
        tree[last] = value

    return change


def _deep(tree):
    kernel = {"$object": "Linear", "parameters": {}}
    for _ in range(120):
        parameters = {"first": kernel, "second": {"$object": "Linear", "parameters": {}}}
        kernel = {"$object": "Sum", "parameters": parameters}
    tree["object"]["fitted"]["record"]["kernel"] = kernel


def _broad(tree):
    kernel = {"$object": "Linear", "parameters": {}}
    for _ in range(11):
        kernel = {"$object": "Sum", "parameters": {"first": kernel, "second": kernel}}
    tree["object"]["fitted"]["record"]["kernel"] = kernel


def _kernel(name, **parameters):
    return _set("object.fitted.record.kernel", {"$object": name, "parameters": parameters})


LIES = {
    "no such class": (_set("object.$object", "Popen"), ["'Popen' is not known"]),
    "a path to a class": (_set("object.$object", "os.system"), ["'os.system' is not known"]),
    "another class": (_set("object.$object", "RLSClassifier"), ["RLSClassifier", "no parameters"]),
    "a kernel as a model": (
        _set("object", {"$object": "Linear", "parameters": {}}),
        ["belong to nothing"],
    ),
    "a number as a model": (_set("object", 3), ["dict is expected, got int"]),
    "an unfitted model": (_set("object.fitted", {}), ["record is missing"]),
    "no parameters": (_set("object.parameters", []), ["dict is expected"]),
    "an unknown parameter": (_set("object.parameters.shell", True), ["shell", "upgrade"]),
    "an unknown field": (_set("object.fitted.record.more", 1), ["more", "not known here"]),
    "an unknown mark": (_set("object.parameters.alpha", {"$eval": "1"}), ["$eval"]),
    "two marks": (_set("object.parameters.alpha", {"$eval": 1, "$tuple": []}), ["not known"]),
    "a missing tensor": (_set("object.parameters.alpha", {"$tensor": "alpha"}), ["is missing"]),
    "a tensor twice": (
        _set("object.parameters.alpha", {"$tensor": "fitted.record.alphas"}),
        ["used twice"],
    ),
    "a tensor that is left": (_set("object.fitted.record.diagonal", None), ["ndarray is expected"]),
    "a wrong type": (_set("object.parameters.alpha", {"$type": "os"}), ["'os' is not known"]),
    "a dtype of many": (
        _set("object.parameters.alpha", {"$dtype": "f8,(9999,9999)f8"}),
        ["not expected"],
    ),
    "a number that is none": (
        _set("object.parameters.alpha", {"$scalar": "int8", "value": 300}),
        ["int8"],
    ),
    "text as a number": (
        _set("object.parameters.alpha", {"$scalar": "float64", "value": "3"}),
        ["float64"],
    ),
    "an object as a number": (
        _set("object.parameters.alpha", {"$scalar": "object", "value": 3}),
        ["'object'"],
    ),
    "another infinity": (_set("object.parameters.alpha", {"$float": "1"}), ["'1'"]),
    "a slice of five": (_set("object.parameters.cv", {"$slice": [1] * 5}), ["start, stop"]),
    "pairs of three": (_set("object.parameters.cv", {"$dict": [[1, 2, 3]]}), ["pairs"]),
    "keys that are lists": (_set("object.parameters.cv", {"$dict": [[[1], 2]]}), ["unhashable"]),
    "objects of another shape": (
        _set("object.parameters.alpha", {"$objects": [1, 2], "shape": [huge]}),
        ["no shape"],
    ),
    "too large an integer": (_set("object.parameters.alpha", 10**400), ["too large"]),
    "deep kernel": (_deep, ["inside each other"]),
    "broad kernel": (_broad, ["too many objects"]),
    "a kernel without formula": (
        _kernel("Sum", first={"$object": "Precomputed", "parameters": {}}, second=None),
        ["no formula"],
    ),
    "a kernel of nothing": (_kernel("Product", first=1, second=2), ["a kernel is expected"]),
    "a kernel without numbers": (_kernel("Gaussian", sigma="median"), ["not a number yet"]),
    "a kernel without gamma": (_kernel("Polynomial", degree=2), ["gamma is not a number"]),
    "a width of zero": (_kernel("Gaussian", sigma=0.0), ["above zero"]),
    "a width that is text": (_kernel("Gaussian", sigma="1.0"), ["sigma must be"]),
    "a metric that is text": (_kernel("Gaussian", sigma=1.0, metric="round"), ["'round'"]),
    "a metric to be learned": (
        _kernel("Gaussian", sigma=1.0, metric="learned"),
        ["metric is not a number yet"],
    ),
    "a metric that is a list": (
        _kernel("Gaussian", sigma=1.0, metric=[[1.0], [2.0], [3.0]]),
        ["metric is not a number yet"],
    ),
    "a number as a kernel": (_set("object.fitted.record.kernel", 3), ["Kernel is expected"]),
    "linear after all": (_kernel("Linear"), ["centers", "NoneType is expected"]),
    "another number of features": (_set("object.fitted.n_features_in", 2), ["3 features"]),
    "a number of features of 3.5": (_set("object.fitted.n_features_in", 3.5), ["int is expected"]),
    "fewer names": (_set("object.fitted.feature_names_in", ["a"]), ["1 names of 3"]),
    "equal names": (_set("object.fitted.feature_names_in", ["a"] * 3), ["3 names of 3"]),
    "names that are numbers": (_set("object.fitted.feature_names_in", [1, 2, 3]), ["3 names"]),
    "names in a text": (_set("object.fitted.feature_names_in", "abc"), ["list is expected"]),
    "a unit of zero": (_set("object.fitted.record.unit", 0.0), ["record.unit"]),
    "a unit of NaN": (_set("object.fitted.record.unit", {"$float": "nan"}), ["record.unit"]),
    "classes of a regressor": (
        _set("object.fitted.record.targets", {"classes": None, "multilabel": True, "code": None}),
        ["classes belong to a classifier"],
    ),
    "a plan without the solver": (_set("object.fitted.plan.solver", "magic"), ["'magic'"]),
    "a plan of unknown work": (
        _set("object.fitted.plan.candidates.0.work.$tuple.0.kind", "mining"),
        ["mining-64"],
    ),
    "a plan of nothing": (_set("object.fitted.plan.candidates", []), ["not among"]),
    "text in a plan": (_set("object.fitted.plan.task.n", "30"), ["int is expected, got str"]),
    "seconds that are text": (_set("object.fitted.plan.stages", {"path": "long"}), ["long"]),
    "a step that is a number": (_set("object.fitted.record.steps", [1]), ["got int"]),
    "a mean criterion": (_set("object.fitted.record.criterion", {"name": "mean"}), ["missing"]),
}


@pytest.mark.parametrize(("change", "message"), table(LIES))
def test_a_model_that_contradicts_itself_is_refused(change, message, path):
    header, tree, numbers = taken_apart(RLSRegressor(Gaussian(1.0)).fit(frame, y), path)
    change(tree)
    with refused(FileFormatError, "cannot load", *message):
        load(path, put_together(header, tree, numbers))


def rewritten(model, path, changes):
    """A saved model with some of its tensors replaced."""
    squareone.save(model, path)
    tree, tensors = container.read(path)
    for name, change in changes.items():
        tensors[f"fitted.record.{name}"] = np.ascontiguousarray(
            change(tensors[f"fitted.record.{name}"])
        )
    container.write(path, tree, tensors)


def _with_nan(values):
    values = values.copy()
    values.flat[-1] = np.nan
    return values


WRONG_TENSORS = {
    "fewer coefficients": ({"coefficients": lambda c: c[:-1]}, ["coefficients have shape (29, 1)"]),
    "more targets": ({"coefficients": lambda c: np.hstack([c, c])}, ["coefficients", "(30, 2)"]),
    "3-D coefficients": ({"coefficients": lambda c: c[None]}, ["coefficients", "(1, 30, 1)"]),
    "integers": ({"coefficients": lambda c: c.astype(int)}, ["coefficients", "got int64"]),
    "half precision": ({"centers": lambda c: c.astype("f2")}, ["centers", "got float16"]),
    "mixed precision": (
        {"coefficients": lambda c: c.astype("f4")},
        ["coefficients and columns are of different types"],
    ),
    "NaN": ({"coefficients": _with_nan}, ["coefficients", "not finite"]),
    "NaN among the centers": ({"centers": _with_nan}, ["centers", "not finite"]),
    "fewer centers": ({"centers": lambda c: c[:-1]}, ["centers", "(30, 'any') is expected"]),
    "no features": ({"centers": lambda c: c[:, :0]}, ["coefficients have shape"]),
    "negative rows": ({"kept": lambda k: k - 1}, ["kept", "at least 0"]),
    "rows beyond the last": ({"kept": lambda k: k + 1}, ["kept does not say"]),
    "rows out of order": ({"kept": lambda k: k[::-1]}, ["kept does not say"]),
    "rows that are not whole": ({"kept": lambda k: k + 0.5}, ["kept", "int"]),
    "a negative λ": ({"alphas": lambda a: -a}, ["alphas", "at least 0"]),
    "no λ": ({"alphas": lambda a: a[:0]}, ["columns", "shape (30, 0) is expected"]),
    "another intercept": ({"intercepts": lambda b: np.append(b, b)}, ["intercepts", "(1,)"]),
    "a path out of order": ({"path.alphas": lambda a: a[::-1]}, ["not ascending"]),
    "a path without end": ({"path.scores": lambda s: s[:, :-1]}, ["path.scores"]),
    "precision of 0 bits": ({"path.bits": np.zeros_like}, ["path.bits"]),
    "fewer leave-one-out values": (
        {"leave_one_out_values": lambda v: v[1:]},
        ["leave_one_out_values", "(30, 1) is expected"],
    ),
}


@pytest.mark.parametrize(("changes", "message"), table(WRONG_TENSORS))
def test_tensors_that_do_not_fit_together_are_refused(changes, message, path):
    rewritten(RLSRegressor().fit(frame, y), path, changes)
    with refused(FileFormatError, "cannot load", *message):
        squareone.load(path)


WRONG_CLASSES = {
    "fewer": (three, {"targets.classes": lambda c: c[:2]}, ["(2,) classes", "3 columns"]),
    "the same": (three, {"targets.classes": np.zeros_like}, ["stands there twice"]),
    "no text": (
        np.array(["a", "b"])[two],
        {"targets.classes": lambda c: c + np.uint32(2**30)},
        ["no such code point"],
    ),
    "text of no width": (
        np.array(["a", "b"])[two],
        {"targets.classes": lambda c: c[:, :0]},
        ["code points of texts"],
    ),
    "negative weights": (two, {"weights": np.negative}, ["weights", "at least"]),
}


@pytest.mark.parametrize(("target", "changes", "message"), table(WRONG_CLASSES))
def test_classes_that_do_not_fit_are_refused(target, changes, message, path):
    rewritten(RLSClassifier().fit(X, target, np.linspace(1, 2, n)), path, changes)
    with refused(FileFormatError, *message):
        squareone.load(path)


@pytest.mark.parametrize("calibration", ["temperature", "platt", "isotonic", "linear"])
def test_calibrations_that_do_not_fit_are_refused(calibration, path):
    model = RLSClassifier(calibration=calibration).fit(X, indicators)
    for name in model.calibration_.state():
        for change in (lambda a: np.append(a, [a[-1]] * 3), lambda a: a[:0], _all_nan):
            rewritten(model, path, {f"calibration.arrays.{name}": change})
            with refused(FileFormatError, "cannot load"):
                squareone.load(path)


@pytest.mark.parametrize("calibration", ["temperature", "platt", "isotonic"])
def test_probabilities_that_decrease_are_refused(calibration, path):
    model = RLSClassifier(calibration=calibration).fit(X, indicators)
    _ = model.calibration_
    for change in (np.negative, np.zeros_like):
        rewritten(model, path, {"calibration.arrays.slopes": change})
        with refused(FileFormatError, "increase"):
            squareone.load(path)


WRONG_CLASS_WEIGHTS = {
    "negative": (two, np.negative, "at least"),
    "zero": (two, np.zeros_like, "class of weight zero"),
    "too many": (two, lambda a: np.append(a, 1.0), "shape"),
}


@pytest.mark.parametrize(("target", "change", "message"), table(WRONG_CLASS_WEIGHTS))
def test_class_weights_that_do_not_fit_are_refused(target, change, message, path):
    model = RLSClassifier(class_weight="balanced").fit(X, target)
    rewritten(model, path, {"class_weights": change})
    with refused(FileFormatError, "class", message):
        squareone.load(path)


def _all_nan(values):
    return np.full(values.shape, np.nan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.__setitem__("removed", {"$tensor": "fitted.record.kept"}), "missing, or used"),
        (lambda c: c.__setitem__("name", "folds"), "'folds' is not known"),
        (lambda c: c.pop("scored"), "scored is missing"),
    ],
)
def test_folds_that_do_not_fit_are_refused(change, message, path, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    model = RLSRegressor(Linear() * 1.0, alpha=1.0, cv=3).fit(X, y)
    header, tree, numbers = taken_apart(model, path)
    change(tree["object"]["fitted"]["record"]["criterion"])
    with refused(FileFormatError, message):
        load(path, put_together(header, tree, numbers))
    rewritten(model, path, {"criterion.removed": lambda rows: rows + 25})
    with refused(FileFormatError, "a fold is not one of these rows"):
        squareone.load(path)


# --- at random ---


@pytest.mark.parametrize("name", MODELS)
def test_every_truncation_is_refused(name, path):
    data = content(MODELS[name], path)
    for end in {*range(0, len(data), 37), *range(40), len(data) - 1}:
        with pytest.raises(FileFormatError, match="cannot load"):
            load(path, data[:end])
    with pytest.raises(FileFormatError, match="something was added"):
        load(path, data + b"\0")


@pytest.mark.parametrize("name", MODELS)
def test_bytes_changed_at_random(name, path):
    """Whatever stands in one, two or eight bytes."""
    rng = np.random.default_rng(0)
    data = np.frombuffer(content(MODELS[name], path), np.uint8)
    outcomes = []
    for i in range(300):
        changed = data.copy()
        places = rng.integers(0, data.size, size=[1, 2, 8][i % 3])
        changed[places] = rng.integers(0, 256, size=places.size)
        outcomes.append(sane(path, changed.tobytes()))
    assert outcomes.count("refused") > 100
    assert set(outcomes) == {"refused", "loaded"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_values_changed_at_random(name, path):
    """One value of the model replaced by something else, which gets past the JSON."""
    rng = np.random.default_rng(0)
    header, tree, numbers = taken_apart(MODELS[name], path)
    places = list(_places(tree))
    others = [None, True, -1, 0, 3, 2**62, -1.5, 1e300, "", "auto", "x" * 99, [], {}, [[]]]
    others += [{"$float": "nan"}, {"$tuple": []}, {"$object": "Linear", "parameters": {}}]
    others += [{"$tensor": "fitted.record.alphas"}, {"$object": "Pipeline", "parameters": {}}]
    outcomes = []
    for _ in range(250):
        holder, key = places[rng.integers(len(places))]
        before = holder[key]
        holder[key] = others[rng.integers(len(others))]
        outcomes.append(sane(path, put_together(header, tree, numbers)))
        holder[key] = before
    assert outcomes.count("refused") > 100
    assert set(outcomes) == {"refused", "loaded"}
    assert sane(path, put_together(header, tree, numbers)) == "loaded"


def _places(tree):
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


# --- harm ---


def test_what_a_file_says_is_not_shown_as_it_is(path):
    header, tree, numbers = taken_apart(MODELS["linear"], path)
    tree["object"]["parameters"]["\x1b[31m" + "x" * 10_000] = {"$eval": 1}
    with refused(FileFormatError, "\N{REPLACEMENT CHARACTER}[31mxxx") as caught:
        load(path, put_together(header, tree, numbers))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_a_cache_is_not_loaded(path):
    """A pipeline reads its cache by unpickling: a file cannot point to one."""
    header, tree, numbers = taken_apart(MODELS["pipeline"], path)
    tree["object"]["parameters"]["memory"] = "cache"
    with refused(FileFormatError, "memory='cache' names a cache", "unpickled"):
        load(path, put_together(header, tree, numbers))


@pytest.mark.parametrize("name", ["transform", "fit", "__class__", "__dict__", "copy", "_validate"])
def test_a_method_is_not_covered(name, path):
    header, tree, numbers = taken_apart(MODELS["pipeline"], path)
    step = tree["object"]["parameters"]["steps"][0]["$tuple"][1]
    step["fitted"][name] = "anything"
    if name == "_validate":  # no name of anything
        load(path, put_together(header, tree, numbers))
        return
    with refused(FileFormatError, f"{name} is not an attribute of a fit"):
        load(path, put_together(header, tree, numbers))


def test_a_file_that_shrinks_while_it_is_read(path, monkeypatch):
    content(MODELS["regressor"], path)

    def shrink(name, said, entry=container._entry):
        os.truncate(path, 20)
        return entry(name, said)

    monkeypatch.setattr("squareone.persistence.container._entry", shrink)
    with refused(FileFormatError, "became shorter while it was read"):
        squareone.load(path)


def test_too_long_a_header_is_not_written(path):
    names = [f"{i}-" + "x" * 100_000 for i in range(200)]
    rows = np.zeros((2, 200))
    rows[0] = 1.0
    model = RLSRegressor("linear", alpha=1.0).fit(rows, [0.0, 1.0])
    model.feature_names_in_ = np.array(names, dtype=object)
    with refused(ValueError, "bytes as text", "joblib"):
        model.save(path)
    assert not path.exists()
