"""The picture of a terminal stands as the terminal does."""

from __future__ import annotations

from xml.etree import ElementTree

from amqpscope.reports.picture import terminal_svg


def test_spaces_are_kept_by_every_browser() -> None:
    lines = ["$ a <b>", "", "    → publish  20", "Bytes     7"]
    texts = [
        e.text or "" for e in ElementTree.fromstring(terminal_svg(lines)).findall(".//{*}text")
    ]
    assert [text.replace("\u00a0", " ") for text in texts] == lines
    assert not any(" " in text for text in texts)
