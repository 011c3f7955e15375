"""What a step of the client waits for: replies, confirms, deliveries, as the capture had them.

A gate is asked again and again until it opens; one that stays shut too long is given up, which
marks what never came so that nobody waits for it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.engine09.channel import ChannelState
from replay.engine09.parts import Part

# Steps after which what has not come yet never will: they wait for all that the capture shows.
CLOSING = frozenset({"channel.close", "connection.close", "basic.cancel"})
# Steps that a delivery captured before may have caused (a reply to a request, say).
CAUSED = frozenset({"basic.publish"})
# basic.recover sends deliveries again: those before it must have come.
RECOVERING = frozenset({"basic.recover", "basic.recover-async"})


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a step cannot go, and how to go on without it."""

    reason: str
    give_up: Callable[[], str]
    # Given up only by the run's own limit: the live server asked us to stop.
    is_firm: bool = False


class Gates:
    """The gates of one connection."""

    def __init__(self, channels: dict[int, ChannelState], causality: str) -> None:
        self._channels = channels
        self._is_windowed = causality in ("window", "strict")
        self._is_strict = causality == "strict"
        self.blocked_reason: str | None = None

    def wait(self, part: Part) -> Wait | None:
        """What this step still waits for; None = it may go."""
        name = part.name
        own = self._channels.get(part.channel)
        if own is not None and own.is_closing:
            return self._own_close(own)
        is_closing = name in CLOSING
        is_everything = self._is_strict or name == "connection.close"
        for state in self._channels.values():
            if state.is_dead:
                continue
            is_own = state is own or state.number == 0
            if state.awaited and (is_own or self._is_windowed or is_closing):
                return self._reply(state)
            if state.captured.count > state.live.count and (
                is_everything
                or (is_own and (is_closing or name in RECOVERING))
                or (self._is_windowed and name in CAUSED)
            ):
                return self._deliveries(state)
            if state.captured_window is not None and (is_own or is_everything):
                found = self._window(state, is_closing)
                if found is not None:
                    return found
        if name == "basic.publish":
            if self.blocked_reason is not None:
                return Wait(f"connection.unblocked ({self.blocked_reason})", lambda: "", True)
            if own is not None and own.is_flow_stopped:
                return Wait(f"channel.flow on channel {own.number}", lambda: "", True)
        return None

    def wait_rest(self) -> Wait | None:
        """What the capture still shows after our last step."""
        for state in self._channels.values():
            if state.is_dead:
                continue
            if state.awaited:
                return self._reply(state)
            if state.captured.count > state.live.count:
                return self._deliveries(state)
            found = self._window(state, True)
            if found is not None:
                return found
        return None

    def _reply(self, state: ChannelState) -> Wait:
        part = state.awaited[0]

        def give_up() -> str:
            state.awaited.clear()
            state.requests.clear()
            return f"no {part.name} came on channel {state.number}"

        return Wait(f"{part.name} on channel {state.number}", give_up)

    def _own_close(self, state: ChannelState) -> Wait:
        def give_up() -> str:
            state.is_closing = False
            return f"no channel.close-ok came on channel {state.number}"

        return Wait(f"channel.close-ok on channel {state.number}", give_up)

    def _deliveries(self, state: ChannelState) -> Wait:
        missing = state.captured.count - state.live.count

        def give_up() -> str:
            short = state.captured.count - state.live.count
            state.live.count = state.captured.count
            return f"{short} deliveries did not come on channel {state.number}"

        return Wait(f"{missing} more deliveries on channel {state.number}", give_up)

    def _window(self, state: ChannelState, is_closing: bool) -> Wait | None:
        """No more publishes may be unconfirmed than the capture had at this point."""
        live, captured = state.live_window, state.captured_window
        if live is None or captured is None or not (self._is_windowed or is_closing):
            return None
        surplus = len(live.waiting) - len(captured.waiting)
        if surplus <= 0:
            return None

        def give_up() -> str:
            for number in list(live.waiting)[:surplus]:
                del live.waiting[number]
            return f"{surplus} publishes on channel {state.number} were not confirmed"

        return Wait(f"{surplus} confirms on channel {state.number}", give_up)
