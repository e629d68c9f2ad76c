"""Probabilities of a stream: a calibration of recent decision values, each before learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..models.probabilities import Calibration, Temperature, fit_calibration
from ..persistence import Fields, refuse
from .rollback import Restorable, grown

#: Values that a calibration is fitted to, at most.
CALIBRATION_ROWS = 1024
#: Rows after which it is fitted again.
CALIBRATION_STEP = 64


class RecentValues(Restorable):
    """The last thousand decision values, each before its row was learned, and what was true.

    From these follows how sure a value is. Early ones are left out: what was said when little was
    known tells nothing about what is said now.

    A calibration is fitted when it is asked for, to the values up to the last multiple of 64 rows,
    or to all of the first 64: it depends on the rows alone, not on when it was asked for.

    Parameters
    ----------
    columns : int
    exclusive : bool
        Whether the columns are classes of which the largest wins.

    Attributes
    ----------
    seen : int
        Rows of which a label was known.
    """

    def __init__(self, columns: int, *, exclusive: bool) -> None:
        self.exclusive = exclusive
        self.seen = 0
        self._filled = 0  # rows of the arrays that count
        self._values = np.empty((0, columns))
        self._truth = np.empty((0, columns), bool)
        self._weights = np.empty((0, columns))
        self._fitted: tuple[int, Calibration] | None = None

    @property
    def columns(self) -> int:
        """Decision values of a row."""
        return self._values.shape[1]

    def add(self, values: Array, Y: Array, weights: Array | None, known: Array | None) -> None:
        """Values (b, c) of rows, before they were learned.

        ``Y`` (b, c) are ±1, ``weights`` (b,) those of the rows, and ``known`` (b, c) says of which
        the label was seen; None: of all.
        """
        if known is not None:
            rows = known.any(axis=1)
            values, Y, known = values[rows], Y[rows], known[rows]
            weights = None if weights is None else weights[rows]
        b, most = values.shape[0], CALIBRATION_ROWS + CALIBRATION_STEP
        if b == 0:
            return
        if b > most:
            values, Y = values[-most:], Y[-most:]
            weights = None if weights is None else weights[-most:]
            known = None if known is None else known[-most:]
        if self._filled + b > 2 * most:
            self._keep(most)
        first = self._filled
        last = first + values.shape[0]
        if last > self._values.shape[0] or not self._values.flags.writeable:
            held = (self._values, self._truth, self._weights)
            self._values, self._truth, self._weights = (
                grown(each, (last, self.columns)) for each in held
            )
        self._values[first:last], self._truth[first:last] = values, Y > 0
        self._weights[first:last] = 1.0 if weights is None else weights[:, None]
        if known is not None:
            self._weights[first:last] *= known
        self.seen, self._filled = self.seen + b, last

    def _keep(self, count: int) -> None:
        """The last ones, in arrays of their own."""
        part = slice(max(0, self._filled - count), self._filled)
        self._values, self._truth, self._weights = (
            each[part].copy() for each in (self._values, self._truth, self._weights)
        )
        self._filled = self._values.shape[0]

    def calibration(self) -> Calibration:
        """The map from values to probabilities. **Cost**: some ten passes over 1,024 rows."""
        until = self.seen
        if until > CALIBRATION_STEP:
            until -= until % CALIBRATION_STEP
        if self._fitted is None or self._fitted[0] != until:
            last = self._filled - (self.seen - until)
            part = slice(max(0, last - CALIBRATION_ROWS), last)
            self._fitted = until, self._fit(part)
        return self._fitted[1]

    def _fit(self, part: slice) -> Calibration:
        c = self.columns
        values, truth, weights = self._values[part], self._truth[part], self._weights[part]
        columns = [slice(0, c)] if self.exclusive else [slice(j, j + 1) for j in range(c)]
        slopes = []
        for each in columns:
            w = weights[:, each.start]
            if not (w > 0).any():
                slopes.append(1.0)
                continue
            found = fit_calibration(
                "temperature", values[:, each], truth[:, each], w, exclusive=self.exclusive
            )
            assert isinstance(found, Temperature)
            slopes.append(float(found.slopes[0]))
        none = np.zeros(c)
        return Temperature(self.exclusive, np.array(slopes), none, none)

    # --- in a file ---

    def state(self) -> dict[str, Any]:
        """All there is."""
        self._keep(CALIBRATION_ROWS + CALIBRATION_STEP)
        return {
            "seen": int(self.seen),
            "values": self._values.copy(),
            "truth": self._truth.copy(),
            "weights": self._weights.copy(),
        }

    def restore(self, found: Fields) -> None:
        """Go on from there; what came from a file is checked."""
        with found:
            values = found.array("values", (None, self.columns), (np.float64,))
            truth = found.array("truth", values.shape, (np.bool_,))
            weights = found.array("weights", values.shape, (np.float64,), least=0.0)
            seen, kept = found.take("seen", int), values.shape[0]
            if kept != min(seen, CALIBRATION_ROWS + CALIBRATION_STEP):
                refuse(found.where, f"{kept} values of {seen} rows")
        self.seen, self._filled, self._fitted = int(seen), kept, None
        self._values, self._truth, self._weights = values.copy(), truth.copy(), weights.copy()
