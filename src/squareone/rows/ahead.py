"""The next block is made while the last one is worked on."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items, each made by another thread while the caller is busy with the one before.

    An exception of ``items`` is raised here, in its turn. However this ends (the last item, an
    exception, an interrupt, a caller who stops in the middle), the thread has ended and ``items``
    are closed before anybody hears of it; they are never run by two threads at once.

    Cost: one item more than the one in use.
    """
    end = object()
    try:
        # leaving the block waits for the item that is being made, and ends the thread
        with ThreadPoolExecutor(1, "squareone-rows") as reader:
            coming = reader.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = reader.submit(next, items, end)
                yield item  # type: ignore[misc]
                del item  # the caller may have let go of it: so do we, before the next one is here
    finally:
        items.close()
