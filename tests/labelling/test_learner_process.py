"""LearnerProcess: the same as a learner in this process, and what happens when it ends."""

import time
from functools import partial

import pyarrow
import pytest

from squareone.labelling import learner_process
from squareone.labelling.learner_process import LearnerError, LearnerProcess, LearnerTable
from squareone.labelling.pool_features import features_of
from squareone.labelling.pool_learner import PoolLearner, RuleSettings

from .conftest import mails, truth

pytestmark = pytest.mark.thorough
TEXTS = [text for text, _ in mails(80)]


def read(fails=False):
    if fails:
        msg = "the table is gone"
        raise OSError(msg)
    return pyarrow.table({"body": TEXTS})


def pair(fails=False):
    import numpy as np

    order = np.random.default_rng(0).permutation(80)
    table = LearnerTable(partial(read, fails), "body", [], 1e8)
    process = LearnerProcess(table, order, RuleSettings())
    return process, PoolLearner(features_of(read(), "body", [], order, 1e8), RuleSettings())


def test_it_learns_and_asks_as_one_in_this_process(monkeypatch):
    monkeypatch.setattr(learner_process, "_FAREWELL", 60.0)  # a fit may be slow; none is cut off
    process, own = pair()
    try:
        first = process.candidates(3)  # before it has started
        assert [c.place for c in first] == own.order[:3].tolist()
        pairs = [(int(place), truth(TEXTS[place])) for place in own.order[:12]]
        process.update(pairs, ["spam", "ham"])
        own.update(pairs, ["spam", "ham"])
        places = list(range(80))
        assert process.predict(places) == own.predict(places)
        assert process.guess(5) == own.guess(5)
        assert process.suspects(4) == own.suspects(4)
        assert process.figures().labels == 12
        for _ in range(600):
            process.candidates(5)
            if process.ended:
                break
            time.sleep(0.02)
        assert process.ended
        process.update([*pairs, (pairs[0][0] + 1, "ham")], ["spam", "ham"])
        assert not process.ended
    finally:
        process.close()
    assert process._process.exitcode == 0


def test_that_it_has_ended_is_said():
    process, own = pair()
    try:
        pairs = [(int(place), truth(TEXTS[place])) for place in own.order[:12]]
        process.update(pairs, ["spam", "ham"])
        process._process.kill()
        with pytest.raises(LearnerError, match="answers are kept"):
            process.figures()
        process.update(pairs[:4], ["spam", "ham"])  # is no harm
        assert process.failed
    finally:
        process.close()
    process, _ = pair(fails=True)
    try:
        assert process.guess(0) is None  # nothing can be known yet, and nobody waits for that
        process.update(pairs, ["spam", "ham"])
        with pytest.raises(LearnerError, match="the table is gone"):
            process.guess(0)
    finally:
        process.close()
