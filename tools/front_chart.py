"""The chart of the README, from committed results: ``python -m tools.front_chart``.

Each point is a set and one of the usual choices: how much longer it takes than this library with
nothing set, and how much larger its error is. It is written as SVG by hand, in light and dark, so
that the same results give the same files.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "results"
FOLDER = ROOT / "docs" / "front"


class Point(NamedTuple):
    """A choice on a set: its seconds and its error, both over those of squareone."""

    choice: str
    set: str
    time: float
    error: float


class Colours(NamedTuple):
    """Of a page."""

    paper: str
    ink: str
    faint: str
    worse: str
    choices: tuple[str, ...]


#: Choices, and the shape of their points: colour is not all that tells them apart.
CHOICES = {
    "SVM": "circle",
    "KernelRidge": "square",
    "Gaussian process": "triangle",
    "boosted trees": "diamond",
}
COLOURS = {
    "light": Colours(
        "#ffffff", "#1f2328", "#d0d7de", "#f3f5f7", ("#0072b2", "#b35900", "#00795a", "#a8326e")
    ),
    "dark": Colours(
        "#0d1117", "#e6edf3", "#3d444d", "#161b22", ("#56b4e9", "#e69f00", "#2fbf9b", "#e58fc0")
    ),
}
_WIDTH, _HEIGHT = 860, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 54, 54
_TIMES, _ERRORS = (0.06, 12.0), (0.5, 5.0)
_TIME_TICKS, _ERROR_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10), (0.5, 0.7, 1, 1.4, 2, 4)


def tables(name: str) -> list[dict[str, str]]:
    """Rows of the table of an experiment's results, by its header; repeated names are numbered."""
    lines = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    header = [key if lines[0].index(key) == j else f"{key} {j}" for j, key in enumerate(lines[0])]
    return [dict(zip(header, line, strict=True)) for line in lines[2:]]


def points() -> list[Point]:
    """Everything that has been measured of the usual choices beside squareone."""
    found = [
        Point(row["contestant"], row["set"], float(row["ratio"]), float(row["against squareone"]))
        for row in tables("usual_choices")
        if row["contestant"] != "squareone"
    ]
    for row in tables("classification"):
        ours, theirs = float(row["test error"]), float(row["SVM: test error"])
        found.append(Point("SVM", row["set"], 1 / float(row["time ratio"]), theirs / ours))
    for row in tables("regression"):
        ours, theirs = (float(row[key].split()[0]) for key in ("test error", "SVR: test error"))
        time = float(row["SVR: search"]) / float(row["fit"])
        found.append(Point("SVM", row["set"], time, math.sqrt(theirs / ours)))
    return found


def _x(time: float) -> float:
    low, high = map(math.log, _TIMES)
    return _LEFT + (math.log(time) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)


def _y(error: float) -> float:
    low, high = map(math.log, _ERRORS)
    return _HEIGHT - _BOTTOM - (math.log(error) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, text: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {more}>{escape(text)}</text>'


def _mark(shape: str, x: float, y: float, colour: str, title: str = "") -> str:
    inside = f"<title>{escape(title)}</title>" if title else ""
    style = f'fill="{colour}" fill-opacity="0.85"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" {style}>{inside}</circle>'
    corners = {
        "square": ((-5.5, -5.5), (5.5, -5.5), (5.5, 5.5), (-5.5, 5.5)),
        "triangle": ((0, -7), (6.5, 5), (-6.5, 5)),
        "diamond": ((0, -7.5), (6.5, 0), (0, 7.5), (-6.5, 0)),
    }[shape]
    path = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{path}" {style}>{inside}</polygon>'


def _frame(colours: Colours) -> list[str]:
    """The field, its axes, and what its corners mean."""
    left, right, top, bottom = _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM
    one_x, one_y = _x(1), _y(1)
    parts = [
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{colours.paper}"/>',
        f'<rect x="{one_x:.1f}" y="{top}" width="{right - one_x:.1f}" '
        f'height="{one_y - top:.1f}" fill="{colours.worse}"/>',
    ]
    for tick in _TIME_TICKS:
        parts.append(
            f'<line x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{top}" y2="{bottom}" '
            f'stroke="{colours.ink if tick == 1 else colours.faint}"/>'
        )
        parts.append(
            _text(_x(tick), bottom + 18, f"{tick:g} ×", colours.ink, 'text-anchor="middle"')
        )
    for tick in _ERROR_TICKS:
        parts.append(
            f'<line x1="{left}" x2="{right}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}" '
            f'stroke="{colours.ink if tick == 1 else colours.faint}"/>'
        )
        parts.append(_text(left - 8, _y(tick) + 4, f"{tick:g} ×", colours.ink, 'text-anchor="end"'))
    corner = 'font-style="italic" fill-opacity="0.75"'
    end = f'{corner} text-anchor="end"'
    return [
        *parts,
        _text(right - 8, top + 18, "slower and less accurate than squareone", colours.ink, end),
        _text(right - 8, bottom - 10, "slower, more accurate", colours.ink, end),
        _text(left + 8, bottom - 10, "faster and more accurate", colours.ink, corner),
        _text(left + 8, top + 18, "faster, less accurate", colours.ink, corner),
        _text((left + right) / 2, _HEIGHT - 12, "time, search included", colours.ink,
              'text-anchor="middle"'),
        _text(0, 0, "test error", colours.ink, 'text-anchor="middle" '
              f'transform="translate(15 {(top + bottom) / 2:.0f}) rotate(-90)"'),
    ]  # fmt: skip


def chart(colours: Colours) -> str:
    """The chart as SVG."""
    found = points()
    outside = [
        point
        for point in found
        if not (_TIMES[0] <= point.time <= _TIMES[1] and _ERRORS[0] <= point.error <= _ERRORS[1])
    ]
    if outside:
        msg = f"points outside of the chart, widen its axes: {outside}"
        raise ValueError(msg)
    parts, x = _frame(colours), float(_LEFT)
    for (choice, shape), colour in zip(CHOICES.items(), colours.choices, strict=True):
        own = [point for point in found if point.choice == choice]
        label = f"{choice} ({len(own)} sets)"
        parts.append(_mark(shape, x + 8, 26, colour))
        parts.append(_text(x + 20, 31, label, colours.ink))
        x += 48 + 7.4 * len(label)
        parts += [
            _mark(shape, _x(point.time), _y(point.error), colour,
                  f"{point.set}, {choice}: time {point.time:.2g} ×, error {point.error:.2f} ×")
            for point in own
        ]  # fmt: skip
    parts.append(
        f'<circle cx="{_x(1):.1f}" cy="{_y(1):.1f}" r="5" fill="{colours.paper}" '
        f'stroke="{colours.ink}" stroke-width="2.5"/>'
    )
    parts.append(_text(_x(1) + 9, _y(1) - 9, "squareone", colours.ink, 'font-weight="600"'))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" font-size="14" '
        'font-family="system-ui, sans-serif">\n'
        "<title>Time and test error of the usual choices, over those of squareone</title>\n"
        f"{body}\n</svg>\n"
    )


def main() -> None:
    """Write the chart, light and dark."""
    FOLDER.mkdir(exist_ok=True)
    for scheme, colours in COLOURS.items():
        (FOLDER / f"chart-{scheme}.svg").write_text(chart(colours), encoding="utf-8")


if __name__ == "__main__":
    main()
