"""The place that a user asks for, by ``device`` or by where tensors are, found or refused."""

from __future__ import annotations

import re
import sys
from typing import Any

from ..errors import DeviceNotFoundError
from .place import HOST, Place

EXPECTED = '"cpu", "cuda", "cuda:1" or another number, "auto", or None is expected'
_CUDA = re.compile(r"cuda(?::(\d{1,3}))?")
#: For tests: the same operations as on a GPU, on the processor.
_TORCH_ON_CPU = "torch:cpu"


def open_place(device: Any) -> tuple[Place, str]:
    """The place of a ``device``, and what there is to say about the choice.

    Parameters
    ----------
    device : {"cpu", "cuda", "cuda:<number>", "auto"} or None
        ``"auto"`` is the first GPU, or else the CPU.

    Raises
    ------
    DeviceNotFoundError
        With what was found in its place.
    """
    if device is None or device == "cpu":
        return HOST, ""
    text = device if isinstance(device, str) else ""
    number = _CUDA.fullmatch(text)
    if not number and text not in ("auto", _TORCH_ON_CPU):
        msg = f"device={device!r}: {EXPECTED}"
        raise ValueError(msg)
    if text == _TORCH_ON_CPU:
        return _opened("cpu"), ""
    missing = _why_missing(int(number[1] or 0) if number else 0)
    if not missing:
        name = f"cuda:{int(number[1] or 0) if number else 0}"
        return _opened(name), 'device="auto" took the GPU' if text == "auto" else ""
    if text == "auto":
        return HOST, f'device="auto" took the CPU: {missing}'
    msg = f'device={device!r}: {missing}. Use device="auto" for a GPU where there is one'
    raise DeviceNotFoundError(msg)


def known_place(name: str) -> bool:
    """Whether a place could have this name, here or elsewhere."""
    return name == _TORCH_ON_CPU or bool(_CUDA.fullmatch(name))


def place_or_host(name: str) -> Place:
    """The place that an earlier fit has used, if it is there: a model goes where no GPU is."""
    if not name:
        return HOST
    if name == _TORCH_ON_CPU:
        return HOST if not _torch_version() else _opened("cpu")
    return HOST if _why_missing(int(name.partition(":")[2] or 0)) else _opened(name)


def _torch_version() -> str:
    """Empty where torch is not installed."""
    try:
        import torch  # imported late: it takes seconds
    except ImportError:
        return ""
    return str(torch.__version__)


def _why_missing(number: int) -> str:
    """What stands in the way of the GPU of this number; empty for nothing."""
    version = _torch_version()
    if not version:
        return "PyTorch is not installed (pip install squareone[torch])"
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = f"built for CUDA {built}" if built else "built without CUDA"
        return f"PyTorch {version}, {why}, finds no GPU"
    count = torch.cuda.device_count()
    if number >= count:
        return f"there are {count} GPUs, numbered from zero" if count > 1 else "there is one GPU, 0"
    return ""


def _opened(name: str) -> Place:
    from .torch_place import place_of  # imported late, as torch is

    return place_of(name)


# --- tensors as they come from a user ---


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
