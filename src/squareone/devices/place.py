"""A place for large matrices: which ones there are, which is asked for, and which is used now."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..arrays import TILE, Array, lower_tiles, room_for
from ..errors import DeviceNotFoundError
from ..threads import for_each

Item = TypeVar("Item")

EXPECTED = '"cpu", "cuda", "cuda:1" or another number, "auto", or None is expected'
_CUDA = re.compile(r"cuda(?::(\d{1,3}))?")
#: For tests: the same operations as on a GPU, on the processor.
_TORCH_ON_CPU = "torch:cpu"


@dataclass(frozen=True)
class CenterValues:
    """Which kernel values are meant: k(x, c_j) / unit − shift_j.

    Attributes
    ----------
    kernel : Kernel
    points : array (m, d)
        c.
    origin : array (d,)
    dtype : dtype
        Of the rows.
    unit : float
    shift : array (m,) or None
    block_bytes : float
        Of kernel values that are there at a time; zero for what is usual.
    """

    kernel: Any
    points: Array
    origin: Array
    dtype: np.dtype
    unit: float = 1.0
    shift: Array | None = None
    block_bytes: float = 0.0


class Place(ABC):
    """Where matrices are made and worked on.

    Attributes
    ----------
    name : str
        As a user would ask for it; empty for the machine's own memory.
    tile : int
        Side of the square tiles in which a matrix is visited here.
    """

    name: str = ""
    tile: int = TILE
    #: Bytes of the largest block of kernel values that is worth making.
    block_bytes: float = 2**26
    #: Blocks for which there has to be room: one that is filled, and what is made of it.
    blocks_held: float = 4.0

    #: By the type of its arrays, the functions that kernels are written with.
    namespaces: ClassVar[dict[type, Any]] = {np.ndarray: np, np.memmap: np}

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Memory for numbers of a NumPy dtype."""

    def room(self, rows: int, width: int, dtype: Any) -> Any:
        """Memory for rows of numbers (rows, width) that are filled one after the other."""
        return self.empty((rows, width), dtype)

    def sum_type(self, dtype: Any) -> np.dtype:
        """In which kernel values are made, and added up, where many are summed."""
        return np.dtype(dtype)

    def products(self, values: CenterValues) -> Any:
        """Products with kernel values of centers; None where tiles are as good."""
        return None

    def sums(self, values: CenterValues, rows: Any, root: Array | None) -> Any:
        """Sums of kernel values over all rows, or None where these are the caller's to make."""
        return None

    @abstractmethod
    def taken(self, A: Array) -> Any:
        """An array of the machine's memory, here; itself where that is the same."""

    @abstractmethod
    def fetched(self, A: Any) -> Array:
        """An array from here, in the machine's memory."""

    @abstractmethod
    def for_each(self, function: Callable[[Item], None], items: Iterable[Item]) -> None:
        """Call ``function`` on every item: as many at a time as there is something to gain."""

    @abstractmethod
    def free_memory(self) -> float | None:
        """Bytes that can be had here; None where the machine is to be asked."""

    @abstractmethod
    def work(self) -> Any:
        """A context inside of which the libraries are set as results here depend on it."""

    def lower_tiles(self, n: int) -> list[tuple[slice, slice]]:
        """Tiles that cover the lower triangle of a matrix (n, n)."""
        return lower_tiles(n, self.tile)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, this is where kernel matrices are made."""
        before = _active.set(self)
        try:
            with self.work():
                yield
        finally:
            _active.reset(before)


class _Host(Place):
    """The machine's memory."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def room(self, rows: int, width: int, dtype: Any) -> Array:
        return room_for(rows, width, dtype)

    def taken(self, A: Any) -> Any:
        return A

    def fetched(self, A: Any) -> Any:
        return A

    def for_each(self, function: Callable[[Item], None], items: Iterable[Item]) -> None:
        for_each(function, items)

    def free_memory(self) -> float | None:
        return None

    @contextmanager
    def work(self) -> Iterator[None]:
        yield


#: The machine's memory.
HOST: Place = _Host()

_active: ContextVar[Place] = ContextVar("place", default=HOST)


def active_place() -> Place:
    """Where kernel matrices are made now."""
    return _active.get()


def namespace(A: Any) -> Any:
    """The functions, called as NumPy's are, that work on an array: ``exp``, ``sqrt`` and so on."""
    return Place.namespaces[type(A)]


# --- the place that a user asks for ---


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
