"""Mutants: copies of a source file with one comparison, operator, constant or condition changed."""

import ast
import random
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BOUND: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the bytes ``start`` to ``end`` are replaced by ``text``.

    ``before`` and ``after`` are the lines with the change, for a reader.
    """

    path: str
    kind: str
    line: int
    last_line: int
    start: int
    end: int
    text: str
    before: str
    after: str

    @property
    def lines(self) -> range:
        """The lines it stands on."""
        return range(self.line, self.last_line + 1)

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines.

    Left alone are annotations, decorators, f-strings, and the making of errors and warnings, whose
    numbers are words of a message.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    found = []
    for node in _nodes(ast.parse(source)):
        for kind, old, new in _changes(node):
            last_line, last_column = old.end_lineno, old.end_col_offset
            assert last_line is not None
            assert last_column is not None
            first, last = starts[old.lineno - 1], starts[last_line]
            start = first + old.col_offset  # ast counts bytes
            end = starts[last_line - 1] + last_column
            text = ast.unparse(new)
            if not isinstance(old, ast.stmt):
                text = f"({text})"
            found.append(
                Mutant(
                    path=path,
                    kind=kind,
                    line=old.lineno,
                    last_line=last_line,
                    start=start,
                    end=end,
                    text=text,
                    before=source[first:last].decode().strip(),
                    after=(source[first:start].decode() + text + source[end:last].decode()).strip(),
                )
            )
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.text))


def draw(
    mutants: Sequence[Mutant], covered: Mapping[str, Set[int]], count: int, seed: int
) -> list[Mutant]:
    """Some mutants of different lines that tests execute, the same ones for the same seed.

    Lines are drawn first and then a mutant of each, so that a long formula counts no more than a
    short one.

    Parameters
    ----------
    covered : executed lines of each file
    """
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in mutants:
        if not covered.get(mutant.path, frozenset()).isdisjoint(mutant.lines):
            by_line.setdefault((mutant.path, mutant.line), []).append(mutant)
    rng = random.Random(seed)
    places = rng.sample(sorted(by_line), min(count, len(by_line)))
    return [rng.choice(by_line[place]) for place in places]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed: all but what stands for a type or a message."""
    if isinstance(node, ast.Raise | ast.JoinedStr) or _makes_a_message(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child)


def _makes_a_message(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    return name.startswith("warn") or name.endswith(("Error", "Warning"))


_Node = ast.expr | ast.stmt


def _changes(node: ast.AST) -> Iterator[tuple[str, _Node, _Node]]:
    """The kind of each change of a node, what is replaced, and by what."""
    match node:
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                for kind, table in (("comparison negated", _NEGATED), ("bound moved", _BOUND)):
                    if type(op) in table:
                        others = [*ops[:place], table[type(op)](), *ops[place + 1 :]]
                        yield kind, node, ast.Compare(left, others, comparators)
        case ast.BinOp(left, op, right) if type(op) in _SWAPPED and not _is_text(left, right):
            yield "operator swapped", node, ast.BinOp(left, _SWAPPED[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in _SWAPPED and not _is_text(value):
            yield "operator swapped", node, ast.AugAssign(target, _SWAPPED[type(op)](), value)
        case ast.Constant(bool() | str()):
            pass
        case ast.Constant(int() | float() as number):
            yield "constant plus one", node, ast.Constant(number + 1)
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and, or", node, ast.BoolOp(other, values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not removed", node, operand
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            # A comparison and a `not` are negated where they stand.
            if not isinstance(test, ast.Compare | ast.UnaryOp):
                yield "condition negated", test, ast.UnaryOp(ast.Not(), test)


def _is_text(*nodes: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in nodes
    )
