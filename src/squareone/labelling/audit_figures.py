"""Audit figures: accuracy and F from rows drawn at random, with intervals that hold at every look.

Rows that were chosen because they are hard say nothing of the accuracy; those of the audit were
drawn before anything was learned. It is looked at after 25, 50, 100, 200 … of them, and these looks
may err with probability 5, 2.5, 1.25 … %, at most 10 % together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from scipy.stats import beta

__all__ = [
    "AuditLook",
    "ClassFigure",
    "NegativesLook",
    "clopper_pearson",
    "error_of_look",
    "figures_of_audit",
    "figures_of_negatives",
    "last_look",
    "looks_up_to",
]

#: Audit rows at the first look; each later look has twice as many.
FIRST_LOOK = 25
#: What the first look may err with; each later look has half of it.
FIRST_ERROR = 0.05
#: Audit rows of a class from which its F is shown.
FEWEST_OF_CLASS = 10


def clopper_pearson(successes: int, trials: int, error: float) -> tuple[float, float]:
    """The exact interval of a probability, wrong with probability ``error`` at most.

    Examples
    --------
    >>> from squareone.labelling.audit_figures import clopper_pearson
    >>> [round(end, 4) for end in clopper_pearson(23, 25, 0.05)]
    [0.7397, 0.9902]
    """
    if not 0 <= successes <= trials:
        msg = f"{successes} of {trials}: a part of the trials is expected"
        raise ValueError(msg)
    if trials == 0:
        return 0.0, 1.0
    half = error / 2
    low = 0.0 if successes == 0 else float(beta.ppf(half, successes, trials - successes + 1))
    high = 1.0
    if successes < trials:
        high = float(beta.ppf(1 - half, successes + 1, trials - successes))
    return low, high


def looks_up_to(count: int) -> list[int]:
    """Audit rows at all looks there were after ``count`` of them, as 25, 50 and 100.

    Examples
    --------
    >>> from squareone.labelling.audit_figures import looks_up_to
    >>> looks_up_to(120)
    [25, 50, 100]
    """
    found = []
    rows = FIRST_LOOK
    while rows <= count:
        found.append(rows)
        rows *= 2
    return found


def last_look(count: int) -> int:
    """Audit rows at the last look, 0 before the first."""
    return max(looks_up_to(count), default=0)


def error_of_look(rows: int) -> float:
    """What the look at so many audit rows may err with."""
    steps = (rows // FIRST_LOOK).bit_length() - 1
    if rows != FIRST_LOOK << max(steps, 0):
        msg = f"{rows} audit rows: {FIRST_LOOK}, or that doubled, is expected"
        raise ValueError(msg)
    return FIRST_ERROR / 2**steps


@dataclass(frozen=True)
class ClassFigure:
    """The F of a class.

    Attributes
    ----------
    label : str
    true_positives, false_positives, false_negatives : int
    f : float or None
        None below ten audit rows of the class: nothing could be said.
    interval : tuple of float or None
    """

    label: str
    true_positives: int
    false_positives: int
    false_negatives: int
    f: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class AuditLook:
    """What the audit says at a look.

    Attributes
    ----------
    rows : int
        Audit rows that were asked.
    known : int
        Of these, rows with a label; the others were skipped, or could not be told.
    correct : int
        Of these, rows that the model predicts as the person said.
    error : float
        What the intervals of this look may err with.
    accuracy : tuple (share, low, high) or None
        Of the rows with a label; None where there is none.
    accuracy_of_all : tuple (share, low, high)
        With rows without a label counted as wrong.
    classes : tuple of ClassFigure
    """

    rows: int
    known: int
    correct: int
    error: float
    accuracy: tuple[float, float, float] | None
    accuracy_of_all: tuple[float, float, float]
    classes: tuple[ClassFigure, ...]

    @classmethod
    def restored(cls, detail: Mapping[str, Any]) -> Self:
        """A look as it is in the journal."""
        classes = tuple(
            ClassFigure(**{**each, "interval": None if each["interval"] is None else
                           tuple(each["interval"])})
            for each in detail["classes"]
        )  # fmt: skip
        accuracy = detail["accuracy"]
        return cls(
            rows=detail["rows"],
            known=detail["known"],
            correct=detail["correct"],
            error=detail["error"],
            accuracy=None if accuracy is None else tuple(accuracy),
            accuracy_of_all=tuple(detail["accuracy_of_all"]),
            classes=classes,
        )


def figures_of_audit(
    truths: Sequence[str | None],
    guesses: Sequence[str],
    classes: Sequence[str],
    error: float,
) -> AuditLook:
    """What audit rows say of a model that has learned none of them.

    Parameters
    ----------
    truths : sequence of str or None
        What the person said of each row; None: skipped, or could not be told.
    guesses : sequence of str
        What the model says.
    classes : sequence of str
    error : float
        What each interval may err with.

    Returns
    -------
    AuditLook

    Notes
    -----
    Of the rows in which a class is true or predicted, those in which it is both are binomial with
    probability J, and F = 2J/(1 + J) grows with J: the interval of J is one of F.

    Examples
    --------
    >>> from squareone.labelling.audit_figures import figures_of_audit
    >>> look = figures_of_audit(["a"] * 20 + [None] * 5, ["a"] * 18 + ["b"] * 7, ["a", "b"], 0.05)
    >>> look.accuracy[0], look.accuracy_of_all[0], round(look.classes[0].f, 3), look.classes[1].f
    (0.9, 0.72, 0.947, None)
    """
    known = [(t, g) for t, g in zip(truths, guesses, strict=True) if t is not None]
    correct = sum(truth == guess for truth, guess in known)
    accuracy = None
    if known:
        accuracy = correct / len(known), *clopper_pearson(correct, len(known), error)
    share = correct / len(truths) if truths else 0.0
    of_all = share, *clopper_pearson(correct, len(truths), error)
    found = tuple(_class_figure(name, known, error) for name in classes)
    return AuditLook(len(truths), len(known), correct, error, accuracy, of_all, found)


@dataclass(frozen=True)
class NegativesLook:
    """What a sample of predicted negatives says of a class.

    It estimates one thing: the share of the class among the rows without a label that a model
    predicted as something else, which is what that model misses. These rows were chosen by their
    prediction, so that they are no part of the accuracy or of F.

    Attributes
    ----------
    label : str
        The class.
    labels : int
        That the model had learned when the rows were drawn.
    drawn, asked : int
        Rows of the sample, and how many of them were asked.
    rows : int
        Rows at the last look; 0 before 25.
    known, found : int
        Of these, rows with a label, and rows of the class.
    share : tuple (share, low, high) or None
        Of the class, among those with a label; None before the first look.
    share_of_all : tuple (share, low, high) or None
        With rows without a label counted as of the class.
    """

    label: str
    labels: int
    drawn: int
    asked: int
    rows: int
    known: int
    found: int
    share: tuple[float, float, float] | None
    share_of_all: tuple[float, float, float] | None


def figures_of_negatives(
    label: str, labels: int, drawn: int, truths: Sequence[str | None]
) -> NegativesLook:
    """What the first rows of a sample of predicted negatives say, at its last look.

    Parameters
    ----------
    label : str
        The class.
    labels, drawn : int
        As in :class:`NegativesLook`.
    truths : sequence of str or None
        What was said of the first rows of the sample; None: skipped, or could not be told.

    Examples
    --------
    >>> from squareone.labelling.audit_figures import figures_of_negatives
    >>> look = figures_of_negatives("rare", 100, 200, ["other"] * 49 + ["rare"] * 3)
    >>> look.rows, look.found, [round(value, 3) for value in look.share]
    (50, 1, [0.02, 0.0, 0.121])
    """
    rows = last_look(len(truths))
    if not rows:
        return NegativesLook(label, labels, drawn, len(truths), 0, 0, 0, None, None)
    said = truths[:rows]
    known = sum(truth is not None for truth in said)
    found = sum(truth == label for truth in said)
    error = error_of_look(rows)
    share = None
    if known:
        share = found / known, *clopper_pearson(found, known, error)
    most = found + rows - known
    of_all = most / rows, *clopper_pearson(most, rows, error)
    return NegativesLook(label, labels, drawn, len(truths), rows, known, found, share, of_all)


def _class_figure(name: str, known: Sequence[tuple[str, str]], error: float) -> ClassFigure:
    both = sum(truth == name == guess for truth, guess in known)
    missed = sum(truth == name != guess for truth, guess in known)
    wrong = sum(guess == name != truth for truth, guess in known)
    if both + missed < FEWEST_OF_CLASS:
        return ClassFigure(name, both, wrong, missed, None, None)
    trials = both + missed + wrong
    low, high = (_f_of(end) for end in clopper_pearson(both, trials, error))
    return ClassFigure(name, both, wrong, missed, _f_of(both / trials), (low, high))


def _f_of(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)
