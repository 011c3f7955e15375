"""A terminal session as an SVG picture. Knows text and colours, nothing of what is said."""

from __future__ import annotations

from html import escape

_CHARACTER, _LINE, _MARGIN, _BAR = 8.4, 19, 18, 34
_FIRM_SPACE = "\u00a0"
# What a line begins with → its colour; the first that fits counts.
_COLOURS = (
    ("$", "#7ee787"),
    ("    →", "#79c0ff"),
    ("    ←", "#d2a8ff"),
    ("    !", "#ffa657"),
    ("Problems  error", "#ff7b72"),
    ("          error", "#ff7b72"),
    ("          every byte", "#7ee787"),
)
_PLAIN = "#e6edf3"


def terminal_svg(lines: list[str]) -> str:
    width = round(max(len(line) for line in lines) * _CHARACTER) + 2 * _MARGIN
    height = _BAR + len(lines) * _LINE + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>',
    ]
    for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        parts.append(f'<circle cx="{_MARGIN + 18 * number}" cy="17" r="6" fill="{colour}"/>')
    parts.append('<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">')
    for number, line in enumerate(lines):
        place = f'x="{_MARGIN}" y="{_BAR + 14 + number * _LINE}"'
        # Each line is told its length, so that the columns stand whatever the font.
        length = f'textLength="{round(len(line) * _CHARACTER)}"' if line.strip() else ""
        # Browsers join spaces, whatever xml:space says, and would stretch the rest over the length.
        text = escape(line).replace(" ", _FIRM_SPACE)
        parts.append(f'<text {place} {length} fill="{_colour(line)}">{text}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _colour(line: str) -> str:
    return next((colour for start, colour in _COLOURS if line.startswith(start)), _PLAIN)
