"""Our captured frames with live numbers and names: only the fields that must differ are changed.

| performative | rewritten |
|---|---|
| open | container-id (copies), hostname (vhost), max-frame-size and idle-time-out if asked for |
| begin | remote-channel |
| attach | name (of a link that the peer began), addresses |
| flow | next-incoming-id, next-outgoing-id, windows and credit: their *limits* are as captured |
| transfer | delivery-id, txn-id, names in the message; cut to the live max-frame-size |
| disposition | first, last (several frames where live ids are not contiguous), txn-id |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dissectors.amqp10.serial import serial_add, serial_diff
from replay.engine import Engine

from .acts import Act
from .address import live_address
from .content import body_hash
from .live import NO_LIMIT, Live
from .model import credit_of, endpoint, known
from .octets import (
    NULL,
    binary_of,
    text_of,
    with_binary,
    with_text,
    with_uint,
    with_ushort,
)
from .pairs import LinkPair, OwnDelivery
from .split import split_transfer
from .transactions import transactional_state

Changes = dict[str, bytes]

_TERMINI = ("source", "target")
_ADDRESS = 0
#: of a transactional-state (1.0 §4.5.6)
_TXN_ID = 0


class Writer:
    """Builds what goes out for an act; sends nothing."""

    def __init__(self, engine: Engine, live: Live) -> None:
        self._engine = engine
        self._settings = engine.settings
        self._live = live
        self._learnt_count = 0

    def frames(self, act: Act) -> list[bytes]:
        """The frames for an act that may go; none if nothing is left of it."""
        write = _WRITERS.get(act.name)
        return [act.frame.octets] if write is None else write(self, act)

    def unknown_address(self, act: Act) -> str | None:
        """A generated address that the live peer has not made yet, if the act needs one."""
        if act.name != "attach":
            return None
        for name in _TERMINI:
            address = _address_of(act, name)
            if address is not None and live_address(self._engine.rewriter, address) is None:
                return address
        return None

    def learn_names(self) -> None:
        """Generated names that any connection has learnt meanwhile."""
        learnt = self._engine.rewriter.learnt
        if len(learnt) != self._learnt_count:
            self._learnt_count = len(learnt)
            pairs = ((old.encode(), new.encode()) for old, new in learnt.items() if old != new)
            self._live.names.generated.update(pairs)

    # -- connection and session -----------------------------------------------------------

    def _open(self, act: Act) -> list[bytes]:
        settings, frame = self._settings, act.frame
        changes: Changes = {}
        if settings.copy_no is not None:
            container = f"{frame.text('container-id')}-{settings.copy_no}"
            changes["container-id"] = with_text(frame.raw("container-id"), container)
        if settings.rewriter.vhost is not None:
            # RabbitMQ takes the virtual host from here.
            hostname = f"vhost:{settings.rewriter.vhost}"
            changes["hostname"] = with_text(frame.raw("hostname"), hostname)
        if settings.max_frame_bytes is not None:
            stated = frame.uint("max-frame-size") or NO_LIMIT
            limit = min(stated, settings.max_frame_bytes)
            changes["max-frame-size"] = with_uint(frame.raw("max-frame-size"), limit)
        if settings.heartbeat_s is not None:
            idle_ms = int(settings.heartbeat_s * 1000)
            changes["idle-time-out"] = with_uint(frame.raw("idle-time-out"), idle_ms)
        return [frame.with_fields(changes)]

    def _begin(self, act: Act) -> list[bytes]:
        frame, session = act.frame, act.session
        if frame.raw("remote-channel") == NULL or session is None or session.live is None:
            return [frame.octets]
        channel = known(endpoint(session.live, self._live.peer_side).channel)
        if channel is None:
            return [frame.octets]
        return [frame.with_fields({"remote-channel": with_ushort(channel)})]

    # -- links ----------------------------------------------------------------------------

    def _attach(self, act: Act) -> list[bytes]:
        frame, link = act.frame, act.link
        changes: Changes = {}
        if link is not None and link.live is not None and link.live.name is not None:
            changes["name"] = with_text(frame.raw("name"), link.live.name)
        for name in _TERMINI:
            octets = self._terminus(act, name)
            if octets is not None:
                changes[name] = octets
        return [frame.with_fields(changes)]

    def _terminus(self, act: Act, name: str) -> bytes | None:
        captured = _address_of(act, name)
        if captured is None:
            return None
        address = live_address(self._engine.rewriter, captured)
        if address is None or address == captured:
            return None
        if captured not in self._engine.rewriter.learnt:
            self._live.names.whole[captured.encode()] = address.encode()
        terminus = act.frame.composite(name)
        assert terminus is not None
        return terminus.octets({_ADDRESS: with_text(terminus.item(_ADDRESS), address)})

    def _flow(self, act: Act) -> list[bytes]:
        frame, session = act.frame, act.session
        if session is None or session.live is None:
            return [frame.octets]
        changes = self._windows(act)
        link = act.link
        if link is not None and link.live is not None:
            changes |= self._own_credit(act, link) if link.is_own_sender else _grant(act, link)
        return [frame.with_fields(changes)]

    def _windows(self, act: Act) -> Changes:
        """1.0 §2.5.6: ids as they are live; a window that reaches at least as far as captured."""
        assert act.session is not None
        frame, session = act.frame, act.session.live
        own, peer = (endpoint(session, s) for s in (self._live.side, self._live.peer_side))
        changes: Changes = {}
        outgoing = known(own.next_outgoing_id)
        if outgoing is not None:
            changes["next-outgoing-id"] = with_uint(frame.raw("next-outgoing-id"), outgoing)
        incoming = known(peer.next_outgoing_id) if peer.has_begun else None
        if incoming is None:
            changes["next-incoming-id"] = NULL
            return changes
        changes["next-incoming-id"] = with_uint(frame.raw("next-incoming-id"), incoming)
        window, start = frame.uint("incoming-window"), known(peer.initial_outgoing_id)
        if window is not None and act.window_limit is not None and start is not None:
            window = max(window, act.window_limit - serial_diff(incoming, start))
            window = min(window, NO_LIMIT)
            changes["incoming-window"] = with_uint(frame.raw("incoming-window"), window)
        return changes

    def _own_credit(self, act: Act, link: LinkPair) -> Changes:
        """As the sender: our own count, and what credit that leaves; all of it is given up where
        the capture shows so (1.0 §2.6.7, drain)."""
        frame, live = act.frame, link.live
        assert live is not None
        limit, count, credit = known(live.limit), known(live.delivery_count), credit_of(live)
        if limit is None or count is None or credit is None:
            return {}
        if act.gives_up and credit > 0:
            count, credit = limit, 0
        changes = {"delivery-count": with_uint(frame.raw("delivery-count"), count)}
        if frame.raw("link-credit") != NULL:
            changes["link-credit"] = with_uint(frame.raw("link-credit"), max(credit, 0))
        return changes

    # -- messages -------------------------------------------------------------------------

    def _transfer(self, act: Act) -> list[bytes]:
        frame, delivery = act.frame, act.delivery
        if delivery is None:
            return [frame.octets]
        changes: Changes = {}
        captured_id = frame.uint("delivery-id")
        if captured_id is not None:
            if act.is_first:
                skipped = delivery.link.session.skipped_ids
                delivery.live_id = serial_add(captured_id, -skipped)
            assert delivery.live_id is not None
            changes["delivery-id"] = with_uint(frame.raw("delivery-id"), delivery.live_id)
        self._in_transaction(act, changes)
        payload = self._payload(act, delivery)
        return split_transfer(frame.with_fields(changes, payload), self._live.max_frame_bytes)

    def _payload(self, act: Act, delivery: OwnDelivery) -> bytes | None:
        """The part of the message that this frame carries; None if it is as captured."""
        if act.is_first:
            self.learn_names()
            names = self._live.names
            if names.whole or names.generated or self._live.txns:
                self._rename(delivery)
        if delivery.payloads is None:
            return None
        return delivery.payloads.pop(0)

    def _rename(self, delivery: OwnDelivery) -> None:
        """Names in the whole message, then the same cuts: the last frame takes the difference."""
        parts = [frame.payload for frame in delivery.frames]
        captured = b"".join(parts)
        names = self._live.names
        if delivery.link.captured.is_coordinator:
            names = self._live.transaction_names()
        payload = names.applied(captured)
        if payload == captured:
            return
        before, after = body_hash(captured), body_hash(payload)
        if before != after:
            self._engine.body_hashes[after] = before
        delivery.payloads = []
        at = 0
        for part in parts[:-1]:
            delivery.payloads.append(payload[at : at + len(part)])
            at += len(part)
        delivery.payloads.append(payload[at:])

    def _in_transaction(self, act: Act, changes: Changes) -> None:
        """The live txn-id in a transactional-state (1.0 §4.5.6)."""
        state = transactional_state(act.frame.raw("state"))
        if state is None:
            return
        live = self._live.txns.get(binary_of(state.item(_TXN_ID)) or b"")
        if live is not None:
            changes["state"] = state.octets({_TXN_ID: with_binary(state.item(_TXN_ID), live)})

    def _disposition(self, act: Act) -> list[bytes]:
        frame = act.frame
        changes: Changes = {}
        self._in_transaction(act, changes)
        known_ids = [d.live_id for d in (act.peer or act.ours) if d.live_id is not None]
        if not act.peer and not act.ours:
            # It speaks of deliveries that the capture does not show.
            return []
        frames = []
        for first, last in runs(known_ids):
            changes["first"] = with_uint(frame.raw("first"), first)
            if first != last or frame.raw("last") != NULL:
                changes["last"] = with_uint(frame.raw("last"), last)
            frames.append(frame.with_fields(changes))
        return frames


def runs(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Delivery-ids as ranges without holes, in serial order (1.0 §2.7.6)."""
    found: list[tuple[int, int]] = []
    for number in ids:
        if found and number == serial_add(found[-1][1], 1):
            found[-1] = (found[-1][0], number)
        elif not found or number != found[-1][1]:
            found.append((number, number))
    return found


def _address_of(act: Act, name: str) -> str | None:
    terminus = act.frame.composite(name)
    return None if terminus is None else text_of(terminus.item(_ADDRESS))


def _grant(act: Act, link: LinkPair) -> Changes:
    """As the receiver: credit up to the captured limit, whatever has come by now."""
    frame, live = act.frame, link.live
    assert live is not None
    if act.limit is None or frame.raw("link-credit") == NULL:
        return {}
    start, count = known(live.initial_delivery_count), known(live.delivery_count)
    if start is None or count is None:
        return {"delivery-count": NULL}
    credit = max(0, act.limit - serial_diff(count, start))
    return {
        "delivery-count": with_uint(frame.raw("delivery-count"), count),
        "link-credit": with_uint(frame.raw("link-credit"), credit),
    }


_WRITERS: dict[str, Callable[[Writer, Act], list[bytes]]] = {
    "open": Writer._open,
    "begin": Writer._begin,
    "attach": Writer._attach,
    "flow": Writer._flow,
    "transfer": Writer._transfer,
    "disposition": Writer._disposition,
}
