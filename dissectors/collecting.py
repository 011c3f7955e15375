"""How often Python looks for cycles among its objects while captures are dissected."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS_PER_COLLECTION = 100_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Rows and messages are freed by count; the search for cycles would find nearly none."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_PER_COLLECTION, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def spare_what_is_loaded() -> None:
    """Modules stay for good: no later search looks at them. For a process that does one task
    after the other and searches after each; it was forked, and a search would copy their pages."""
    if not gc.get_freeze_count():
        gc.freeze()
