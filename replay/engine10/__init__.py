"""Replay of AMQP 1.0: one engine for both sides of a connection."""

from __future__ import annotations

from replay.engine import Engine, Settings
from replay.script import ConversationScript


def make_engine(conversation: ConversationScript, role: str, settings: Settings) -> Engine:
    """The engine for a captured AMQP 1.0 connection."""
    from .engine import Engine10

    return Engine10(conversation, role, settings)
