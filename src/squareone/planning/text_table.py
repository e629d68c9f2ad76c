"""A table for a person: aligned text for a terminal, HTML for a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

# No colour of its own but a translucent one, so that it can be read on white and on black.
_CELL = "padding:0.2em 0.8em;border:none;vertical-align:top;"
_RULE = "border-bottom:1px solid rgba(128,128,128,0.6);"
_MARK = "background:rgba(0,114,178,0.18);font-weight:bold;"


@dataclass(frozen=True)
class Table:
    """Rows of text below a header.

    Attributes
    ----------
    header : tuple of str
    rows : list of tuple of str
    align : str
        ``"<"`` or ``">"`` for each column.
    marked : int or None
        The row to be seen first.

    Examples
    --------
    >>> table = Table(("solver", "Gflop"), [("svd", "1.5"), ("gram", "0.75")], "<>", marked=1)
    >>> print(table.text())
    solver  Gflop
    svd       1.5
    gram     0.75
    """

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    align: str
    marked: int | None = None

    def text(self) -> str:
        """Lines of equal columns, two spaces between them."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                f"{cell:{align}{width}}"
                for cell, align, width in zip(line, self.align, widths, strict=True)
            ).rstrip()
            for line in lines
        )

    def html(self) -> str:
        """A ``<table>`` that needs no style sheet and no script; all text is escaped."""
        head = self._row(self.header, "th", _RULE)
        body = "".join(
            self._row(row, "td", _MARK if i == self.marked else "background:transparent;")
            for i, row in enumerate(self.rows)
        )
        return (
            '<table style="border-collapse:collapse;margin:0.4em 0;color:inherit;">'
            f"<thead>{head}</thead><tbody>{body}</tbody></table>"
        )

    def _row(self, cells: tuple[str, ...], tag: str, style: str) -> str:
        sides = ("left" if align == "<" else "right" for align in self.align)
        inner = "".join(
            f'<{tag} style="{_CELL}text-align:{side};{style}">{escape(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{inner}</tr>"
