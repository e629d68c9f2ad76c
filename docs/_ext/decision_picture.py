"""Pictures of decisions: questions from top to bottom, and to the right of each its answer."""

import json
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# In pixels: the widths of questions and answers, the space between, a row, the space between rows.
_ASKED, _ANSWERED, _BETWEEN, _ROW, _GAP = 320, 390, 90, 52, 22
_WIDTH = _ASKED + _BETWEEN + _ANSWERED + 4


def _box(x, y, width, lines, *, filled):
    """A box with one or two lines in it, the first of them bold where it is an answer."""
    middle = y + _ROW / 2 + 5 - 9.5 * (len(lines) - 1)
    shape = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{_ROW}" rx="{5 if filled else 24}" '
        f'fill="currentColor" fill-opacity="{0.08 if filled else 0}" stroke="currentColor" '
        'stroke-opacity="0.5"/>'
    )
    text = "".join(
        f'<text x="{x + width / 2}" y="{middle + 19 * j:.0f}" text-anchor="middle" font-size="15" '
        f'font-weight="{600 if filled and j == 0 else 400}" fill="currentColor">{escape(line)}'
        "</text>"
        for j, line in enumerate(lines)
    )
    return shape + text


def _arrow(x1, y1, x2, y2, word, place):
    """A line with a head, and a word beside it."""
    across = y1 == y2
    head = (
        f"M{x2 - 7} {y2 - 5} L{x2} {y2} L{x2 - 7} {y2 + 5}"
        if across
        else f"M{x2 - 5} {y2 - 7} L{x2} {y2} L{x2 + 5} {y2 - 7}"
    )
    return (
        f'<path d="M{x1} {y1} L{x2} {y2} {head}" fill="none" stroke="currentColor"/>'
        f'<text x="{place[0]}" y="{place[1]}" text-anchor="middle" font-size="13" '
        f'fill="currentColor">{word}</text>'
    )


def picture(questions, otherwise, label):
    """Questions with their answers, as pairs of lists of lines, and what is left, as SVG."""
    height = (len(questions) + 1) * (_ROW + _GAP)
    parts = [
        f'<div tabindex="0" role="region" aria-label="{escape(label)}" style="overflow-x:auto">'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(label)}, also in the table below" '
        f'style="width:100%;min-width:620px;height:auto;color:inherit">'
    ]
    answer = 2 + _ASKED + _BETWEEN
    for row, (asked, answered) in enumerate(questions):
        y = 2 + row * (_ROW + _GAP)
        middle, below = y + _ROW // 2, y + _ROW
        parts += [
            _box(2, y, _ASKED, asked, filled=False),
            _arrow(2 + _ASKED, middle, answer, middle, "yes", (answer - _BETWEEN / 2, middle - 6)),
            _box(answer, y, _ANSWERED, answered, filled=True),
            _arrow(_ASKED // 2, below, _ASKED // 2, below + _GAP, "no",
                   (_ASKED // 2 + 16, below + 16)),
        ]  # fmt: skip
    last = 2 + len(questions) * (_ROW + _GAP)
    parts.append(_box(2, last, _ASKED, otherwise, filled=True))
    return "".join([*parts, "</svg></div>"])


class DecisionPicture(SphinxDirective):
    """Lines of JSON: each a question and its answer, in lists of lines; the last what is left."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        """As raw HTML."""
        *questions, otherwise = [json.loads(line) for line in self.content if line.strip()]
        return [nodes.raw("", picture(questions, otherwise, self.arguments[0]), format="html")]


def setup(app):
    """Make the pictures known."""
    app.add_directive("decision-picture", DecisionPicture)
    return {"parallel_read_safe": True}
