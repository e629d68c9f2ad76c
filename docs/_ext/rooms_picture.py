"""A picture of the rooms of the library, from the contract of their order in pyproject.toml."""

import importlib
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# In pixels: a row, the space between rows, the width of all, a letter of a name and of a text.
_HEIGHT, _GAP, _WIDTH, _NAME, _TEXT = 34, 8, 860, 10.0, 7.4


def rooms():
    """Layers from the lowest to the highest, each a list of names."""
    path = Path(__file__).parents[2] / "pyproject.toml"
    contracts = tomllib.loads(path.read_text())["tool"]["importlinter"]["contracts"]
    return [layer.split(" | ") for layer in reversed(contracts[0]["layers"])]


def description(name):
    """The first line of a room's docstring, without its own name."""
    text = (importlib.import_module(f"squareone.{name}").__doc__ or "").split("\n")[0].rstrip(".")
    own, _, rest = text.partition(": ")
    return rest if rest and own.lower() == name else text


def picture():
    """The rooms as SVG: each may import from those above it."""
    layers = rooms()
    height = len(layers) * (_HEIGHT + _GAP) + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-label="The rooms of the library, from the lowest to the highest" '
        'style="max-width:100%;height:auto;color:inherit">'
    ]
    for row, names in enumerate(layers):
        y, width = _GAP + row * (_HEIGHT + _GAP), (_WIDTH - _GAP) / len(names)
        for place, name in enumerate(names):
            x = _GAP / 2 + place * width
            room = int((width - 3 * _GAP - _NAME * len(name)) / _TEXT)
            text = description(name)
            text = text if len(text) <= room else text[: max(room - 1, 0)].rstrip(" ,:;") + "…"
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width - _GAP / 2:.0f}" height="{_HEIGHT}" '
                'rx="4" fill="currentColor" fill-opacity="0.06" stroke="currentColor" '
                'stroke-opacity="0.45"/>'
                f'<text x="{x + _GAP:.0f}" y="{y + 22}" font-size="15" font-weight="600" '
                f'fill="currentColor">{escape(name)}</text>'
                f'<text x="{x + 2 * _GAP + _NAME * len(name):.0f}" y="{y + 22}" font-size="13" '
                f'fill="currentColor" fill-opacity="0.8">{escape(text)}</text>'
            )
    return "".join([*parts, "</svg>"])


class RoomsPicture(SphinxDirective):
    """The picture."""

    def run(self):
        """As raw HTML."""
        return [nodes.raw("", picture(), format="html")]


def setup(app):
    """Make the picture known."""
    app.add_directive("rooms-picture", RoomsPicture)
    return {"parallel_read_safe": True}
