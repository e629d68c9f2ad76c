"""Labelling: which labels are worth a person's time, what was said, and when it is enough.

:class:`Session` is the engine; ``squareone label`` shows it as a page. :mod:`.journal` is the file
that loses nothing, :mod:`.row_identity` says which row is which, :mod:`.answers` what the events of
a journal amount to, :mod:`.pool_learner` what to ask, :mod:`.audit_figures` how good the model is.
"""

from .audit_figures import AuditLook, ClassFigure
from .pool_learner import Guess, StoppingFigures
from .session import Figures, Pause, Question, Session

__all__ = [
    "AuditLook",
    "ClassFigure",
    "Figures",
    "Guess",
    "Pause",
    "Question",
    "Session",
    "StoppingFigures",
]
