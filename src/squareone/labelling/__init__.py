"""Labelling: which labels are worth a person's time, what was said, and when it is enough.

:class:`Session` is the engine; ``squareone label`` shows it as a page. :mod:`.journal` is the file
that loses nothing, :mod:`.row_identity` says which row is which, :mod:`.answers` what the events of
a journal amount to, :mod:`.pool_learner` what to ask, :mod:`.audit_figures` how good the model is.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit_figures import AuditLook, ClassFigure, NegativesLook
    from .label_exports import write_export
    from .pool_learner import Guess, StoppingFigures
    from .session import Figures, Pause, Question, Session

__all__ = [
    "AuditLook",
    "ClassFigure",
    "Figures",
    "Guess",
    "NegativesLook",
    "Pause",
    "Question",
    "Session",
    "StoppingFigures",
    "write_export",
]

# Imported when they are asked for: what reads or copies a journal needs nothing that learns.
_LATE = {
    "AuditLook": ".audit_figures",
    "ClassFigure": ".audit_figures",
    "Figures": ".session",
    "Guess": ".pool_learner",
    "NegativesLook": ".audit_figures",
    "Pause": ".session",
    "Question": ".session",
    "Session": ".session",
    "StoppingFigures": ".pool_learner",
    "write_export": ".label_exports",
}


def __getattr__(name: str) -> Any:
    """A public name, imported now and kept."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = globals()[name] = getattr(import_module(_LATE[name], __name__), name)
    return found
