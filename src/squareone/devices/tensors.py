"""Tensors as they come from a user: what is refused, and where they are."""

from __future__ import annotations

import sys
from typing import Any

from .choice import open_place
from .place import HOST, Place


def check_tensor(A: Any, name: str) -> None:
    """Refuse a torch tensor that has no numbers to be taken as they are; others are no matter.

    Parameters
    ----------
    A : object
        An array of any kind, or anything else.
    name : str
        What the message calls it.
    """
    torch = sys.modules.get("torch")  # whoever has a tensor has imported it
    if torch is None or not isinstance(A, torch.Tensor):
        return
    if A.layout != torch.strided:
        msg = (
            f"{name} is a sparse tensor ({A.layout}): a dense one is expected, {name}.to_dense(), "
            "or a sparse matrix of SciPy in the machine's memory"
        )
        raise TypeError(msg)
    if A.requires_grad:
        msg = (
            f"{name} is a tensor that requires grad, and nothing here is differentiated: pass "
            f"{name}.detach()"
        )
        raise TypeError(msg)
    if A.dtype in (torch.float16, torch.bfloat16):
        msg = f"{name} is a tensor of {A.dtype}: float32 or float64 is expected, {name}.float()"
        raise TypeError(msg)


def refuse_on_gpu(A: Any, name: str) -> None:
    """Refuse a tensor on a GPU where arrays of other libraries are not asked for."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(A, torch.Tensor) and A.device.type != "cpu":
        msg = (
            f"{name} is a tensor on {A.device}: with scikit-learn's array_api_dispatch "
            "(sklearn.set_config(array_api_dispatch=True), and SCIPY_ARRAY_API=1 in the "
            f"environment) predictions are tensors there, too; or pass {name}.cpu()"
        )
        raise TypeError(msg)


def place_of_array(A: Any) -> Place:
    """The GPU that a tensor is on; for other arrays the machine's memory."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(A, torch.Tensor) or A.device.type != "cuda":
        return HOST
    return open_place(f"cuda:{A.device.index}")[0]
