"""The forms in which a forest of names may be given, each read as node → parent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

#: A node and the one above it, None for a root, in the order in which nodes were named.
Parents = dict[Any, Any]

_EXPECTED = (
    "a nested dictionary, a list of paths, a directed graph, a list of parents (-1 for roots) or a "
    "dictionary node → parent (None for roots) is expected"
)


def parents_of(given: Any, separator: str) -> Parents:
    """The parent of every node of a taxonomy in any form; ``separator`` is that of paths in texts.

    Cycles and parents that are no node are left for :class:`~squareone.online.Taxonomy` to find.
    """
    if all(hasattr(given, name) for name in ("nodes", "edges", "is_directed")):
        return _of_graph(given)
    if isinstance(given, Mapping):
        nested = [isinstance(below, Mapping | list | tuple) for below in given.values()]
        return _of_nested(given) if any(nested) else _of_mapping(given)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        msg = f"taxonomy={given!r}: {_EXPECTED}"
        raise TypeError(msg)
    entries = [name_of(entry) for entry in given]
    if all(entry is None or _is_integer(entry) for entry in entries):
        return _of_array(entries)
    if all(isinstance(entry, str | tuple | list) for entry in entries):
        return paths_as_parents(entries, separator)
    kinds = ", ".join(sorted({type(entry).__name__ for entry in entries}))
    msg = f"taxonomy has entries of types {kinds}: {_EXPECTED}"
    raise TypeError(msg)


def name_of(value: Any) -> Any:
    """A name as a plain Python value: those of NumPy are equal to it, but no file knows them."""
    return value.item() if isinstance(value, np.generic) else value


def checked_name(name: Any) -> Any:
    """The name of a node; what cannot be one is refused."""
    name = name_of(name)
    if name is None or not isinstance(name, Hashable) or name != name:
        msg = f"{name!r} cannot be the name of a node: texts or numbers are expected"
        raise ValueError(msg)
    return name


def paths_as_parents(paths: Iterable[Any], separator: str) -> Parents:
    """Of ``("a", "b", "c")``, or of texts ``"a/b/c"``, whose nodes are a, a/b and a/b/c.

    Parts of a tuple are names by themselves; a node of a text is named by the whole way to it, so
    that labels and nodes have the same names.
    """
    parents: Parents = {}
    for path in paths:
        parts = (
            _prefixes(path, separator) if isinstance(path, str) else list(map(checked_name, path))
        )
        if not parts:
            msg = "taxonomy has a path without a name: every path names its nodes from a root on"
            raise ValueError(msg)
        if len(set(parts)) < len(parts):
            msg = f"the path {path!r} comes back to a node it has been at: there is a cycle"
            raise ValueError(msg)
        for above, name in zip([None, *parts], parts, strict=False):
            _add(parents, name, above)
    return parents


def _prefixes(path: str, separator: str) -> list[str]:
    parts = path.split(separator)
    if not all(parts):
        msg = f"the path {path!r} has a part without letters between its {separator!r}"
        raise ValueError(msg)
    return [separator.join(parts[: i + 1]) for i in range(len(parts))]


def _of_nested(given: Mapping[Any, Any]) -> Parents:
    parents: Parents = {}
    waiting: list[tuple[Any, Any]] = [(None, given)]
    while waiting:  # no recursion: a taxonomy may be deeper than Python's stack
        above, below = waiting.pop()
        inner = []
        for name in below:
            plain = checked_name(name)
            if plain in parents:
                msg = (
                    f"taxonomy names {plain!r} twice: every node needs a name of its own, for "
                    "instance with that of its parent before it"
                )
                raise ValueError(msg)
            parents[plain] = above
            children = below[name] if isinstance(below, Mapping) else None
            if isinstance(children, Mapping | list | tuple):
                inner.append((plain, children))
            elif children is not None:
                msg = (
                    f"taxonomy has {children!r} below {plain!r}: a dictionary or a list of nodes "
                    "is expected there, or None"
                )
                raise ValueError(msg)
        waiting.extend(reversed(inner))
    return parents


def _of_mapping(given: Mapping[Any, Any]) -> Parents:
    parents = {
        checked_name(name): None if above is None else checked_name(above)
        for name, above in given.items()
    }
    return {
        name: None if _is_integer(above) and above == -1 and -1 not in parents else above
        for name, above in parents.items()
    }


def _of_array(given: list[Any]) -> Parents:
    parents = [None if above == -1 else above for above in given]
    outside = [above for above in parents if above is not None and not 0 <= above < len(parents)]
    if outside:
        msg = (
            f"taxonomy has {outside[0]} as a parent: nodes are numbered 0 to {len(parents) - 1}, "
            "and a root has -1 or None"
        )
        raise ValueError(msg)
    return dict(enumerate(parents))


def _of_graph(graph: Any) -> Parents:
    if not graph.is_directed():
        msg = "taxonomy is a graph without directions: edges from parents to children are expected"
        raise ValueError(msg)
    parents: Parents = {checked_name(name): None for name in graph.nodes}
    for above, name in graph.edges():
        known = parents[name_of(name)]
        if known is not None and known != name_of(above):
            _refuse_several(name_of(name), known, name_of(above))
        parents[name_of(name)] = name_of(above)
    return parents


def _add(parents: Parents, name: Any, above: Any) -> None:
    if name not in parents:
        parents[checked_name(name)] = above
    elif parents[name] != above:
        _refuse_several(name, parents[name], above)


def _refuse_several(name: Any, first: Any, second: Any) -> NoReturn:
    places = ["a root" if above is None else f"below {above!r}" for above in (first, second)]
    msg = (
        f"{name!r} is {places[0]} and {places[1]}: a node has one parent at most. Name the two "
        f"differently, for instance by the whole path to each"
    )
    raise ValueError(msg)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
