"""An ONNX graph written as expressions: ``(z / sigma).times(C).exp()`` adds three nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array

DOUBLE = np.dtype(np.float64)
WHOLE = np.dtype(np.int64)
TRUTH = np.dtype(np.bool_)

#: The domain of operators that encode texts, and its version: every onnxruntime has that.
MACHINE_LEARNING, MACHINE_LEARNING_OPSET = "ai.onnx.ml", 2

Shape = tuple[int | str, ...]


@dataclass
class _Node:
    op: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any]
    domain: str = ""


@dataclass(eq=False)
class Graph:
    """Nodes and constants in the making; onnx is not needed before :meth:`proto`.

    Attributes
    ----------
    name : str
        Begins the name of everything inside, so that a graph inside another one hides nothing.
    """

    name: str
    nodes: list[_Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: list[tuple[Tensor, Shape]] = field(default_factory=list)
    outputs: list[tuple[Tensor, Shape]] = field(default_factory=list)

    def fresh(self, what: str) -> str:
        """A name nobody has yet."""
        return f"{self.name}.{what}_{len(self.nodes) + len(self.constants)}"

    def input(self, name: str, dtype: np.dtype, shape: Shape) -> Tensor:
        """What the graph is given; a text in ``shape`` is a length known at run time."""
        tensor = Tensor(self, name, dtype)
        self.inputs.append((tensor, shape))
        return tensor

    def output(self, name: str, tensor: Tensor, shape: Shape) -> None:
        """Return ``tensor`` as ``name``."""
        self.nodes.append(_Node("Identity", [tensor.name], name, {}))
        self.outputs.append((Tensor(self, name, tensor.dtype), shape))

    def constant(self, values: Any, dtype: np.dtype | None = None) -> Tensor:
        """Values that belong to the graph; texts are an array of objects."""
        array = np.asarray(values, dtype=dtype)
        name = self.fresh("constant")
        self.constants[name] = array
        return Tensor(self, name, array.dtype)

    def apply(
        self,
        op: str,
        *operands: Tensor | Any,
        dtype: np.dtype | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Tensor:
        """One node; operands that are not tensors become constants, in the type of the first.

        Parameters
        ----------
        op : str
            An operator of ONNX.
        *operands : Tensor, array or number
            The first is a tensor.
        dtype : dtype, optional
            Of the result, if it is not that of the first operand.
        domain : str
            Where the operator is from, if it is none of ONNX's own.
        **attributes
            Of the node; a :class:`Graph` becomes a graph inside this one.
        """
        first = operands[0]
        tensors = [x if isinstance(x, Tensor) else self.constant(x, first.dtype) for x in operands]
        name = self.fresh(op)
        self.nodes.append(_Node(op, [tensor.name for tensor in tensors], name, attributes, domain))
        return Tensor(self, name, dtype or first.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of all constants."""
        return sum(array.nbytes for array in self.constants.values())

    @property
    def domains(self) -> set[str]:
        """Where its operators are from, but for ONNX's own."""
        return {node.domain for node in self.nodes} - {""}

    def proto(self) -> Any:
        """The graph as onnx has it. **Cost**: a copy of the constants."""
        from onnx import helper, numpy_helper

        def described(tensors: list[tuple[Tensor, Shape]]) -> list[Any]:
            return [
                helper.make_tensor_value_info(
                    tensor.name, helper.np_dtype_to_tensor_dtype(tensor.dtype), shape
                )
                for tensor, shape in tensors
            ]

        nodes = []
        for node in self.nodes:
            attributes = {
                name: value.proto() if isinstance(value, Graph) else value
                for name, value in node.attributes.items()
            }
            nodes.append(
                helper.make_node(
                    node.op, node.inputs, [node.output], domain=node.domain or None, **attributes
                )
            )
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        return helper.make_graph(
            nodes, self.name, described(self.inputs), described(self.outputs), constants
        )


@dataclass(frozen=True)
class Tensor:
    """A name in a graph, with the arithmetic of arrays; constants take its type."""

    graph: Graph
    name: str
    dtype: np.dtype

    def __add__(self, other: Any) -> Tensor:
        return self.graph.apply("Add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return self.graph.apply("Sub", self, other)

    def __mul__(self, other: Any) -> Tensor:
        if _looks_like_one(other):
            return self.graph.apply("Mul", self, 2.0 * other) * 0.5
        return self.graph.apply("Mul", self, other)

    def __truediv__(self, other: Any) -> Tensor:
        if _looks_like_one(other):
            return self.graph.apply("Div", self, 2.0 * other) * 2.0
        return self.graph.apply("Div", self, other)

    def times(self, right: Any, bias: Any = None) -> Tensor:
        """The product of matrices, and ``bias`` added: (n, p), (p, q), (q,) → (n, q).

        As Gemm: onnxruntime merges MatMul with a factor beside it, and rounds that to float32.
        """
        return self.graph.apply("Gemm", self, right, *([] if bias is None else [bias]))

    def __gt__(self, other: Any) -> Tensor:
        return self.graph.apply("Greater", self, other, dtype=TRUTH)

    def __ge__(self, other: Any) -> Tensor:
        return self.graph.apply("GreaterOrEqual", self, other, dtype=TRUTH)

    def equals(self, other: Any) -> Tensor:
        """Whether entries are equal: ``==`` compares the tensors themselves."""
        return self.graph.apply("Equal", self, other, dtype=TRUTH)

    def is_nan(self) -> Tensor:
        """Which entries are missing."""
        return self.graph.apply("IsNaN", self, dtype=TRUTH)

    def place(self, texts: Sequence[str], places: Sequence[int], otherwise: int) -> Tensor:
        """For each of these texts its place, and another one for those that are none of them."""
        return self.graph.apply(
            "LabelEncoder",
            self,
            dtype=WHOLE,
            domain=MACHINE_LEARNING,
            keys_strings=list(texts),
            values_int64s=list(places),
            default_int64=otherwise,
        )

    def __and__(self, other: Tensor) -> Tensor:
        return self.graph.apply("And", self, other)

    def __invert__(self) -> Tensor:
        return self.graph.apply("Not", self)

    def exp(self) -> Tensor:
        """e to each entry."""
        return self.graph.apply("Exp", self)

    def sqrt(self) -> Tensor:
        """The root of each entry."""
        return self.graph.apply("Sqrt", self)

    def abs(self) -> Tensor:
        """The magnitude of each entry."""
        return self.graph.apply("Abs", self)

    def minimum(self, other: Any) -> Tensor:
        """The smaller of each pair."""
        return self.graph.apply("Min", self, other)

    def maximum(self, other: Any) -> Tensor:
        """The larger of each pair."""
        return self.graph.apply("Max", self, other)

    def sum_of_rows(self) -> Tensor:
        """(n, c) → (n, 1)."""
        return self.graph.apply("ReduceSum", self, self.graph.constant([1]), keepdims=1)

    def argmax(self) -> Tensor:
        """Where the largest entry of each row is, the first of several: (n, c) → (n,)."""
        return self.graph.apply("ArgMax", self, dtype=WHOLE, axis=1, keepdims=0)

    def at(self, column: Tensor) -> Tensor:
        """The entry of each row at its column (n,): (n, c) → (n, 1)."""
        return self.graph.apply("GatherElements", self, column.upright(), axis=1)

    def columns(self, indices: Any) -> Tensor:
        """Some columns: (n, c) → (n, indices)."""
        return self.graph.apply("Gather", self, self.graph.constant(indices, WHOLE), axis=1)

    def column(self, at: int) -> Tensor:
        """One column: (n, c) → (n,)."""
        return self.graph.apply("Gather", self, self.graph.constant(at, WHOLE), axis=1)

    def take(self, indices: Tensor) -> Tensor:
        """Entries of a vector: (k,) → the shape of ``indices``."""
        return self.graph.apply("Gather", self, indices, axis=0)

    def upright(self) -> Tensor:
        """A vector as one column: (n,) → (n, 1)."""
        return self.graph.apply("Unsqueeze", self, self.graph.constant([1]))

    def beside(self, other: Tensor) -> Tensor:
        """Columns side by side: (n, c), (n, e) → (n, c + e)."""
        return self.graph.apply("Concat", self, other, axis=1)

    def where(self, condition: Tensor, otherwise: Any) -> Tensor:
        """Its entries where the condition holds, others elsewhere."""
        if not isinstance(otherwise, Tensor):
            otherwise = self.graph.constant(otherwise, self.dtype)
        return self.graph.apply("Where", condition, self, otherwise, dtype=self.dtype)

    def repeated(self, like: Tensor, width: int) -> Tensor:
        """Spread to the rows of ``like`` and so many columns."""
        rows = self.graph.apply("Shape", like, dtype=WHOLE, start=0, end=1)
        shape = self.graph.apply("Concat", rows, self.graph.constant([width]), axis=0)
        return self.graph.apply("Expand", self, shape)

    def cast(self, dtype: np.dtype) -> Tensor:
        """In another type; itself where it is that already."""
        if dtype == self.dtype:
            return self
        from onnx import helper

        to = helper.np_dtype_to_tensor_dtype(dtype)
        return self.graph.apply("Cast", self, dtype=dtype, to=to)


def _looks_like_one(factor: Any) -> bool:
    """Whether onnxruntime would drop the factor: it rounds a single number to float32 to see."""
    if isinstance(factor, Tensor) or np.size(factor) != 1:
        return False
    number = float(np.asarray(factor).item())
    return number != 1.0 and np.float32(number) == 1.0
