"""What of ours is not sent: acts on links and sessions that are gone or were never there, and
transfers that got no credit or window. Nothing is sent that the protocol does not allow now.
"""

from __future__ import annotations

from replay.engine import Engine
from replay.script import CLIENT

from .acts import Act
from .live import Live
from .pairs import LinkPair
from .replied import has_credit, has_window


class Losses:
    """Asked before and after each wait."""

    def __init__(self, engine: Engine, live: Live) -> None:
        self._engine = engine
        self._live = live

    def is_lost(self, act: Act) -> bool:
        """Whatever it speaks of is gone, or was never there."""
        session = act.session
        if self._live.has_own_close and not act.is_afterword:
            return True
        if act.delivery is not None and act.delivery.is_skipped:
            return True
        if session is not None:
            if act.name == "begin":
                return session.is_dead and session.is_begun_by_peer
            if act.name == "end":
                return session.live is None or session.has_own_end
            if session.is_dead and not act.is_afterword:
                return True
        return act.link is not None and self._is_link_lost(act, act.link)

    def _is_link_lost(self, act: Act, link: LinkPair) -> bool:
        if act.name == "detach":
            return link.live is None or link.has_own_detach
        if act.name == "attach":
            return link.is_dead
        if link.own_attach is None:
            self._unknown_link(link)
            return True
        # Tokens of claims-based security are secrets; they are not sent again.
        return link.is_dead or (act.name == "transfer" and bool(link.captured.is_secret))

    def _unknown_link(self, link: LinkPair) -> None:
        if link.is_dead:
            return
        link.is_dead = True
        captured = link.captured
        handle = captured.handle_0 if self._engine.side == CLIENT else captured.handle_1
        self._engine.note(
            "unknown_link",
            f"handle {handle} on channel {link.session.own_channel} was attached before the "
            "capture began: its address is not known",
            "soft",
        )

    def is_owed(self, act: Act) -> bool:
        """An answer to a detach or end that the peer sent before it closed."""
        if act.name == "detach" and act.link is not None:
            return not self._is_link_lost(act, act.link)
        return act.name == "end" and not self.is_lost(act)

    def is_short(self, act: Act) -> bool:
        """Credit or window did not come in time."""
        link, session = act.link, act.session
        if act.name != "transfer" or link is None or session is None or act.is_overdraft:
            return False
        is_short = (act.is_first and not has_credit(link)) or not has_window(self._live, session)
        if is_short and act.delivery is not None:
            act.delivery.is_skipped = True
        return is_short

    def leave_out(self, act: Act) -> None:
        """What follows from not sending it."""
        delivery, session = act.delivery, act.session
        if act.is_first and session is not None and delivery is not None:
            delivery.is_skipped = True
            session.skipped_ids += 1
        if act.name == "detach" and act.link is not None:
            act.link.is_detach_due = False
        if act.name == "end" and session is not None:
            session.is_end_due = False
