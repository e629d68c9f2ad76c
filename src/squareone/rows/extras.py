"""Libraries that only some files need, imported when one of these is opened."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str, purpose: str) -> Any:
    """A module of the extra ``files``; where it is missing, what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        needed = module.partition(".")[0]
        msg = f'{purpose} needs {needed}, which is not installed: pip install "squareone[files]"'
        raise ImportError(msg, name=needed) from error
