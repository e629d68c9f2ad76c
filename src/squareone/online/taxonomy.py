"""Taxonomy: a forest of named nodes, made of a nested dictionary, of paths or of parents."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array

#: A node and the one above it, None for a root, in the order in which nodes were named.
Parents = dict[Any, Any]

_EXPECTED = (
    "a nested dictionary, a list of paths or a dictionary node → parent (None for roots) is "
    "expected"
)

# Names shown in a message.
_SHOWN = 5


class Taxonomy:
    """Nodes by name, each below one parent at most; it does not change once it is made.

    Indicator matrices (n, nodes) have a column for each node, in the order of ``names``, which is
    that in which they were given.

    Parameters
    ----------
    names : sequence of k texts or numbers
        All different.
    parents : sequence of k integers
        The position of each node's parent, -1 for a root.

    See Also
    --------
    Taxonomy.of : From a nested dictionary, paths or parents.

    Examples
    --------
    >>> from squareone.online import Taxonomy
    >>> groups = Taxonomy.of({"sci": ["space", "med"], "rec": {"sport": ["hockey"]}})
    >>> groups.names
    ('sci', 'rec', 'space', 'med', 'sport', 'hockey')
    >>> groups.ancestors("hockey"), groups.children("sci")
    (('rec', 'sport'), ('space', 'med'))
    """

    def __init__(self, names: Sequence[Any], parents: Sequence[int]) -> None:
        self._names = tuple(map(checked_name, names))
        self._parents = tuple(parents)
        k = len(self._names)
        if k == 0:
            msg = "taxonomy is empty: one node at least is expected"
            raise ValueError(msg)
        if len(self._parents) != k:
            msg = f"{k} names and {len(self._parents)} parents: one parent for each is expected"
            raise ValueError(msg)
        if len(set(self._names)) < k:
            twice = next(name for name in self._names if self._names.count(name) > 1)
            msg = f"taxonomy names {twice!r} twice: every node needs a name of its own"
            raise ValueError(msg)
        if not all(type(above) is int and -1 <= above < k for above in self._parents):
            msg = f"parents of {k} nodes are integers from -1, for a root, to {k - 1}"
            raise ValueError(msg)
        if self.order.size < k:
            msg = f"taxonomy has a cycle: {' → '.join(map(repr, self._cycle()))}"
            raise ValueError(msg)

    @classmethod
    def of(cls, given: Any, separator: str = "/") -> Taxonomy:
        """A taxonomy from a nested dictionary, from paths or from parents.

        Parameters
        ----------
        given : Taxonomy, dict or list
            A nested dictionary, whose leaves may also stand in lists; a list of paths from a root
            on, tuples of names or texts such as ``"a/b/c"``, whose nodes are ``"a"``, ``"a/b"`` and
            ``"a/b/c"``; or a dictionary node → parent, with None or -1 for roots.
        separator : str, default="/"
            Between the parts of a path in a text.

        Returns
        -------
        Taxonomy

        Notes
        -----
        **Cost**: linear in the nodes and the lengths of the paths.

        Examples
        --------
        >>> from squareone.online import Taxonomy
        >>> Taxonomy.of(["sci/space", "sci/med"]).names
        ('sci', 'sci/space', 'sci/med')
        >>> Taxonomy.of([("sci", "space"), ("sci", "med")]) == Taxonomy.of(
        ...     {"sci": ["space", "med"]}
        ... )
        True
        >>> Taxonomy.of({"space": "sci", "sci": None}).ancestors("space")
        ('sci',)
        """
        if isinstance(given, cls):
            return given
        parents = parents_of(given, separator)
        positions = {name: i for i, name in enumerate(parents)}
        unknown = [above for above in parents.values() if above is not None]
        unknown = [above for above in unknown if above not in positions]
        if unknown:
            below = next(name for name, above in parents.items() if above == unknown[0])
            msg = (
                f"{unknown[0]!r} is the parent of {below!r}, and no node itself: give it a parent "
                "too, or None for a root"
            )
            raise ValueError(msg)
        above = [-1 if name is None else positions[name] for name in parents.values()]
        return cls(tuple(parents), tuple(above))

    # --- the forest ---

    @property
    def names(self) -> tuple[Any, ...]:
        """The nodes (k,), in the order in which they were given."""
        return self._names

    @cached_property
    def parents(self) -> Array:
        """The position of each node's parent (k,), -1 for roots; read-only."""
        return _fixed(np.array(self._parents, dtype=np.intp))

    @cached_property
    def order(self) -> Array:
        """Positions of all nodes, level by level, so that parents come first; read-only."""
        return _fixed(np.concatenate([np.empty(0, np.intp), *self.levels]))

    @cached_property
    def levels(self) -> list[Array]:
        """Positions of the roots, of their children, and so on."""
        below: list[list[int]] = [[] for _ in range(len(self) + 1)]  # the last has the roots
        for i, above in enumerate(self._parents):
            below[above].append(i)
        levels = []
        level = below[-1]
        while level:
            levels.append(_fixed(np.array(level, dtype=np.intp)))
            level = [i for above in level for i in below[above]]
        return levels

    @cached_property
    def depths(self) -> Array:
        """How many nodes are above each (k,): zero for roots."""
        depths = np.empty(len(self), dtype=np.intp)
        for depth, level in enumerate(self.levels):
            depths[level] = depth
        return _fixed(depths)

    @cached_property
    def leaves(self) -> Array:
        """Which nodes have no children (k,)."""
        leaves = np.ones(len(self), dtype=bool)
        leaves[self.parents[self.parents >= 0]] = False
        return _fixed(leaves)

    def position(self, name: Any) -> int:
        """Which node has this name; refused where none has."""
        try:
            return self._positions[name_of(name)]
        except (KeyError, TypeError):  # a list cannot be looked up
            shown = ", ".join(map(repr, self._names[:_SHOWN]))
            more = ", …" if len(self) > _SHOWN else ""
            msg = f"{name!r} is no node of the taxonomy, whose nodes are {shown}{more}"
            raise ValueError(msg) from None

    def parent(self, name: Any) -> Any:
        """The node above, None for a root."""
        above = self._parents[self.position(name)]
        return None if above < 0 else self._names[above]

    def children(self, name: Any) -> tuple[Any, ...]:
        """The nodes right below."""
        below = np.flatnonzero(self.parents == self.position(name))
        return tuple(self._names[i] for i in below)

    def ancestors(self, name: Any) -> tuple[Any, ...]:
        """All nodes above, from the root on."""
        return tuple(self._names[i] for i in self._way(self.position(name))[:-1])

    def _way(self, position: int) -> list[int]:
        """Positions from a root to a node."""
        way = []
        while position >= 0:
            way.append(position)
            position = self._parents[position]
        return way[::-1]

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self._names)}

    def _cycle(self) -> list[Any]:
        """The nodes of a cycle, where there is one, from parent to child and back again."""
        reached = set(self.order.tolist())
        at = next(i for i in range(len(self)) if i not in reached)
        seen: list[int] = []
        while at not in seen:  # upward from what hangs below no root
            seen.append(at)
            at = self._parents[at]
        turn = [*seen[seen.index(at) :], at]
        return [self._names[i] for i in reversed(turn)]

    # --- rows of labels ---

    def indicator(self, labels: Iterable[Any]) -> Array:
        """Rows (n, k) of truth values from collections of names; nothing is added above them.

        Examples
        --------
        >>> from squareone.online import Taxonomy
        >>> Taxonomy.of({"a": ["b", "c"]}).indicator([["b"], {"a", "c"}, []]).astype(int)
        array([[0, 1, 0],
               [1, 0, 1],
               [0, 0, 0]])
        """
        rows = [[self.position(name) for name in names] for names in labels]
        Y = np.zeros((len(rows), len(self)), dtype=bool)
        for i, row in enumerate(rows):
            Y[i, row] = True
        return Y

    def named(self, Y: Array) -> list[tuple[Any, ...]]:
        """The names of every row of an indicator (n, k), parents first."""
        ordered = self.order
        return [
            tuple(self._names[j] for j in ordered[row]) for row in np.asarray(Y)[:, ordered] != 0
        ]

    def closure(self, Y: Array) -> Array:
        """Rows (n, k) with all that is above a label added, as truth values.

        **Cost**: n·k.

        Examples
        --------
        >>> from squareone.online import Taxonomy
        >>> groups = Taxonomy.of({"a": {"b": ["c"]}, "d": []})
        >>> groups.named(groups.closure(groups.indicator([["c"], ["d"]])))
        [('a', 'b', 'c'), ('d',)]
        """
        closed = self._columns(Y) != 0
        for level in reversed(self.levels[1:]):
            for i in level:  # siblings write to the same column: one after the other
                closed[:, self._parents[i]] |= closed[:, i]
        return closed

    def check(self, Y: Array) -> None:
        """Refuse an indicator (n, k) with a label whose parent is not one. **Cost**: n·k."""
        Y = self._columns(Y) != 0
        for level in self.levels[1:]:
            wrong = Y[:, level] & ~Y[:, self.parents[level]]
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                name = self._names[level[column]]
                msg = (
                    f"row {row} has the label {name!r} without {self.parent(name)!r}, which is "
                    "above it in the taxonomy: a row has all ancestors of its labels. "
                    "Taxonomy.closure adds them"
                )
                raise ValueError(msg)

    def _columns(self, Y: Any) -> Array:
        Y = np.asarray(Y)
        if Y.ndim != 2 or Y.shape[1] != len(self):
            msg = (
                f"an indicator matrix (n, {len(self)}), a column for every node, is expected, got "
                f"shape {Y.shape}"
            )
            raise ValueError(msg)
        return Y

    # --- as a value ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Names and parents, of which the same taxonomy can be made: for copies, and for files."""
        return {"names": self._names, "parents": self._parents}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return ["names", "parents"]

    def __sklearn_clone__(self) -> Taxonomy:
        return self  # it does not change

    def __len__(self) -> int:
        return len(self._names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((self._names, self._parents))

    def __repr__(self) -> str:
        roots = int((self.parents < 0).sum())
        return f"<Taxonomy of {len(self)} nodes, {roots} roots, {len(self.levels)} levels>"


def _fixed(array: Array) -> Array:
    array.flags.writeable = False
    return array


# --- forms in which it may be given, each read as node → parent ---


def parents_of(given: Any, separator: str) -> Parents:
    """The parent of every node of a taxonomy; ``separator`` is that of paths in texts.

    Cycles and parents that are no node are left for :class:`Taxonomy` to find.
    """
    if isinstance(given, Mapping):
        nested = [isinstance(below, Mapping | list | tuple) for below in given.values()]
        return _of_nested(given) if any(nested) else _of_mapping(given)
    if all(hasattr(given, name) for name in ("nodes", "edges", "is_directed")):
        msg = (
            f"taxonomy is a graph: {_EXPECTED}. Of a graph with edges from parents to children, "
            "{node: next(iter(graph.predecessors(node)), None) for node in graph}"
        )
        raise TypeError(msg)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        msg = f"taxonomy={given!r}: {_EXPECTED}"
        raise TypeError(msg)
    entries = [name_of(entry) for entry in given]
    if all(isinstance(entry, str | tuple | list) for entry in entries):
        return _of_paths(entries, separator)
    if all(entry is None or _is_integer(entry) for entry in entries):
        msg = (
            f"taxonomy has numbers, as an array of parents has: {_EXPECTED}. Of an array, "
            "dict(enumerate(parents))"
        )
        raise TypeError(msg)
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


def _of_paths(paths: Iterable[Any], separator: str) -> Parents:
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


def _add(parents: Parents, name: Any, above: Any) -> None:
    if name not in parents:
        parents[checked_name(name)] = above
    elif parents[name] != above:
        found = (parents[name], above)
        places = ["a root" if each is None else f"below {each!r}" for each in found]
        msg = (
            f"{name!r} is {places[0]} and {places[1]}: a node has one parent at most. Name the two "
            "differently, for instance by the whole path to each"
        )
        raise ValueError(msg)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
