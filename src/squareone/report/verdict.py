"""What errors mean, in a sentence: how far off, how sure, against guessing and boosted trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .outer_errors import OuterErrors

__all__ = ["Verdict", "number", "percent", "verdict_of"]

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
        One sentence: what is predicted and how far off that is.
    guessing : str
        How that compares with guessing.
    trees : str
        And with boosted trees; empty where nobody looked.
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
    error, spread = found.error(found.model)
    guess, _ = found.error(found.guess)
    if found.task == "regression":
        headline = (
            f"Predictions of {target} are off by {number(error)} (± {number(spread, 2)}, root mean "
            f"square) in rows the model has not seen."
        )
        rival, off = "the mean", number(guess)
    else:
        headline = (
            f"Predictions of {target} are wrong in {percent(error)} (± {percent(spread)}) of rows "
            "the model has not seen."
        )
        rival, off = "the commonest class", percent(guess)
    gain, doubt = found.compared(found.guess)
    worth = float(found.losses(found.guess).mean())
    useful = gain > _SURE * doubt
    verb = "is off by" if found.task == "regression" else "is wrong in"
    if useful:
        share = _share(found.explained)
        explained = f", and {share} of the squared error of that guess is explained"
        guessing = f"Always guessing {rival} {verb} {off}{explained}."
        if found.task == "classification" and error >= guess - _SURE * spread:
            guessing = (
                f"Always guessing {rival} {verb} {off}: decisions are hardly better, but "
                f"probabilities are, of whose squared error {_share(found.explained)} is explained."
            )
    elif gain < -_SURE * doubt:
        guessing = f"That is worse than always guessing {rival}, which {verb} {off}: do not use it."
    elif doubt > _VAGUE * worth:
        guessing = (
            f"There are too few rows to tell whether that is better than always guessing {rival}, "
            f"which {verb} {off}."
        )
    else:
        guessing = (
            f"That is no better than always guessing {rival}, which {verb} {off}: the columns say "
            f"next to nothing about {target}."
        )
    caveat = ""
    if found.optimistic:
        caveat = "These figures are optimistic: the choice was made by this number."
    if approximate:
        caveat = f"{caveat} {approximate}".strip()
    return Verdict(headline, guessing, _against_trees(found), caveat, useful)


def _against_trees(found: OuterErrors) -> str:
    if found.trees is None:
        return ""
    error, _ = found.error(found.trees)
    gain, doubt = found.compared(found.trees)
    if found.task == "regression":
        said = f"Boosted trees are off by {number(error)}"
    else:
        said = f"Boosted trees are wrong in {percent(error)}"
    if abs(gain) <= _SURE * doubt:
        return f"{said}: which of the two is better cannot be told from these rows."
    return f"{said}: this model is {'better' if gain > 0 else 'worse'}, beyond chance."


def _share(explained: float) -> str:
    """A share of one, never rounded up to all of it."""
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
