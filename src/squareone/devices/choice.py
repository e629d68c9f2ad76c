"""The place that a user asks for by ``device``, found or refused."""

from __future__ import annotations

import re
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
