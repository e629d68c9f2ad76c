"""Session: what is asked, what is learned, what is shown, and that all of it is in the file."""

import random
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow
import pytest

from squareone.errors import JournalError, ReservedRowError
from squareone.labelling import Pause, Question, Session
from squareone.labelling.answers import Answers

from .conftest import mails, truth

MAILS = [text for text, _ in mails(200)]


def begin(path, texts=MAILS, **more):
    options = {"text": "body", "labels": ["spam", "ham"], **more}
    return Session({"body": list(texts)}, path, **options)


def go_on(session, count, say=truth):
    """Answer some questions; those that were asked."""
    asked = []
    for _ in range(count):
        question = session.next()
        if isinstance(question, Pause):
            break
        session.answer(question, say(session.cells(question.place)["body"]))
        asked.append(question)
    return asked


def odd(text):
    """Labels that nothing explains, so that the rule goes on asking."""
    return "spam" if int(text.rsplit(" ", 1)[-1]) % 2 else "ham"


def state(session):
    learner = session.learner
    fixed = learner.predict_fixed().tolist() if learner.begun else None
    return learner.pairs, session.answers.labels, session.counts(), fixed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.db"


# --- what is asked ---


def test_one_question_in_eight_is_of_the_audit_and_one_in_forty_a_repeat(path):
    with begin(path, k=100.0) as session:
        asked = go_on(session, 80, odd)
        kinds = [question.why for question in asked]
        assert [i + 1 for i, why in enumerate(kinds) if why == "audit"] == list(range(8, 81, 8))
        assert [i + 1 for i, why in enumerate(kinds) if why == "repeat"] == [39, 79]
        audit = [q.place for q in asked if q.why == "audit"]
        assert audit == session.audit_order[: len(audit)].tolist()
        first = {q.place: i for i, q in reversed(list(enumerate(asked)))}
        for i, question in enumerate(asked):
            if question.why == "repeat":
                assert i - first[question.place] >= 30
            elif question.why == "rule":
                assert question.place not in session.audit_places
                assert question.detail["chance"] == 1.0
        assert session.answers.agreement_with_oneself() == (2, 2)
        # neither audit rows nor repeats are learned
        learned = {place for place, _ in session.learner.pairs}
        assert not learned & session.audit_places
        assert len(learned) == sum(question.why == "rule" for question in asked)


def test_rows_of_the_audit_are_a_fifth_and_hidden(path):
    with begin(path) as session:
        assert len(session.audit_places) == 40
        reserved = next(iter(session.audit_places))
        for refused in (lambda: session.ask(reserved, "search"), lambda: session.guess(reserved)):
            with pytest.raises(ReservedRowError):
                refused()
        go_on(session, 20)
        found, total = session.search("e", 1000)
        assert total == len(found) > 100
        assert not set(found) & session.audit_places
        assert not set(session.suspects(20)) & session.audit_places


@pytest.mark.thorough
def test_the_walk_ends_when_a_pass_asks_nothing_and_begins_again_with_news(path):
    with begin(path) as session:
        asked = go_on(session, 200)
        pause = session.next()
        assert isinstance(pause, Pause)
        assert pause.kind == "ended"
        assert "no promise" in pause.text
        assert len(asked) < 60
        assert session.figures().stopping.would_ask < 0.05
        place = next(p for p in session.order.tolist() if session.standing(p) is None)
        session.answer(session.ask(place, "search"), "spam" if odd(MAILS[place]) else "ham")
        assert not session.learner.ended
        while isinstance(question := session.next(audit_only=True), Question):
            assert question.why == "audit"
            session.skip(question)
        assert "all audit rows" in question.text


def test_what_is_asked_is_what_the_classifier_asks(path):
    """Row by row against SelectiveSamplingClassifier.query, where nothing else is asked."""
    from squareone import SelectiveSamplingClassifier

    texts = MAILS[:60]
    with begin(path, texts) as session:
        learner = session.learner
        model = SelectiveSamplingClassifier("linear", 0.1, k=1.0, form="dual")
        seen = 0
        while isinstance(question := session.next(), Question):
            if question.why == "rule":
                if learner.begun and question.detail["labels"] > 2:
                    own = learner.features.rows([question.place])
                    t = max(question.detail["seen"], 1)
                    assert 0.9 * t - 1 <= t <= 60 * question.detail["walk"]
                    assert model.query_probability(own, int(t * 1.1) + 1)[0] == 1.0
                assert question.detail["seen"] >= seen
                seen = question.detail["seen"]
            session.answer(question, odd(texts[question.place]))
            pairs = learner.pairs
            if len({label for _, label in pairs}) > 1:
                model = SelectiveSamplingClassifier("linear", 0.1, k=1.0, form="dual")
                X = learner.features.rows([place for place, _ in pairs])
                model.partial_fit(X, [label for _, label in pairs], classes=["ham", "spam"])
        rest = [p for p in session.order.tolist() if session.standing(p) is None]
        if rest:
            last = model.query_probability(learner.features.rows(rest), learner.seen - len(rest))
            assert last.mean() < 0.1


@pytest.mark.thorough
def test_what_was_skipped_comes_back_in_a_later_pass_and_what_nobody_can_tell_does_not(path):
    with begin(path, MAILS[:40], k=100.0) as session:
        skipped, unknown = session.next(), session.next()
        session.skip(skipped)
        session.cannot_tell(unknown)
        later = []
        while isinstance(question := session.next(), Question):
            later.append(question)
            session.answer(question, odd(MAILS[question.place]))
            assert question.place != unknown.place
        again = [q.detail["walk"] for q in later if q.place == skipped.place and q.why == "rule"]
        assert again == [2]
        figures = session.figures()
        assert figures.cannot_tell == 1


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["deterministic", "randomized"])
def test_the_same_seed_asks_the_same(tmp_path, strategy):
    runs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        with begin(tmp_path / name, strategy=strategy, seed=seed) as session:
            runs.append([(q.place, q.detail.get("chance")) for q in go_on(session, 25)])
    assert runs[0] == runs[1] != runs[2]
    chances = [chance for _, chance in runs[0] if chance is not None]
    assert (min(chances) < 1.0) == (strategy == "randomized")


# --- the model is a function of the log ---


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 4))]
)
def test_whatever_is_done_a_session_opened_again_is_the_same(path, seed):
    draw = random.Random(seed)
    session = begin(path)
    for _ in range(60):
        action = draw.choices(
            ["answer", "skip", "cannot", "undo", "search", "label", "close"],
            [30, 3, 3, 8, 3, 1, 2],
        )[0]
        if action == "undo":
            session.undo()
        elif action == "label":
            session.add_label(f"label {draw.randrange(3)}")
        elif action == "search":
            place = draw.choice(session.order.tolist())
            session.answer(session.ask(place, "search"), draw.choice(session.answers.labels))
        elif action == "close":
            session.close()
            session = begin(path)
        else:
            question = session.next()
            if isinstance(question, Pause):
                continue
            if action == "answer":
                session.answer(question, draw.choice(session.answers.labels))
            else:
                (session.skip if action == "skip" else session.cannot_tell)(question)
    before = state(session)
    session.close()
    with begin(path) as session:
        assert state(session) == before


@pytest.mark.thorough
def test_undo_goes_back_to_the_start_and_asks_again(path):
    with begin(path, k=100.0) as session:
        asked = go_on(session, 45, odd)
        for question in reversed(asked):
            again = session.undo()
            assert (again.place, again.why) == (question.place, question.why)
            session.give_back(again)
        assert session.undo() is None
        assert session.learner.pairs == []
        assert session.counts() == {"spam": 0, "ham": 0}
        events = session.journal.events()
        assert sum(event.kind == "undo" for event in events) == 45
        assert sum(event.kind == "answer" for event in events) == 45


def test_an_undo_leaves_what_is_set_aside(path):
    """It takes back one answer, the last one to a row that is there."""
    with begin(path) as session:
        asked = go_on(session, 6)
    gone = [question.place for question in asked[-2:]]
    rest = [text for place, text in enumerate(MAILS) if place not in gone]
    with begin(path, rest) as session:
        given = session.answers.given
        again = session.undo()
        assert rest[again.place] == MAILS[asked[-3].place]
        assert session.answers.given == given - 1
    with begin(path) as session:  # they come back with their rows
        assert all(session.standing(place) is not None for place in gone)


def test_a_repeat_of_an_undo_asks_the_same_row_and_takes_nothing_more_back(path):
    with begin(path) as session:
        asked = go_on(session, 5)
        first, again = session.undo(uuid="x"), session.undo(uuid="x")
        assert first == again
        assert first.place == asked[-1].place
        assert session.answers.given == 4
        other = session.answer(first, "spam")
        with pytest.raises(ValueError, match="identifier of another event"):
            session.undo(uuid=other.uuid)
        assert session.answers.given == 5
    with begin(path) as session:  # the page may have been lost with its process
        assert session.undo(uuid="x").place == asked[-1].place
        assert session.answers.given == 5


def test_a_repeat_of_an_answer_changes_nothing(path):
    with begin(path) as session:
        question = session.next()
        first = session.answer(question, "spam", uuid="u")
        assert session.answer(question, "ham", uuid="u") == first
        assert session.counts() == {"spam": 1, "ham": 0}
        with pytest.raises(ValueError, match="'egg' is no label yet"):
            session.answer(question, "egg")


# --- rows ---


def labelled(session):
    return {
        session.cells(place)["body"]: session.standing(place)
        for place in range(session.identities.n)
        if session.standing(place)
    }


@pytest.mark.thorough
def test_sorting_and_appending_keep_labels_edits_and_deletions_set_them_aside(path):
    with begin(path) as session:
        go_on(session, 30, odd)
        before, audit = labelled(session), {MAILS[p] for p in session.audit_places}
    random.Random(0).shuffle(texts := list(MAILS))
    with begin(path, texts) as session:
        assert not session.changes
        assert labelled(session) == before
        assert {texts[p] for p in session.audit_places} == audit
    more = texts + [f"new mail {i}" for i in range(100)]
    with begin(path, more) as session:
        assert (session.changes.new, session.changes.missing) == (100, 0)
        assert labelled(session) == before
        assert {more[p] for p in session.audit_places} >= audit
        assert 45 < len(session.audit_places) < 80
    gone, edited = list(before)[:2]
    fewer = [text + "!" if text == edited else text for text in texts if text != gone]
    with begin(path, fewer) as session:
        rest = {text: said for text, said in before.items() if text not in (gone, edited)}
        assert labelled(session) == rest
        assert session.figures().missing == 2
        assert session.changes.missing == 102
    with begin(path, texts) as session:  # they come back with their rows
        assert labelled(session) == before


def test_rows_with_identifiers_are_known_by_them(path):
    frame = pd.DataFrame({"id": np.arange(200) + 1000, "body": MAILS})
    options = {"text": "body", "labels": ["spam", "ham"], "identifier": "id"}
    with Session(frame, path, **options) as session:
        asked = go_on(session, 20, odd)
    place = next(q.place for q in asked if q.why == "rule")
    frame.loc[place, "body"] = "something else"
    with Session(frame.iloc[::-1].reset_index(drop=True), path, **options) as session:
        assert (session.changes.new, session.changes.missing, session.changes.changed) == (0, 0, 1)
        assert session.standing(199 - place) is None
        figures = session.figures()
        assert (figures.missing, figures.changed, figures.labelled) == (0, 1, 20)
    with pytest.raises(JournalError, match="begun with identifier 'id'"):
        Session(frame, path, text="body", labels=["spam", "ham"])


def test_twins_have_labels_of_their_own(path):
    with begin(path, ["same"] * 20 + MAILS) as session:
        place = next(p for p in range(20) if p not in session.audit_places)
        session.answer(session.ask(place, "link"), "spam")
        assert sum(session.standing(p) is not None for p in range(20)) == 1


# --- columns, labels that are there, and figures ---


@pytest.mark.thorough
def test_columns_are_learned_by_their_encoder(path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    frame = pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "colour": rng.choice(["red", "blue"], 300)})
    frame["class"] = pd.Series([None] * 300, dtype=object)
    frame.loc[:9, "class"] = np.where(np.square(x[:10]).sum(axis=1) < 1.4, "in", "out")
    options = {"columns": ["x", "y", "colour"], "label_column": "class"}
    with Session(frame, path, **options) as session:
        reserved = sum(place in session.audit_places for place in range(10))
        assert sum(session.counts().values()) == 10 - reserved
        while isinstance(question := session.next(), Question):
            inside = np.square(x[question.place]).sum() < 1.4
            session.answer(question, "in" if inside else "out")
        guesses = np.array(session.predict(range(300)))
        right = guesses == np.where(np.square(x).sum(axis=1) < 1.4, "in", "out")
        assert right.mean() > 0.85
        assert len(session.learner.pairs) < 200
        assert session.cells(0) == {"x": x[0, 0], "y": x[0, 1], "colour": frame["colour"][0]}


@pytest.mark.thorough
def test_looks_at_the_audit_are_taken_once_and_kept(path):
    with begin(path) as session:
        go_on(session, 20)
        while len(session.answers.audit_answers()) < 25:
            question = session.next(audit_only=True)
            session.answer(question, truth(MAILS[question.place]))
        figures = session.figures()
        assert (figures.audit.rows, figures.next_look) == (25, 50)
        places = session.audit_order[:25].tolist()
        right = sum(
            guess == truth(MAILS[place])
            for guess, place in zip(session.predict(places), places, strict=True)
        )
        assert figures.audit.correct == right
        session.undo()
        session.undo()
        assert session.figures().audit == figures.audit
        assert len([e for e in session.journal.events() if e.kind == "look"]) == 1
    with begin(path) as session:
        assert session.figures().audit == figures.audit


def test_predicted_negatives_are_a_sample_of_their_own(path, monkeypatch):
    """Of a class that the model has hardly seen; nothing of it is in the accuracy or in F."""
    monkeypatch.setattr("squareone.labelling.session._NEGATIVES", 60)
    texts = [text + (" rare" if i % 25 == 0 else "") for i, text in enumerate(MAILS * 2)]

    def say(place):
        return "rare" if "rare" in texts[place] else "other"

    with begin(path, texts, labels=["other", "rare"]) as session:
        with pytest.raises(ValueError, match="labels of two classes"):
            session.draw_negatives("rare")
        with pytest.raises(ValueError, match="'egg' is no label yet"):
            session.draw_negatives("egg")
        first = next(p for p in session.order.tolist() if say(p) == "rare")
        for place in (first, *(p for p in session.order[:4].tolist() if p != first)):
            session.answer(session.ask(place, "search"), say(place))
        audit = dict(session.answers.audit_answers())
        predicted = dict(zip(range(400), session.predict(range(400)), strict=True))
        assert session.draw_negatives("rare") == 60
        assert session.draw_negatives("rare") == 60  # the same ones
        open_rows = session.next(negatives_of="rare"), session.next(negatives_of="rare")
        asked = [question.place for question in open_rows]
        for question in open_rows:
            assert session.guess_for(question) is None
            session.give_back(question)
        assert isinstance(session.next(), Question)
        for i in range(30):
            question = session.next(negatives_of="rare")
            assert question.why == "negatives"
            assert predicted[question.place] == "other"
            assert question.place not in session.audit_places
            assert i > 1 or question.place == asked[i]
            session.answer(question, say(question.place))
            asked.append(question.place)
        assert session.answers.audit_answers() == audit
        (look,) = session.figures().negatives
        found = sum(say(place) == "rare" for place in asked[2:27])
        assert (look.label, look.labels, look.drawn, look.asked) == ("rare", 5, 60, 30)
        assert (look.rows, look.known, look.found) == (25, 25, found)
        assert look.share[1] <= found / 25 <= look.share[2]
        assert dict(session.learner.pairs).keys() >= set(asked)
        again = session.undo()
        assert (again.place, again.why) == (asked[-1], "negatives")
        assert session.figures().negatives[0].asked == 29
        assert not any(e.kind == "drawn" for e in session.history(asked[-1]))
        before = session.figures().negatives
    with begin(path, texts, labels=["other", "rare"]) as session:
        assert session.figures().negatives == before
        assert session.next(negatives_of="rare").place == asked[-1]
        for _ in range(30):
            session.skip(session.next(negatives_of="rare"))
        assert session.next(negatives_of="rare").kind == "waiting"
        (look,) = session.figures().negatives
        assert (look.rows, look.known) == (25, 25)


def test_labels_that_were_brought_in_are_learned_up_to_a_number(path, monkeypatch):
    monkeypatch.setattr("squareone.labelling.session.MOST_IMPORTED", 60)
    with begin(path) as session:
        brought = {place: truth(text) for place, text in enumerate(MAILS)}
        assert session.bring_in(brought, "export.json") == 200
        assert session.bring_in(brought, "export.json") == 0
        assert len(session.learner.pairs) == 60
        assert "at random" in " ".join(session.notes)


def test_a_column_that_changes_its_mind_and_changes_it_back(path):
    def opened(value):
        table = {"body": MAILS[:50], "class": [*[None] * 49, value]}
        options = {"text": "body", "label_column": "class", "labels": ["spam", "ham"]}
        with Session(table, path, **options) as session:
            assert 49 not in session.audit_places
            return session.standing(49)[1], len(session.journal.events())

    said = [opened(value) for value in ("spam", "spam", "ham", "spam", "spam")]
    assert [label for label, _ in said] == ["spam", "spam", "ham", "spam", "spam"]
    assert [count - said[0][1] for _, count in said] == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("say", ["answer", "cannot_tell"])
def test_what_a_person_says_stands_before_what_is_brought_in(path, say):
    with begin(path) as session:
        place, skipped = session.order[:2].tolist()
        question = session.ask(place, "link")
        session.answer(question, "spam") if say == "answer" else session.cannot_tell(question)
        session.skip(session.ask(skipped, "link"))
        session.bring_in({place: "ham", skipped: "ham"}, "column y")
        label = "spam" if say == "answer" else None
        assert session.standing(place) == (say, label)
        assert session.standing(skipped) == ("imported", "ham")
        assert session.conflicts() == {}
        learned = dict(session.learner.pairs)
        assert learned == {skipped: "ham"} | ({place: label} if label else {})
    with begin(path) as session:
        assert session.standing(place) == (say, label)


def test_labels_brought_in_of_audit_rows_are_neither_counted_nor_shown(path):
    with begin(path) as session:
        first = session.audit_order[0].item()
        other = session.order[0].item()
        assert session.bring_in({first: "spam", other: "ham"}, "export.json") == 2
        assert session.counts() == {"spam": 0, "ham": 1}
        assert session.figures().labelled == 1
        assert (session.standing(first), session.shown_history(first)) == (None, [])
        assert "1 of its 2 new labels" in " ".join(session.notes)
        question = session.next(audit_only=True)
        assert question.place == first
        session.answer(question, "ham")
        assert session.counts() == {"spam": 0, "ham": 2}
        assert len(session.shown_history(first)) == 2
        session.undo()
        assert session.counts() == {"spam": 0, "ham": 1}


def test_an_answer_costs_the_same_however_many_labels_were_brought_in(path, monkeypatch):
    """No list of all of them is made again: neither of what is learned nor of what is settled."""
    monkeypatch.setattr("squareone.labelling.session.MOST_IMPORTED", 20)
    with begin(path) as session:
        session.bring_in({place: truth(text) for place, text in enumerate(MAILS)}, "export.json")
        told = []
        update = session.learner.update

        def counting(pairs, classes, settled):
            told.append(settled)
            update(pairs, classes, settled)

        monkeypatch.setattr(session.learner, "update", counting)
        calls = Counter()
        for name in ("_settle", "_learn"):
            own = getattr(Answers, name)

            def counted(answers, row, own=own, name=name):
                calls[name] += 1
                return own(answers, row)

            monkeypatch.setattr(Answers, name, counted)
        audit_in_order(session, 3)
        place = session.order[0].item()
        session.skip(session.ask(place, "link"))
        session.undo()
        assert calls == {"_settle": 5, "_learn": 5}
        assert told == [{}, {}, {}, {place: False}, {place: True}]
        assert place in session.learner.settled


# --- two people ---


@pytest.mark.thorough
def test_disagreements_are_not_learned_until_they_are_settled(tmp_path):
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    with begin(two, annotator="bob", k=100.0) as session:
        go_on(session, 60, lambda text: "ham")
    with begin(one, annotator="ann", k=100.0) as session:
        go_on(session, 60, odd)
        told = session.merge(two)
        assert told["set_aside"] == 0
        assert told["new"] > 40
        assert session.merge(two) == {"new": 0, "known": told["new"], "set_aside": 0}
        conflicts = session.conflicts()
        assert conflicts
        assert all(set(said) == {"ann", "bob"} for said in conflicts.values())
        learned = {place for place, _ in session.learner.pairs}
        assert not learned & set(conflicts)
        same, total = session.answers.agreement_on_audit()
        assert 0 < same < total == 7
        place = next(iter(conflicts))
        session.answer(session.ask(place, "review"), "spam")
        assert place not in session.conflicts()
        assert (place, "spam") in session.learner.pairs
        given = session.answers.given
        while session.undo():  # what others said stays
            given -= 1
        assert given == 0
        assert session.learner.pairs


def audit_in_order(session, count, label="spam"):
    for _ in range(count):
        session.answer(session.next(audit_only=True), label)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 7}, "begun with another seed"),
        ({"texts": MAILS[:100]}, "a table with other rows"),
        pytest.param(
            {"texts": [*MAILS, "one more"]}, "a table with other rows", marks=pytest.mark.thorough
        ),
    ],
    ids=["seed", "smaller", "larger"],
)
def test_answers_of_another_audit_do_not_count(tmp_path, other, said):
    """Rows that somebody was asked for another reason were chosen, and measure nothing."""
    with begin(tmp_path / "two.db", annotator="bob", **other) as session:
        audit_in_order(session, 5)
        for place in range(30):
            if place not in session.audit_places:
                session.answer(session.ask(place, "search"), "spam")
    with begin(tmp_path / "one.db", annotator="ann") as session:
        session.merge(tmp_path / "two.db")
        assert session.answers.audit_answers() == {}
        assert session.figures().audit_asked == 0
        assert session.answers.agreement_on_audit() == (0, 0)
        assert said in " ".join(session.notes)
        # and nothing of them is shown, counted or learned
        assert all(session.standing(place) is None for place in session.audit_places)
        assert session.counts()["spam"] == len(session.learner.pairs) + session.figures().missing
        first = session.next(audit_only=True)
        assert first.place == session.audit_order[0]
        session.answer(first, "ham")
        assert list(session.answers.audit_answers().values()) == ["ham"]


def test_answers_of_the_same_audit_count_and_others_to_its_rows_do_not(tmp_path):
    with begin(tmp_path / "two.db", annotator="bob") as session:
        audit_in_order(session, 5)
        # as a file that was written by something else could have it
        place = session.audit_order[20].item()
        session.answer(Question("q", place, "search", {}), "ham")
    with begin(tmp_path / "one.db", annotator="ann") as session:
        audit_in_order(session, 2, "ham")
        session.merge(tmp_path / "two.db")
        assert len(session.answers.audit_answers()) == 5
        assert list(session.answers.audit_answers().values()).count("ham") == 2  # her own
        assert session.answers.agreement_on_audit() == (0, 2)
        assert "1 answers to rows that are kept" in " ".join(session.notes)
        assert session.next(audit_only=True).place == session.audit_order[5]
    with begin(tmp_path / "three.db", annotator="eve") as session:  # it goes on counting from there
        session.merge(tmp_path / "one.db")
        assert len(session.answers.audit_answers()) == 5


def test_a_review_elsewhere_settles_nothing_here(tmp_path):
    with begin(tmp_path / "two.db", annotator="bob") as session:
        place = session.order[0].item()
        session.answer(session.ask(place, "link"), "spam")
        session.answer(session.ask(place, "review"), "spam")
    with begin(tmp_path / "one.db", annotator="ann") as session:
        session.answer(session.ask(place, "link"), "ham")
        session.merge(tmp_path / "two.db")
        assert session.conflicts() == {place: {"ann": "ham", "bob": "spam"}}
        assert session.learner.pairs == []
        session.answer(session.ask(place, "review"), "ham")
        assert session.conflicts() == {}
        assert session.learner.pairs == [(place, "ham")]


@pytest.mark.parametrize(
    "change",
    [
        "label = x'00ff'", "label = 5.5e300", "label = hex(zeroblob(150))", "time = 1e999",
        "time = -5", "time = 1e15", "time = 'noon'", "detail = '[1]'", "detail = 'nope'",
        "detail = '{\"why\": [\"rule\"]}'", "detail = '{\"walk\": \"x\"}'",
        "detail = '{\"at\": 1e999}'", "detail = '{\"at\": NaN}'",
        "detail = '{\"x\": ' || hex(zeroblob(3000)) || '}'",
        "detail = replace(hex(zeroblob(500)), '0', '[')", "uuid = x'01'",
        "uuid = hex(zeroblob(200)) || number", "annotator = x'0102'",
    ],
)  # fmt: skip
def test_a_file_that_was_changed_is_refused_as_a_whole(tmp_path, change):
    """Or what came with it could never be read again, and the session not be opened."""
    with begin(tmp_path / "two.db", MAILS[:30], annotator="bob") as session:
        for place in session.order[:4].tolist():
            session.answer(session.ask(place, "link"), "spam")
    with closing(sqlite3.connect(tmp_path / "two.db")) as connection:
        connection.execute("DROP TRIGGER events_stay")
        connection.execute(f"UPDATE events SET {change} WHERE number = 5")
        connection.commit()
    with begin(tmp_path / "one.db", MAILS[:30], annotator="ann") as session:
        before = session.journal.events()
        if change == "label = 5.5e300":  # SQLite keeps it as text, which is a name like another
            session.merge(tmp_path / "two.db")
        else:
            with pytest.raises(JournalError, match=r"two\.db"):
                session.merge(tmp_path / "two.db")
            assert session.journal.events() == before
    with begin(tmp_path / "one.db", MAILS[:30]) as session:
        assert isinstance(session.next(), Question)


@pytest.mark.parametrize("change", ["facts SET value = '{bad'", "rows SET key = 5, occurrence = 0",
                                    "rows SET occurrence = -5"])  # fmt: skip
def test_facts_and_rows_that_were_changed_are_refused(tmp_path, change):
    with begin(tmp_path / "two.db", MAILS[:30], annotator="bob") as session:
        session.answer(session.ask(session.order[0].item(), "link"), "spam")
    with closing(sqlite3.connect(tmp_path / "two.db")) as connection:
        connection.execute(f"UPDATE {change}")
        connection.commit()
    with (
        begin(tmp_path / "one.db", MAILS[:30], annotator="ann") as session,
        pytest.raises(JournalError, match=r"two\.db"),
    ):
        session.merge(tmp_path / "two.db")


def test_a_file_that_names_other_columns_is_not_merged(tmp_path):
    table = {"id": list(range(200)), "body": MAILS}
    options = {"text": "body", "labels": ["spam", "ham"], "identifier": "id"}
    Session(table, tmp_path / "other.db", **options).close()
    with begin(tmp_path / "own.db") as session, pytest.raises(JournalError, match="another column"):
        session.merge(tmp_path / "other.db")


# --- strange input ---


@pytest.mark.parametrize(
    "texts",
    [["a"], [""] * 30, [None, "x"] * 20, ["😀", "\u202eabc"] * 20, [str(i) for i in range(50)]],
    ids=["one row", "empty", "gaps", "signs", "numbers"],
)
def test_strange_tables_can_be_labelled(path, texts):
    table = pyarrow.table({"body": pyarrow.array(texts, pyarrow.string())})
    with Session(table, path, text="body", labels=["a", "b"]) as session:
        for i in range(15):
            question = session.next()
            if isinstance(question, Pause):
                break
            session.answer(question, "ab"[i % 2])
        session.figures()
        session.suspects()


def test_what_makes_no_sense_is_refused(path):
    with pytest.raises(ValueError, match="there is no column 'text'"):
        begin(path, text="text")
    with pytest.raises(ValueError, match="a column of text, or columns"):
        Session({"a": ["x"]}, path)
    with pytest.raises(TypeError, match="a table of pyarrow"):
        Session([1, 2], path, text="a")
    with begin(path) as session:
        with pytest.raises(ValueError, match="row 201"):
            session.ask(200, "link")
        with pytest.raises(ValueError, match="a label of 1 to 200"):
            session.add_label("  ")
