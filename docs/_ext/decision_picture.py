"""Pictures of decisions: questions from top to bottom, each with its answer.

The answer stands to the right of its question, and below it on a narrow screen.
"""

import json
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# In pixels: a row; on a wide screen the widths of questions and answers, the space between, and
# that between rows; on a narrow one the width of both, how far an answer is moved in, the spaces.
_ROW = 52
_ASKED, _ANSWERED, _BETWEEN, _GAP = 320, 390, 90, 22
_BOX, _INDENT, _ABOVE, _BELOW = 318, 38, 20, 16


def _box(x, y, width, lines, *, filled, size=15):
    """A box with one or two lines in it, the first of them bold where it is an answer."""
    middle = y + _ROW / 2 + 5 - 9.5 * (len(lines) - 1)
    shape = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{_ROW}" rx="{5 if filled else 24}" '
        f'fill="currentColor" fill-opacity="{0.08 if filled else 0}" stroke="currentColor" '
        'stroke-opacity="0.5"/>'
    )
    text = "".join(
        f'<text x="{x + width / 2}" y="{middle + 19 * j:.0f}" text-anchor="middle" '
        f'font-size="{size}" font-weight="{600 if filled and j == 0 else 400}" '
        f'fill="currentColor">{escape(line)}</text>'
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


def _beside(questions, otherwise):
    """Boxes and arrows with answers to the right, and how wide and high they are."""
    answer, step = 2 + _ASKED + _BETWEEN, _ROW + _GAP
    parts = []
    for row, (asked, answered) in enumerate(questions):
        y = 2 + row * step
        middle, below = y + _ROW // 2, y + _ROW
        parts += [
            _box(2, y, _ASKED, asked, filled=False),
            _arrow(2 + _ASKED, middle, answer, middle, "yes", (answer - _BETWEEN / 2, middle - 6)),
            _box(answer, y, _ANSWERED, answered, filled=True),
            _arrow(_ASKED // 2, below, _ASKED // 2, below + _GAP, "no",
                   (_ASKED // 2 + 16, below + 16)),
        ]  # fmt: skip
    parts.append(_box(2, 2 + len(questions) * step, _ASKED, otherwise, filled=True))
    return parts, answer + _ANSWERED + 2, (len(questions) + 1) * step


def _below(questions, otherwise):
    """The same with answers below."""
    step = 2 * _ROW + _ABOVE + _BELOW
    parts = []
    for row, (asked, answered) in enumerate(questions):
        y = 2 + row * step
        below, answer, middle = y + _ROW, y + _ROW + _ABOVE, 2 + _BOX // 2
        parts += [
            _box(2, y, _BOX, asked, filled=False, size=13.5),
            _arrow(middle, below, middle, answer, "yes", (middle + 18, below + 14)),
            _box(2 + _INDENT, answer, _BOX, answered, filled=True, size=12.5),
            # from where the box is no longer round
            _arrow(22, below, 22, y + step, "no", (38, y + step - 5)),
        ]
    parts.append(_box(2, 2 + len(questions) * step, _BOX, otherwise, filled=True, size=13.5))
    return parts, _BOX + _INDENT + 4, len(questions) * step + _ROW + 4


def picture(questions, otherwise, label):
    """Questions with their answers, as pairs of lists of lines, and what is left, as SVG.

    Twice; the style sheet shows the one that the screen has room for.
    """
    return "".join(
        f'<div class="decision-{name}"><svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}, also in the table below" '
        f'style="width:100%;height:auto;color:inherit">{"".join(parts)}</svg></div>'
        for name, (parts, width, height) in (
            ("wide", _beside(questions, otherwise)),
            ("narrow", _below(questions, otherwise)),
        )
    )


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
