"""Checks of tables: each is found where it is, is not where it is not, and can be silenced."""

import numpy as np
import pandas as pd
import pytest

from experiments.leaks import KINDS, plant
from squareone import RLSRegressor, TableClassifier, TableRegressor
from squareone.report.outer_errors import left_out_errors
from squareone.report.table_checks import CODES, check_codes, checks_of_table, looked_at
from squareone.tables import TableEncoder


def found_in(frame, y, ignore=(), **more):
    kind = TableRegressor if np.asarray(y).dtype.kind == "f" else TableClassifier
    model = kind("linear", encoder=TableEncoder(random_state=0)).fit(frame, y)
    outer = left_out_errors(model, np.asarray(y), np.arange(len(y)))
    checks = checks_of_table(frame, np.asarray(y), outer, model, ignore=ignore, **more)
    return {check.code: check for check in checks}


def plain(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)).round(6), columns=list("abc"))
    return frame, (frame["a"] - frame["b"] + 0.8 * rng.standard_normal(n)).to_numpy()


def one_too_good():
    frame, y = plain()
    frame["late"] = y + 1e-3 * np.arange(y.size) % 7
    return frame, y


def equals():
    frame, y = plain()
    rng = np.random.default_rng(1)
    frame = pd.concat([frame, frame[:60]], ignore_index=True)
    return frame, np.concatenate([y, y[:60] + 0.01 * rng.standard_normal(60)])


def numbered():
    frame, y = plain()
    frame["key"] = [f"k{i}" for i in np.random.default_rng(0).permutation(y.size)]
    return frame, y


def in_order():
    frame, y = plain()
    return frame, y + 3 * np.sin(np.arange(y.size) / 20)


def cut_off():
    frame, y = plain()
    return frame, np.minimum(y, np.quantile(y, 0.8))


def rare():
    frame, y = plain()
    classes = np.where(y > 0, "high", "low")
    classes[:9] = "odd"
    return frame, classes


TABLES = {
    "SQ001": one_too_good,
    "SQ002": equals,
    "SQ003": numbered,
    "SQ004": in_order,
    "SQ006": cut_off,
    "SQ007": rare,
}


@pytest.mark.filterwarnings("ignore::squareone.errors.IdentifierWarning")
@pytest.mark.parametrize("kind", ["later flag", "identifier"])
def test_leaks_of_a_target_that_a_few_rows_are_far_away_in(kind):
    """Their square error is nearly all there is, and no tree of a column gets it right."""
    pa = pytest.importorskip("pyarrow")
    frame, log = plain()
    y = np.exp(2.5 * log)
    rng = np.random.default_rng(2)
    clean = pa.Table.from_pandas(frame)
    assert "SQ001" not in found_in(clean, y)
    assert found_in(plant(clean, y, "regression", kind, rng), y)["SQ001"].columns == ("leak",)


def test_a_column_that_goes_far_by_itself_is_no_leak():
    """Nine tenths of the order, as weight says it of the price of a stone."""
    frame, _ = plain()
    y = np.exp(frame["a"] + 0.3 * np.random.default_rng(3).standard_normal(len(frame)))
    assert "SQ001" not in found_in(frame, y.to_numpy())


@pytest.mark.parametrize("code", TABLES)
def test_found_and_silenced(code):
    frame, y = TABLES[code]()
    found = found_in(frame, y)
    assert code in found
    assert found[code].title == CODES[code]
    assert code not in found_in(frame, y, ignore=[code])


def test_nothing_is_found_where_nothing_is():
    assert found_in(*plain()) == {}


def test_rows_in_order_are_no_news_where_later_rows_are_measured():
    assert "SQ004" not in found_in(*in_order(), ordered=True)


def test_the_error_where_equals_are_kept_together_is_that_of_folds_of_groups():
    """Twins that noise alone tells apart: by heart the error is small, without them it is not."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-3, 3, (60, 6)), 2, axis=0)
    noise = np.repeat(rng.standard_normal(60), 2)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = TableRegressor("gaussian", encoder=TableEncoder(random_state=0)).fit(frame, noise)
    outer = left_out_errors(model, noise, np.arange(120))
    (check,) = [c for c in checks_of_table(frame, noise, outer, model) if c.code == "SQ002"]
    apart, together = (
        float(check.text.partition(before)[2].split()[0]) for before in ("off by ", "and by ")
    )
    assert together > 1.5 * apart
    # the same by hand: each pair predicted by the others, at this kernel and λ
    pairs, losses = np.arange(120) // 2, []
    rows = model.encoder_.transform(frame)
    part = np.random.default_rng(1).permutation(60) % 5
    for fold in range(5):
        test = part[pairs] == fold
        again = RLSRegressor(model.kernel_, alpha=model.alpha_).fit(rows[~test], noise[~test])
        losses.append(np.square(again.predict(rows[test]) - noise[test]))
    assert together == pytest.approx(np.sqrt(np.concatenate(losses).mean()), rel=0.1)


@pytest.mark.parametrize("dropped", [False, True])
def test_rows_are_equal_in_the_columns_that_are_used(dropped):
    """An identifier tells them apart, and is not used."""
    frame, y = equals()
    if dropped:
        frame = frame.assign(name=[f"row {i}" for i in range(len(y))])
    text = found_in(frame, y)["SQ002"].text
    assert text.partition(" in five")[0].lower().count("columns that are used") == dropped
    assert "are equal to another in all columns" in text


@pytest.mark.filterwarnings("ignore::squareone.errors.IdentifierWarning")
@pytest.mark.parametrize("leak", KINDS)
def test_a_planted_leak_is_found(leak):
    import pyarrow as pa

    frame, y = plain(300)
    classes = np.where(y > 0, "high", "low")
    table = plant(
        pa.Table.from_pandas(frame), classes, "classification", leak, np.random.default_rng(0)
    )
    assert "leak" in found_in(table, classes)["SQ001"].columns


def test_codes_and_caps_are_told():
    check_codes(["SQ002", "SQ005"])
    with pytest.raises(ValueError, match=r"SQ999: codes of checks are SQ001, .*SQ007"):
        check_codes(["SQ002", "SQ999"])
    assert looked_at(4000) == ""
    assert "4,000 of 9,000 rows" in looked_at(9000)
