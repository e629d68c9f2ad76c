"""How much memory there is, and how much a user allows."""

from __future__ import annotations

import os
import re
from numbers import Real
from pathlib import Path

from ..devices import HOST, Place

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Control groups of both kinds: where they are, the file of the limit and that of the use.
_CGROUPS = [
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
]
_SI_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def memory_limit(limit: float | str | None, place: Place = HOST) -> float:
    """Bytes from a number, a text such as ``"2GiB"``, or None: what is free where matrices are."""
    if limit is None:
        free = place.free_memory()
        return free_memory() if free is None else free
    if isinstance(limit, Real) and not isinstance(limit, bool):
        if limit > 0:
            return float(limit)
    elif isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?)B?\s*", limit, re.IGNORECASE)
        if match and float(match[1]) > 0:
            unit = match[2].upper()
            return float(match[1]) * (_UNITS[unit] if match[3] or not unit else _SI_UNITS[unit])
    msg = f'memory_limit={limit!r}: bytes above zero, a text such as "2GiB" or "500MB", or None'
    raise ValueError(msg)


def free_memory() -> float:
    """Bytes that can be had now: the machine's, or its control group's if that is less."""
    available = [_proc_available(), _cgroup_available()]
    known = [bytes_ for bytes_ in available if bytes_ is not None]
    return min(known) if known else _physical()


def _proc_available() -> float | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return float(match[1]) * 1024 if match else None


def _cgroup_available() -> float | None:
    for folder, limit, used in _CGROUPS:
        try:
            allowed = float((folder / limit).read_text())
            taken = float((folder / used).read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue
        return max(0.0, allowed - taken + _reclaimable(folder))
    return None


def _reclaimable(folder: Path) -> float:
    """Page cache that nobody has read for a while: counted as used, given back when asked for."""
    try:
        text = (folder / "memory.stat").read_text()
    except OSError:
        return 0.0
    match = re.search(r"^(?:total_)?inactive_file (\d+)", text, re.MULTILINE)
    return float(match[1]) if match else 0.0


def _physical() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")  # a system that does not say: the allocation itself will


def readable(number_of_bytes: float) -> str:
    """``"1.5 GiB"``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number_of_bytes < 1023.5:
            return f"{_three_digits(number_of_bytes)} {unit}"
        number_of_bytes /= 1024
    return f"{_three_digits(number_of_bytes)} TiB"


def _three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"
