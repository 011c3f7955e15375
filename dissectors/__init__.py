"""What the wire says: captures in, tables out. ``dissectors.open`` is the front door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors import backend

if TYPE_CHECKING:
    from dissectors.pipeline import Dissection

backend.choose()


def open(paths, options=None) -> Dissection:
    """Dissect captures: iterate over (table name, Arrow record batch), streaming."""
    from dissectors.pipeline import Dissection

    return Dissection(paths, options)
