"""What a frame did, for its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .transfers import Link, Transfer


@dataclass(slots=True)
class Effect:
    """The transfer and link that a frame concerns, the outcome that it states (a word's code),
    and its session where the channel is over after it."""

    transfer: Transfer | None = None
    link: Link | None = None
    outcome: int | None = None
    session_id: int | None = None
