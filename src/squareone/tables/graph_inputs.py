"""The columns of an encoder as inputs of an ONNX graph: numbers with NaN for a gap, and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..export.graph import DOUBLE, WHOLE, Graph, Tensor
from ..export.table_inputs import Batch, TableInputs
from .column_choice import EncodedColumn
from .column_parts import (
    GapIndicator,
    HashedLevels,
    LevelOrder,
    Levels,
    NumberInPieces,
    Part,
    ScaledNumber,
    TargetMeans,
    TrueFalse,
)
from .columns import Column, columns_of
from .number_scaling import NumberScaling
from .table_encoder import TableEncoder

__all__ = ["GraphInputs"]

_TEXT = np.dtype(object)
# Outputs of a graph: an input cannot be called the same.
_OUTPUTS = ("prediction", "label", "decision_function", "probabilities")


class GraphInputs(TableInputs):
    """What a fitted encoder makes of each column; refused where that has no nodes.

    Parameters
    ----------
    encoder : TableEncoder
    owner : str
        The estimator, for messages.
    """

    def __init__(self, encoder: TableEncoder, owner: str) -> None:
        self.encoder = encoder
        self.columns = [column for column in encoder._encoded if column.parts]
        for column in self.columns:
            _check(column, owner)

    def rows(self, graph: Graph, dtype: np.dtype) -> Tensor:
        """In float64, rounded once."""
        pieces = []
        for column in self.columns:
            kind = _TEXT if column.content == "words" else dtype
            values = graph.input(column.name, kind, ("rows",))
            if column.content == "words":
                pieces.append(_looked_up(values, column))
                continue
            numbers = values.cast(DOUBLE).upright()
            pieces += [_NODES[type(part)](part, numbers) for part in column.parts]
        side_by_side = graph.apply("Concat", *pieces, axis=1)
        return side_by_side.cast(dtype)

    def encoded(self, batch: Batch) -> Array:
        """By the encoder's own parts, in its type."""
        n = len(next(iter(batch.values())))
        outputs = np.empty((n, self.encoder.output_columns_.size), np.dtype(self.encoder.dtype))
        start = 0
        for column in self.columns:
            stop = start + len(column.outputs(""))
            values = batch[column.name]
            if column.content == "words":
                rows = columns_of(values[:, None], "to_onnx").column(0, column.name)
            else:
                rows = Column(column.name, column.content, values.astype(np.float64))
            column.encode(column.read(rows), outputs[:, start:stop])
            start = stop
        return outputs

    def decoded(self, rows: Array) -> Batch:
        """Numbers by the way back, a gap where its indicator is above a half."""
        batch, start = {}, 0
        for column in self.columns:
            stop = start + len(column.outputs(""))
            own, start = rows[:, start:stop].astype(np.float64), stop
            if column.content == "words":
                texts, codes = _texts_and_codes(column)
                apart = np.square(own[:, None, :] - codes).sum(axis=2)
                batch[column.name] = np.array(texts, dtype=object)[apart.argmin(axis=1)]
                continue
            first = column.parts[0]
            values = np.zeros(len(own))
            if isinstance(first, ScaledNumber):
                values = _unscaled(first.scaling, own[:, 0])
            elif isinstance(first, NumberInPieces):
                values = first.pieces.numbers(own[:, : len(first.names())])
            elif isinstance(first, TrueFalse):
                values = (own[:, 0] > 0.0).astype(np.float64)
            if isinstance(column.parts[-1], GapIndicator):
                values[own[:, -1] > 0.5] = np.nan
            batch[column.name] = values
        return batch


def _check(column: EncodedColumn, owner: str) -> None:
    """Refuse what has no nodes, by name."""
    instead = (
        f": leave the column out, or export an {owner.replace('Table', 'RLS')} that was fitted to "
        "encoded rows, model.encoder_.transform(X), with kernel=model.kernel_ and "
        "alpha=model.alpha_"
    )
    if column.content == "times":
        msg = f"column {column.name!r} has dates, which a graph of ONNX cannot take apart{instead}"
        raise TypeError(msg)
    if any(isinstance(part, HashedLevels) for part in column.parts):
        msg = f"column {column.name!r} has words that are hashed, which ONNX has no node for"
        raise TypeError(msg + instead)
    if column.name in _OUTPUTS or not column.name:
        msg = (
            f"column {column.name!r} would be an input of the graph, and that is the name of "
            "nothing or of one of its outputs: call the column something else"
        )
        raise TypeError(msg)


# --- words: all outputs of a level are known beforehand ---


def _looked_up(texts: Tensor, column: EncodedColumn) -> Tensor:
    """Outputs (n, k) of texts (n,) by their place among the levels; empty is a gap."""
    known, codes = _texts_and_codes(column)
    *levels, _ = known
    numbers = range(len(levels))
    return texts.graph.constant(codes, DOUBLE).take(texts.place(levels, numbers, len(levels)))


def _texts_and_codes(column: EncodedColumn) -> tuple[list[str], Array]:
    """Every level, an empty text for a gap and one that is no level; their outputs (L + 2, k)."""
    levels = sorted({level for part in column.parts for level in _levels_of(part)})
    other = "(other)"
    while other in levels:
        other += "'"
    texts = [*levels, "", other]
    order = sorted(texts[:-2] + texts[-1:])
    places = {text: place for place, text in enumerate(order)}
    values = np.array([places.get(text, -1) for text in texts])
    rows = Column(column.name, "words", values, levels=tuple(order))
    codes = np.empty((len(texts), len(column.outputs(""))))
    column.encode(rows, codes)
    return texts, codes


def _levels_of(part: Part) -> tuple[str, ...]:
    if isinstance(part, LevelOrder):
        return part.order
    return part.levels if isinstance(part, Levels | TargetMeans) else ()


# --- numbers (n, 1) ---


def _number(part: ScaledNumber, numbers: Tensor) -> Tensor:
    scaling = part.scaling
    gaps = numbers.is_nan()
    known = numbers.where(~gaps, scaling.fill)
    if not scaling.knots.size:
        return (known - scaling.mean) / scaling.sd
    return _interpolated(known, scaling.knots, scaling.scores)


def _pieces(part: NumberInPieces, numbers: Tensor) -> Tensor:
    """Every piece beside the others (n, k)."""
    pieces = part.pieces
    low, high = pieces.edges[:-1], pieces.edges[1:]
    known = numbers.where(~numbers.is_nan(), pieces.fill)
    return (known.maximum(low).minimum(high) - low) / (high - low) * pieces.unit


def _interpolated(numbers: Tensor, knots: Array, scores: Array) -> Tensor:
    """Linear between the knots, constant beyond: by the number of knots below (n, 1)."""
    inside = numbers.maximum(knots[0]).minimum(knots[-1])
    if knots.size == 1:
        return inside * 0.0 + scores[0]
    below = (inside >= knots[1:-1]).cast(WHOLE).sum_of_rows() if knots.size > 2 else None
    slopes = np.diff(scores) / np.diff(knots)
    graph = numbers.graph

    def at(values: Array) -> Any:
        return values[0] if below is None else graph.constant(values, DOUBLE).take(below)

    return (inside - at(knots[:-1])) * at(slopes) + at(scores[:-1])


def _indicator(part: GapIndicator, numbers: Tensor) -> Tensor:
    return numbers.is_nan().cast(DOUBLE)


def _true_or_false(part: TrueFalse, numbers: Tensor) -> Tensor:
    return (numbers - 0.5).where(~numbers.is_nan(), 0.0)


_NODES: dict[type[Part], Callable[[Any, Tensor], Tensor]] = {
    GapIndicator: _indicator,
    NumberInPieces: _pieces,
    ScaledNumber: _number,
    TrueFalse: _true_or_false,
}


def _unscaled(scaling: NumberScaling, scaled: Array) -> Array:
    """Numbers (n,) that become ``scaled`` (n,)."""
    if scaling.knots.size:
        return np.interp(scaled, scaling.scores, scaling.knots)
    return scaled * scaling.sd + scaling.mean
