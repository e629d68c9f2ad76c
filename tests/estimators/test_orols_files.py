"""Greedy models in copies and files, and files that are not true."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import squareone
from squareone import OROLSClassifier, OROLSRegressor
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian, Linear, Precomputed
from tests.estimators.center_cases import (
    NAMES,
    X,
    indicators,
    n,
    new,
    several,
    three,
    two,
    weights,
    y,
)
from tests.estimators.data import refused, table

FIXED = {"kernel": Gaussian(1.5), "epsilon": 0.01}


def regressor(**more):
    return OROLSRegressor(**{**FIXED, **more})


def classifier(**more):
    return OROLSClassifier(**{**FIXED, **more})


FITTED = {
    "regressor": (regressor(), X, y),
    "searched": (OROLSRegressor(), X, y),
    "frame": (regressor(), pd.DataFrame(X, columns=NAMES), y),
    "several targets": (regressor(), X, several),
    "shared centers": (regressor(shared_centers=True), X, several),
    "no intercept": (regressor(fit_intercept=False), X, y),
    "sparse": (regressor(), csr_array(np.where(np.abs(X) > 0.7, X, 0.0)), y),
    "several kernels": (regressor(kernel=[Gaussian(1.0), Linear()]), X, several),
    "single": (regressor(), X.astype(np.float32), y.astype(np.float32)),
    "precomputed": (OROLSRegressor(Precomputed(), epsilon=0.1), X @ X.T, y),
    "no centers": (regressor(), X, np.ones(n)),
    "two classes": (classifier(), X, two),
    "three classes": (classifier(), X, three),
    "code": (classifier(coding="bch"), X, three),
    "pairs": (classifier(coding="one_vs_one", shared_centers=True), X, three),
    "labels": (classifier(), X, indicators),
}
every_model = pytest.mark.parametrize(("model", "rows", "target"), table(FITTED))


def answers(model, rows):
    """What a model says of itself, and of rows, at every number of centers."""
    found = {
        name: getattr(model, name)
        for name in [*vars(model), "path_"]
        if name.endswith("_") and name != "centers_"
    }
    longest = model.path_["centers"].max()
    for m in sorted({0, longest // 2, longest}):
        found[f"at {m}"] = model.at(m).predict(rows)
    found["now"] = model.predict(rows)
    if hasattr(model, "centers_"):
        found["centers"] = model.centers_
    return found


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert type(found[name]) is type(value), name
        if hasattr(value, "toarray"):
            assert_array_equal(found[name].toarray(), value.toarray())
        elif hasattr(value, "get_params") or name == "kernel_":
            assert repr(found[name]) == repr(value)
        else:
            np.testing.assert_equal(found[name], value, err_msg=name)


@pytest.mark.thorough
@pytest.mark.costly
@every_model
def test_copies_say_the_same(model, rows, target):
    model = clone(model).fit(rows, target, weights)
    expected = answers(model, rows)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same(answers(copied, rows), expected)
    again = clone(model)
    assert not hasattr(again, "path_")
    assert_same(answers(again.fit(rows, target, weights), rows), expected)


@pytest.mark.costly
@every_model
def test_files_say_the_same(model, rows, target, tmp_path):
    model = clone(model).fit(rows, target, weights)
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert_same(
        dict(sorted(answers(loaded, rows).items())), dict(sorted(answers(model, rows).items()))
    )
    loaded.save(tmp_path / "again.safetensors")
    assert_array_equal(
        squareone.load(tmp_path / "again.safetensors").predict(rows), model.predict(rows)
    )


def test_a_model_of_the_path_is_saved_with_its_path(tmp_path):
    model = regressor().fit(X, y)
    squareone.save(model.at(2), tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    assert loaded.n_centers_ == 2
    assert_array_equal(loaded.predict(new), model.at(2).predict(new))
    assert_array_equal(loaded.at(model.n_centers_).predict(new), model.predict(new))


def changed(model, path, change):
    """Load what was saved, with a change to its description."""
    squareone.save(model, path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tree = json.loads(header["__metadata__"]["squareone"])
    change(tree["object"]["fitted"])
    header["__metadata__"]["squareone"] = json.dumps(tree)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    return squareone.load(path)


def setting(where, value):
    def change(tree):
        *outer, last = [int(name) if name.isdigit() else name for name in where.split(".")]
        for name in outer:
            tree = tree[name]
        if callable(value):
            tree[last] = value(tree[last])
        else:
            tree[last] = value

    return change


LIES = {
    "no record": (setting("record", {}), []),
    "no kernels": (setting("record.kernels", []), ["no kernels"]),
    "a number as a kernel": (setting("record.kernels", [3]), ["no kernels"]),
    "a width that is text": (
        setting("record.kernels", [{"$object": "Gaussian", "parameters": {"sigma": "auto"}}]),
        ["sigma"],
    ),
    "a precomputed kernel after all": (
        setting("record.kernels", [{"$object": "Precomputed", "parameters": {}}]),
        [],
    ),
    "no such type": (setting("record.bits", 16), ["no such type"]),
    "a single precision after all": (setting("record.bits", 32), []),
    "another number of features": (setting("record.n_features", 2), ["3 features, not 2"]),
    "other features": (setting("n_features_in", 2), ["3 features are not 2"]),
    "no features": (setting("record.n_features", 0), ["no features"]),
    "no groups": (setting("record.groups", []), ["groups"]),
    "a group too many": (setting("record.groups", [[0], [1], [2]]), []),
    "a group too few": (setting("record.groups", [[0, 1]]), []),
    "a group twice": (setting("record.groups", [[0], [0]]), ["groups"]),
    "a group of text": (setting("record.groups", [["0"], ["x"]]), []),
    "a group that is a number": (setting("record.groups", [0, 1]), []),
    "a group of groups": (setting("record.groups", [[[0]], [[1]]]), []),
    "a group of large numbers": (setting("record.groups", [[2**70], [1]]), []),
    "a path too few": (setting("record.paths", lambda paths: paths[:1]), []),
    "a path that is none": (setting("record.paths", [1, 2]), []),
    "paths that are a text": (setting("record.paths", "ab"), []),
    "too many centers": (setting("record.counts", [1000, 1]), ["not so many centers"]),
    "negative centers": (setting("record.counts", [-1, 1]), ["not so many centers"]),
    "a count too few": (setting("record.counts", [1]), ["not so many centers"]),
    "a count that is text": (setting("record.counts", ["1", "1"]), ["not so many centers"]),
    "a count that is true": (setting("record.counts", [True, True]), ["not so many centers"]),
    "a unit of zero": (setting("record.unit", 0.0), ["unit"]),
    "free that is two": (setting("record.paths.0.free", 2), ["free is 0 or 1"]),
    "free that is not": (setting("record.paths.0.free", 0), []),
    "a best that is not there": (setting("record.paths.0.best", 1000), ["not 1000"]),
    "an end that is a number": (setting("record.paths.0.ended", 3), []),
    "a field more": (setting("record.paths.0.more", 3), ["more"]),
    "a field less": (lambda tree: tree["record"]["paths"][0].pop("penalties"), ["penalties"]),
    "no search": (setting("search", None), []),
    "another search": (setting("search", {}), []),
    "an epsilon that is text": (setting("epsilon", "small"), ["epsilon"]),
    "an epsilon below zero": (setting("epsilon", -1.0), ["epsilon"]),
    "classes": (
        setting("record.targets", {"classes": None, "multilabel": True, "code": None}),
        ["classes belong to a classifier"],
    ),
}


@pytest.mark.parametrize(("change", "message"), table(LIES))
def test_files_that_contradict_themselves_are_refused(change, message, tmp_path):
    model = regressor().fit(X, several)
    with refused(FileFormatError, "cannot load", *message):
        changed(model, tmp_path / "model.safetensors", change)


def swapped(name, change):
    """A change to the numbers of a record, before it is saved."""

    def apply(record):
        owner = record if hasattr(record, name) else record.paths[0]
        values = np.array(getattr(owner, name))
        change(values)
        setattr(owner, name, values)

    return apply


def put(place, value):
    def change(values):
        values[place] = value

    return change


FALSE_NUMBERS = {
    "a singular triangle": (swapped("triangle", put((1, 1), 0.0)), ["singular"]),
    "a triangle with NaN": (swapped("triangle", put((0, 1), np.nan)), []),
    "projections with NaN": (swapped("projections", put(0, np.nan)), []),
    "a negative penalty": (swapped("penalties", put(1, -1.0)), ["negative"]),
    "a penalty of NaN": (swapped("penalties", put(1, np.nan)), []),
    "numbers below zero": (swapped("numbers", put(0, -1)), []),
    "unsorted candidates": (swapped("candidates", put(0, 88)), ["not points of these rows"]),
    "points with NaN": (swapped("points", put(0, np.nan)), []),
}


@pytest.mark.parametrize(("change", "message"), table(FALSE_NUMBERS))
def test_numbers_that_cannot_be_are_refused(change, message, tmp_path):
    model = regressor().fit(X, several)
    change(model._record)
    squareone.save(model, tmp_path / "model.safetensors")
    with refused(FileFormatError, "cannot load", *message):
        squareone.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_a_damaged_file_is_refused_or_a_model(place, tmp_path):
    model = regressor(max_centers=4).fit(X, y)
    path = tmp_path / "model.safetensors"
    model.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * place // 40])
    with refused(FileFormatError, "cannot load"):
        squareone.load(path)
