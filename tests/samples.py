"""The sample captures and what is true of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """Entries of the manifest by file name."""
    with open(SAMPLES / "manifest.json", encoding="utf-8") as file:
        return {entry["file"]: entry for entry in json.load(file)["captures"]}


def sample_names() -> list[str]:
    return list(manifest())


def sample_path(name: str) -> str:
    """Path of a sample by its file name, or by the number that its name begins with."""
    if name in manifest():
        return str(SAMPLES / name)
    (found,) = (n for n in manifest() if n.startswith(name + "_"))
    return str(SAMPLES / found)
