"""What errors mean, in a sentence: how far off, how sure, against guessing and boosted trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .outer_errors import OuterErrors

__all__ = ["Verdict", "number", "percent", "share_explained", "verdict_of"]

# Standard errors by which two differ if this is not chance.
_SURE = 2.0
# A standard error, as a share of the loss of guessing, from which rows are too few to tell.
_VAGUE = 0.05


@dataclass(frozen=True)
class Verdict:
    """What is said of a model.

    Attributes
    ----------
    headline : str
        One sentence: what is predicted, how far off that is, how sure, and how far off guessing
        and boosted trees are.
    guessing : str
        Whether it is better than guessing, and by how much.
    trees : str
        Whether it is better than boosted trees; empty where nobody looked.
    caveat : str
        That the figures are optimistic, or the model approximate; empty otherwise.
    useful : bool
        Whether the model is better than guessing beyond doubt.
    """

    headline: str
    guessing: str
    trees: str
    caveat: str
    useful: bool

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(filter(None, (self.headline, self.guessing, self.trees, self.caveat)))


def verdict_of(found: OuterErrors, target: str, approximate: str = "") -> Verdict:
    """The errors in words; ``approximate`` says what of the model is an approximation."""
    gain, doubt = found.compared(found.guess)
    worth = float(found.losses(found.guess).mean())
    useful = gain > _SURE * doubt and not found.one_class
    rival = "the mean" if found.task == "regression" else "the commonest class"
    explained = share_explained(found.explained)
    if useful:
        guessing = f"Of the squared error of guessing, {explained} is explained."
        if found.task == "classification" and not _decides_better(found):
            guessing = (
                "Decisions are hardly better than guessing, but probabilities are: of their "
                f"squared error {explained} is explained."
            )
    elif found.one_class:
        guessing = (
            "These rows are all of one class, and there are too few of the others to tell whether "
            "that is better than guessing."
        )
    elif gain < -_SURE * doubt:
        guessing = f"That is worse than always guessing {rival}: do not use it."
    elif doubt > _VAGUE * worth:
        guessing = (
            f"There are too few rows to tell whether that is better than always guessing {rival}."
        )
    else:
        guessing = (
            f"That is no better than always guessing {rival}: the columns say next to nothing "
            f"about {target}."
        )
    caveat = ""
    if found.optimistic:
        caveat = "These figures are optimistic: the choice was made by this number."
    if approximate:
        caveat = f"{caveat} {approximate}".strip()
    return Verdict(_headline(found, target), guessing, _against_trees(found), caveat, useful)


def _headline(found: OuterErrors, target: str) -> str:
    """What is predicted, how far off, how sure, and how far off guessing and boosted trees are."""
    error, spread = found.error(found.model)
    guess, _ = found.error(found.guess)
    if found.task == "regression":
        off = f"off by {number(error)} (± {number(spread, 2)}, root mean square) in rows"
        rivals = f"always guessing the mean is off by {number(guess)}"
    else:
        off = f"wrong in {percent(error)} (± {percent(spread)}) of rows"
        rivals = f"always guessing the commonest class is wrong in {percent(guess)}"
    if found.trees is not None:
        trees, _ = found.error(found.trees)
        by = f"by {number(trees)}" if found.task == "regression" else f"in {percent(trees)}"
        rivals = f"{rivals} and boosted trees {by}"
    return f"Predictions of {target} are {off} the model has not seen, where {rivals}."


def _decides_better(found: OuterErrors) -> bool:
    error, spread = found.error(found.model)
    return error < found.error(found.guess)[0] - _SURE * spread


def _against_trees(found: OuterErrors) -> str:
    if found.trees is None or found.one_class:
        return ""
    gain, doubt = found.compared(found.trees)
    if abs(gain) <= _SURE * doubt:
        return "Whether this model or boosted trees are better cannot be told from these rows."
    return f"This model is {'better' if gain > 0 else 'worse'} than boosted trees, beyond chance."


def share_explained(explained: float) -> str:
    """The share of the error of guessing, never rounded up to all of it, nor below nothing."""
    if explained < 0.0005:
        return "nothing"
    return "nearly all" if explained > 0.995 else percent(explained)


def number(value: float, digits: int = 3) -> str:
    """A number with three significant digits, and commas between thousands."""
    if not np.isfinite(value):
        return "unknown"
    if value == 0:
        return "0"
    places = digits - 1 - int(np.floor(np.log10(abs(value))))
    rounded = round(value, places)
    if abs(rounded) >= 1e15 or abs(rounded) < 1e-6:
        return f"{rounded:.{digits - 1}e}"
    return f"{rounded:,.{max(0, places)}f}"


def percent(share: float) -> str:
    """A share in per cent."""
    value = 100.0 * share
    return f"{value:.0f} %" if abs(value) >= 20 else f"{value:.1f} %"
