"""Replay of the 0-9 family (0-8, 0-9, 0-9-1): the client's side against a live broker, and the
server's side for a live client. No I/O: see `replay.engine` for the contract.
"""

from __future__ import annotations

from replay.engine import Engine, Settings
from replay.script import ConversationScript


def make_engine(conversation: ConversationScript, role: str, settings: Settings) -> Engine:
    """The engine that plays this role."""
    if role == "client":
        from replay.engine09.client import ClientEngine09

        return ClientEngine09(conversation, role, settings)
    from replay.engine09.server import ServerEngine09

    return ServerEngine09(conversation, role, settings)
