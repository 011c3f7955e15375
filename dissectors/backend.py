"""Which form of the hot path runs: compiled extensions, or the same sources as plain Python.

``AMQPSCOPE_BACKEND=python`` chooses plain Python though extensions are there, so that tests
and benchmarks can hold one against the other. The package asks for it itself, so that it holds
in every process that imports it: Spark's workers, those of tests, a user's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

VARIABLE = "AMQPSCOPE_BACKEND"
PACKAGE = "dissectors"


class SourceFinder:
    """Finds the modules of one package as sources only."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not name.startswith(PACKAGE + "."):
            return None
        for folder in path:
            spec = FileFinder(folder, (SourceFileLoader, [".py"])).find_spec(name)
            if spec is not None and spec.loader is not None:
                return spec
        return None


def choose() -> None:
    """Follow the environment; called before any other module of the package is imported."""
    if os.environ.get(VARIABLE) == "python" and SourceFinder not in sys.meta_path:
        sys.meta_path.insert(0, SourceFinder)


def describe() -> str:
    """``compiled`` or ``plain Python``, with the count when only some modules could be built."""
    if os.environ.get(VARIABLE) == "python":
        return f"plain Python, asked for by {VARIABLE}"
    wanted, built = _count_modules()
    if built == 0:
        return "plain Python"
    return "compiled" if built == wanted else f"compiled in part: {built} of {wanted} modules"


def _count_modules() -> tuple[int, int]:
    wanted = list(Path(__file__).parent.rglob("*.pxd"))
    built = sum(_has_extension(pxd) for pxd in wanted)
    return len(wanted), built


def _has_extension(pxd: Path) -> bool:
    return any(pxd.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES)
