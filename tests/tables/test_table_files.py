"""The encoder in files, as a step of a pipeline: numbers and texts only, all of it checked."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

import squareone
from squareone import RLSRegressor, TableRegressor
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian
from squareone.persistence import container
from squareone.tables import TableEncoder
from tests.estimators.data import refused
from tests.tables.test_table_encoder import people, y

sizes = pd.Categorical(np.resize(["s", "m", "l", None], 60), ["s", "m", "l"], ordered=True)
table = people.assign(
    size=sizes, key=np.arange(60), one=1.0, there=[None, "x"] * 30, note=np.resize(list("abc"), 60)
)


def fitted(output="default", **parameters):
    encoder = TableEncoder(random_state=0, **parameters).set_output(transform=output)
    return make_pipeline(encoder, RLSRegressor(Gaussian(2.0), 1.0)).fit(table, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"scaling": "quantile", "dtype": np.float32},
        {"scaling": "pieces", "n_pieces": 3},
        {"many_levels": "hash", "drop_identifiers": False},
        {"max_levels": 2},
    ],
)
def test_there_and_back(parameters, tmp_path):
    pipeline = fitted("pandas" if parameters else "default", **parameters)
    squareone.check_saveable(pipeline)
    squareone.save(pipeline, tmp_path / "model")
    loaded = squareone.load(tmp_path / "model")
    assert_array_equal(loaded.predict(table), pipeline.predict(table))
    one, other = loaded[0], pipeline[0]
    assert set(vars(one)) == set(vars(other))
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert (one.columns_, one.dropped_) == (other.columns_, other.dropped_)
    assert_array_equal(one.output_columns_, other.output_columns_)
    new = table.head(12).assign(city="Lima", age=np.nan, income=[*[None] * 4, *[1.0] * 8])
    assert one.unseen(new) == other.unseen(new)
    squareone.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_arrays(tmp_path):
    rows = table[["age", "income", "city"]].to_numpy(dtype=object)
    pipeline = make_pipeline(TableEncoder(), RLSRegressor("linear", 1.0)).fit(rows, y)
    squareone.save(pipeline, tmp_path / "model")
    loaded = squareone.load(tmp_path / "model")
    assert_array_equal(loaded.predict(rows), pipeline.predict(rows))
    assert not hasattr(loaded[0], "feature_names_in_")


def columns_in(tree):
    step = tree["object"]["parameters"]["steps"][0]["$tuple"][1]
    return step["fitted"]["columns"]


def wrong_kind(tree, tensors):
    columns_in(tree)[0]["kind"] = "number!"


def other_part(tree, tensors):
    columns_in(tree)[0]["parts"][0]["part"] = "Levels"


def no_part(tree, tensors):
    columns_in(tree)[0]["parts"] = []


def twice(tree, tensors):
    columns_in(tree)[1]["name"] = columns_in(tree)[0]["name"]


def more(tree, tensors):
    columns_in(tree)[0]["__class__"] = "object"


def less(tree, tensors):
    del columns_in(tree)[0]["gaps"]


def no_scale(tree, tensors):
    columns_in(tree)[0]["parts"][0]["scaling"]["sd"] = 0.0


def column_of(tree, name):
    return next(column for column in columns_in(tree) if column["name"] == name)


def groups(tree, tensors):
    tensors[column_of(tree, "city")["parts"][0]["groups"]["$tensor"]][:] = 99


def lengths(tree, tensors):
    tensors[column_of(tree, "city")["parts"][0]["levels"]["lengths"]["$tensor"]][0] = 10_000


def huge_lengths(tree, tensors):
    found = tensors[column_of(tree, "city")["parts"][0]["levels"]["lengths"]["$tensor"]]
    found[:2] = 2**62


def letters(tree, tensors):
    tensors[column_of(tree, "city")["parts"][0]["levels"]["utf8"]["$tensor"]][:] = 255


def labels(tree, tensors):
    column_of(tree, "city")["parts"][0]["labels"] = [1, 2]


def not_finite(tree, tensors):
    tensors[column_of(tree, "street")["parts"][0]["values"]["$tensor"]][:] = np.nan


def cycles(tree, tensors):
    column_of(tree, "since")["parts"][1]["cycles"] = ["moon"]


def weekdays(tree, tensors):
    column_of(tree, "since")["parts"][1]["weekdays"] = [9]


def parameter(tree, tensors):
    step = tree["object"]["parameters"]["steps"][0]["$tuple"][1]
    step["parameters"]["scaling"] = "other"


def output(tree, tensors):
    tree["object"]["parameters"]["steps"][0]["$tuple"][1]["fitted"]["output"] = {"transform": "os"}


HARM = [
    wrong_kind,
    other_part,
    no_part,
    twice,
    more,
    less,
    no_scale,
    groups,
    lengths,
    huge_lengths,
    letters,
    labels,
    not_finite,
    cycles,
    weekdays,
    parameter,
    output,
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model"
    squareone.save(fitted(), path)
    return container.read(path)


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_a_file_that_contradicts_itself(harm, stored, tmp_path):
    tree, tensors = copy.deepcopy(stored)
    harm(tree, tensors)
    container.write(tmp_path / "model", tree, tensors)
    with pytest.raises(FileFormatError):
        squareone.load(tmp_path / "model")


def test_a_knot_out_of_place(tmp_path):
    squareone.save(fitted(scaling="quantile"), tmp_path / "model")
    tree, tensors = container.read(tmp_path / "model")
    scaling = column_of(tree, "income")["parts"][0]["scaling"]
    tensors[scaling["knots"]["$tensor"]][3] = -1e9
    container.write(tmp_path / "model", tree, tensors)
    with refused(FileFormatError, "knots and scores do not increase"):
        squareone.load(tmp_path / "model")


@pytest.mark.parametrize("edges", [[3.0, 2.0], [1.0]])
def test_edges_out_of_place(edges, tmp_path):
    squareone.save(fitted(scaling="pieces"), tmp_path / "model")
    tree, tensors = container.read(tmp_path / "model")
    pieces = column_of(tree, "income")["parts"][0]["pieces"]
    tensors[pieces["edges"]["$tensor"]] = np.array(edges)
    container.write(tmp_path / "model", tree, tensors)
    with refused(FileFormatError, "two edges or more that increase"):
        squareone.load(tmp_path / "model")


def fewer_encoders(fitted, tensors):
    del fitted["fold_encoders"][0]


def no_encoder(fitted, tensors):
    fitted["fold_encoders"][0] = fitted["record"]["kernel"]


def other_encoder(fitted, tensors):
    found = fitted["record"]["learned"]["models"][1]["rows"]["$tensor"]
    tensors[found] = tensors[found][:, 1:].copy()


def fewer_rows(fitted, tensors):
    found = fitted["record"]["learned"]["models"][1]["rows"]["$tensor"]
    tensors[found] = tensors[found][1:].copy()


def no_rows(fitted, tensors):
    fitted["record"]["learned"]["models"][0]["rows"] = None


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (fewer_encoders, "4 encoders of folds for 5 models"),
        (no_encoder, "an encoder, and a model with rows by it"),
        (other_encoder, "rows of its model"),
        (fewer_rows, "do not belong to"),
        (no_rows, "an encoder, and a model with rows by it"),
    ],
)
def test_models_of_folds_that_are_not_those_of_the_fit(harm, said, tmp_path):
    encoder = TableEncoder(max_levels=2)
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=encoder).fit(table, y)
    squareone.save(model, tmp_path / "model")
    tree, tensors = container.read(tmp_path / "model")
    harm(tree["object"]["fitted"], tensors)
    container.write(tmp_path / "model", tree, tensors)
    with refused(FileFormatError, said):
        squareone.load(tmp_path / "model")


def test_an_encoder_alone_is_no_model(tmp_path):
    with refused(TypeError, "got TableEncoder"):
        squareone.save(TableEncoder().fit(table, y), tmp_path / "encoder")
