"""The sample captures and what is true of them.

A sample is named by its whole file name or by the number that the name begins with (``23a``).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[1] / "samples"

Entry = dict[str, Any]


@cache
def manifest() -> list[Entry]:
    """What ``manifest.json`` says, one entry per file: ``file``, ``truth``, ``tshark``, …"""
    with open(SAMPLES / "manifest.json", encoding="utf-8") as file:
        return json.load(file)["captures"]


def entry(name: str) -> Entry:
    """The manifest's entry of one sample."""
    (found,) = _matching(name)
    return found


def sample(name: str) -> str:
    """Path of one sample."""
    return str(SAMPLES / entry(name)["file"])


def parts(name: str) -> list[str]:
    """Paths of all files of a rotated sample, in order."""
    return [str(SAMPLES / e["file"]) for e in _matching(name)]


def _matching(name: str) -> list[Entry]:
    exact = [e for e in manifest() if e["file"] == name]
    prefix = name.rstrip("_") + "_"
    return exact or [e for e in manifest() if e["file"].startswith(prefix)]
