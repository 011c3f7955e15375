"""The 1.0 engine in dialogue: both sides of every sample, and hand-made differences."""

from __future__ import annotations

import pytest

from replay.engine import CAUSALITIES, Settings
from replay.engine10.engine import Engine10
from replay.engine10.frame import Frame, make_frame
from replay.rewrite import Rewriter
from replay.script import CLIENT, SERVER, ConversationScript, read_script
from tests.replay.dialogue10 import talk
from tests.replay.script10 import Script10, message, state
from tests.samples import manifest, parts, sample

#: Captures that begin in the middle or lose bytes have tests of their own.
WHOLE = [
    entry["file"]
    for entry in manifest()
    if "_10_" in entry["file"] and entry["file"][:3] not in ("22b", "23b", "23f", "23h")
]


def conversations(name: str) -> list[ConversationScript]:
    return [c for c in read_script(sample(name)).connections if c.dialect == "1.0"]


@pytest.mark.parametrize("mode", ["wire", "semantic"])
@pytest.mark.parametrize("name", WHOLE)
def test_a_capture_agrees_with_itself(name: str, mode: str) -> None:
    """Client and server of the same capture: everything is sent, nothing is waited for in vain."""
    for conversation in conversations(name):
        found = talk(conversation, Settings(mode=mode), Settings(mode=mode))
        assert found.given_up == []
        for engine in (found.client, found.server):
            assert engine.failure is None
            assert [note for note in engine.notes if note.code != "refused"] == []
            assert engine.skipped_step_count == 0


@pytest.mark.parametrize("causality", CAUSALITIES)
@pytest.mark.parametrize("name", ["12a", "14b", "17", "18", "30"])
def test_wire_mode_sends_the_captured_octets(name: str, causality: str) -> None:
    """Against a peer that chooses the same numbers only flows may differ: they count what has
    come by then."""
    for conversation in conversations(name):
        found = talk(conversation, Settings(causality=causality), Settings(causality=causality))
        for side in (CLIENT, SERVER):
            sent = [frame.octets for frame in found.said[side] if frame.name != "flow"]
            captured = [
                step.octets
                for step in conversation.steps
                if step.side == side
                and not step.is_protocol_header
                and Frame(step.octets).name not in ("flow", "empty")
                and not Frame(step.octets).name.startswith("sasl-")
            ]
            assert sent == captured


def test_rotated_files_are_one_conversation() -> None:
    script = read_script(parts("23h"))
    found = [talk(c) for c in script.connections if c.is_complete_from_start]
    assert found and all(d.given_up == [] for d in found)


def with_frame_size(script: Script10, side: int, size: int) -> ConversationScript:
    """The same conversation, one side of which allows smaller frames."""
    conversation = script.conversation
    for place, step in enumerate(conversation.steps):
        if step.side == side and Frame(step.octets).name == "open":
            octets = make_frame("open", {"container-id": "small", "max-frame-size": size})
            conversation.steps[place] = type(step)(
                step.no, side, step.ts_ns, step.packet_no, octets
            )
    return conversation


def sending(bodies: list[bytes], settled: bool = False) -> Script10:
    script = Script10().begun().sender(credit=len(bodies))
    for number, body in enumerate(bodies):
        script.client("transfer", handle=0, delivery_id=number, delivery_tag=b"%d" % number,
                      settled=settled, payload=message(body))  # fmt: skip
    if not settled:
        last = len(bodies) - 1
        script.server("disposition", role=True, first=0, last=last, settled=True,
                      state=state("accepted"))  # fmt: skip
    return script


@pytest.mark.parametrize("mode", ["wire", "semantic"])
def test_messages_are_cut_to_the_live_peers_frame_size(mode: str) -> None:
    script = sending([b"x" * 3000, b"short"]).closed()
    small = with_frame_size(sending([b"x" * 3000, b"short"]).closed(), SERVER, 512)
    found = talk(script.conversation, Settings(mode=mode), server_script=small)
    transfers = found.frames(CLIENT, "transfer")
    assert all(len(frame.octets) <= 512 for frame in transfers)
    assert len(transfers) == 8
    assert found.given_up == [] and found.server.notes == []


def test_the_window_holds_back_the_pieces_of_a_message() -> None:
    """A window of two frames for a message that needs seven: the rest waits for a flow."""
    script = sending([b"x" * 3000]).closed()
    engine = Engine10(script.conversation, "client", Settings())
    engine.start(1)
    engine.urgent(1)
    engine.receive(b"AMQP\0\1\0\0", 1)
    engine.receive(make_frame("open", {"container-id": "s", "max-frame-size": 512}), 1)
    sent = drain(engine)
    flow = {"next-incoming-id": 0, "incoming-window": 2, "next-outgoing-id": 0,
            "outgoing-window": 9}  # fmt: skip
    engine.receive(
        make_frame("begin", {"remote-channel": 0, "next-outgoing-id": 0, "incoming-window": 2,
                             "outgoing-window": 9})
        + make_frame("attach", {"name": "out", "handle": 5, "role": True})
        + make_frame("flow", {**flow, "handle": 5, "delivery-count": 0, "link-credit": 1}), 2
    )  # fmt: skip
    sent = drain(engine)
    assert [frame.name for frame in sent[-2:]] == ["transfer", "transfer"]
    assert sum(frame.name == "transfer" for frame in sent) == 2
    assert engine.waiting_for == "the session's window"
    engine.receive(make_frame("flow", {**flow, "next-incoming-id": 2, "incoming-window": 100}), 3)
    assert [frame.name for frame in drain(engine)].count("transfer") == 5


def drain(engine: Engine10, now_ns: int = 5) -> list[Frame]:
    """Everything that the engine says until it waits."""
    found = []
    while engine.next_ts_ns is not None:
        out = engine.poll(now_ns)
        if out is None:
            break
        octets = out.octets
        while octets:
            size = int.from_bytes(octets[:4], "big")
            found.append(Frame(octets[:size]))
            octets = octets[size:]
    return found


def started(script: Script10, role: str = "client", settings: Settings | None = None) -> Engine10:
    """A client engine whose peer has opened."""
    engine = Engine10(script.conversation, role, settings or Settings())
    engine.start(1)
    engine.urgent(1)
    engine.receive(b"AMQP\0\1\0\0", 1)
    engine.receive(make_frame("open", {"container-id": "s"}), 1)
    return engine


def begin(engine: Engine10, channel: int = 0, first: int = 0) -> None:
    fields = {"remote-channel": 0, "next-outgoing-id": first, "incoming-window": 100,
              "outgoing-window": 100}  # fmt: skip
    engine.receive(make_frame("begin", fields, channel), 2)


def test_nothing_is_sent_without_credit() -> None:
    engine = started(sending([b"a", b"b", b"c"]).closed())
    drain(engine)
    begin(engine, channel=4)
    drain(engine)
    engine.receive(make_frame("attach", {"name": "out", "handle": 9, "role": True}, 4), 3)
    assert "transfer" not in [frame.name for frame in drain(engine)]
    assert engine.waiting_for == "credit on link q"
    flow = {"next-incoming-id": 0, "incoming-window": 9, "next-outgoing-id": 0,
            "outgoing-window": 9, "handle": 9, "delivery-count": 0}  # fmt: skip
    engine.receive(make_frame("flow", {**flow, "link-credit": 2}, 4), 4)
    assert [frame.uint("delivery-id") for frame in drain(engine)] == [0, 1]
    engine.skip_wait(5)
    assert "transfer" not in [frame.name for frame in drain(engine)]
    assert [note.text for note in engine.notes] == ["did not come: credit on link q"]


RECEIVED = {"handle": 0, "message_format": 0}


def receiving() -> Script10:
    """Three messages, settled with one range."""
    script = Script10().begun().receiver(credit=3)
    for number, body in enumerate((b"one", b"two", b"three")):
        script.server("transfer", **RECEIVED, delivery_id=number, delivery_tag=b"%d" % number,
                      payload=message(body))  # fmt: skip
    return script.client("disposition", role=True, first=0, last=2, settled=True,
                         state=state("accepted"))  # fmt: skip


def deliver(engine: Engine10, delivery_id: int, body: bytes, handle: int = 7) -> None:
    fields = {"handle": handle, "delivery-id": delivery_id, "delivery-tag": b"%d" % delivery_id}
    engine.receive(make_frame("transfer", fields, payload=message(body)), 6)


def attached_receiver(script: Script10) -> Engine10:
    engine = started(script)
    drain(engine)
    begin(engine)
    fields = {"name": "in", "handle": 7, "role": False, "initial-delivery-count": 40}
    engine.receive(make_frame("attach", fields), 3)
    return engine


def test_credit_is_granted_up_to_the_captured_limit() -> None:
    engine = attached_receiver(receiving().closed())
    (flow,) = (frame for frame in drain(engine) if frame.name == "flow")
    assert (flow.uint("delivery-count"), flow.uint("link-credit")) == (40, 3)


@pytest.mark.parametrize(
    ("ids", "ranges"),
    [((100, 101, 102), [(100, 102)]), ((100, 105, 106), [(100, 100), (105, 106)])],
)
def test_a_range_is_kept_or_expanded(ids: tuple[int, ...], ranges: list[tuple[int, int]]) -> None:
    engine = attached_receiver(receiving().closed())
    drain(engine)
    for delivery_id, body in zip(ids, (b"one", b"two", b"three"), strict=True):
        assert engine.waiting_for is not None
        deliver(engine, delivery_id, body)
        found = [frame for frame in drain(engine) if frame.name == "disposition"]
    assert [(frame.uint("first"), frame.uint("last")) for frame in found] == ranges


def test_deliveries_are_matched_by_content_then_by_turn() -> None:
    script = Script10().begun().receiver(credit=3)
    for number, body in enumerate((b"one", b"two", b"three")):
        script.server("transfer", **RECEIVED, delivery_id=number, delivery_tag=b"%d" % number,
                      payload=message(body))  # fmt: skip
    for number, outcome in enumerate(("accepted", "rejected", "released")):
        script.client("disposition", role=True, first=number, settled=True, state=state(outcome))
    engine = attached_receiver(script.closed())
    drain(engine)
    for delivery_id, body in ((10, b"two"), (11, b"other"), (12, b"one")):
        deliver(engine, delivery_id, body)
    found = [frame for frame in drain(engine) if frame.name == "disposition"]
    # one (accepted) came as 12, two (rejected) as 10; what is left stands for three.
    codes = [frame.composite("state").code for frame in found]  # type: ignore[union-attr]
    assert dict(zip(codes, [frame.uint("first") for frame in found], strict=True)) == {
        0x24: 12, 0x25: 10, 0x26: 11
    }  # fmt: skip


def test_a_delivery_that_does_not_come_is_given_up_once() -> None:
    engine = attached_receiver(receiving().closed())
    drain(engine)
    deliver(engine, 0, b"one")
    drain(engine)
    assert engine.waiting_for == "message 2 on link q"
    engine.skip_wait(9)
    found = drain(engine)
    assert [(f.uint("first"), f.uint("last")) for f in found if f.name == "disposition"] == [(0, 0)]
    assert [frame.name for frame in found][-1] == "close"


def test_a_dead_link_is_skipped_and_its_detach_answered() -> None:
    engine = started(sending([b"a", b"b"]).closed())
    drain(engine)
    begin(engine)
    engine.receive(make_frame("attach", {"name": "out", "handle": 1, "role": True}), 3)
    drain(engine)
    engine.receive(make_frame("detach", {"handle": 1, "closed": True}), 4)
    answer = Frame(engine.urgent(5))
    assert (answer.name, answer.uint("handle"), answer.flag("closed")) == ("detach", 0, True)
    assert [frame.name for frame in drain(engine)] == ["close"]
    assert engine.skipped_step_count == 2


def test_an_ended_session_is_answered_and_nothing_more_is_sent_on_it() -> None:
    engine = started(sending([b"a"]).closed())
    drain(engine)
    begin(engine)
    error = {"error": state("error", condition="amqp:not-found")}
    engine.receive(make_frame("end", error), 3)
    assert Frame(engine.urgent(4)).name == "end"
    assert [frame.name for frame in drain(engine)] == ["close"]


def test_a_close_of_the_peer_is_answered_and_ends_the_run() -> None:
    engine = started(sending([b"a"]).closed())
    drain(engine)
    engine.receive(make_frame("close", {}), 3)
    assert Frame(engine.urgent(4)).name == "close"
    assert engine.is_done and engine.is_closed
    assert [note.code for note in engine.notes] == ["closed"]


def test_a_lost_connection_is_a_failure() -> None:
    engine = started(sending([b"a"]).closed())
    drain(engine)
    engine.end_of_stream(3)
    assert engine.failure == "the peer closed the stream before begin came"


def test_heartbeats_follow_the_live_idle_time_out() -> None:
    engine = Engine10(Script10().begun().conversation, "client", Settings())
    engine.start(0)
    engine.urgent(0)
    engine.receive(b"AMQP\0\1\0\0", 0)
    engine.receive(make_frame("open", {"container-id": "s", "idle-time-out": 1000}), 0)
    drain(engine, 0)
    assert engine.wake_ns == 500_000_000
    assert engine.urgent(400_000_000) == b""
    assert Frame(engine.urgent(500_000_000)).name == "empty"
    assert engine.urgent(600_000_000) == b""
    assert Frame(engine.urgent(1_000_000_000)).name == "empty"


def test_a_dynamic_address_is_learnt_and_used_everywhere() -> None:
    made = "generated/abc-1"
    script = Script10().begun()
    script.client("attach", name="reply", handle=0, role=True,
                  source=state("source", dynamic=True), target=state("target"))  # fmt: skip
    script.server("attach", name="reply", handle=0, role=False, initial_delivery_count=0,
                  source=state("source", address=made, dynamic=True),
                  target=state("target"))  # fmt: skip
    script.sender(handle=1, name="requests")
    script.client("transfer", handle=1, delivery_id=0, delivery_tag=b"0",
                  payload=message(b"answer to generated/abc-1", reply_to=made))  # fmt: skip
    rewriter = Rewriter()
    engine = started(script.closed(), settings=Settings(rewriter=rewriter))
    drain(engine)
    begin(engine)
    drain(engine)
    attach = {"name": "reply", "handle": 0, "role": False, "initial-delivery-count": 0,
              "source": state("source", address="live-777", dynamic=True)}  # fmt: skip
    engine.receive(make_frame("attach", attach), 3)
    assert rewriter.learnt == {made: "live-777"}
    drain(engine)
    flow = {"next-incoming-id": 0, "incoming-window": 9, "next-outgoing-id": 0,
            "outgoing-window": 9, "handle": 1, "delivery-count": 0, "link-credit": 9}  # fmt: skip
    engine.receive(make_frame("attach", {"name": "requests", "handle": 1, "role": True})
                   + make_frame("flow", flow), 4)  # fmt: skip
    (transfer,) = (frame for frame in drain(engine) if frame.name == "transfer")
    assert transfer.payload == message(b"answer to live-777", reply_to="live-777")
    assert len(engine.body_hashes) == 1


def test_an_address_that_another_connection_must_learn_first_is_waited_for() -> None:
    rewriter = Rewriter()
    rewriter.expect("generated/abc-1")
    engine = started(
        Script10().begun().sender("generated/abc-1").closed(), settings=Settings(rewriter=rewriter)
    )
    drain(engine)
    begin(engine)
    assert drain(engine) == []
    assert engine.waiting_for == "the live name of generated/abc-1"
    rewriter.learn("generated/abc-1", "live-1")
    (attach,) = (frame for frame in drain(engine) if frame.name == "attach")
    assert b"live-1" in attach.octets


@pytest.mark.parametrize(
    ("captured", "live"),
    [
        ("orders", "t.orders"),
        ("/queue/orders", "/queue/t.orders"),
        ("/exchange/events/key.a", "/exchange/t.events/key.a"),
        ("/exchange/amq.topic/key", "/exchange/amq.topic/key"),
        ("queue://orders", "queue://t.orders"),
        ("$management", "$management"),
        ("known", "new"),
    ],
)
def test_prefix_and_map_reach_the_node_of_an_address(captured: str, live: str) -> None:
    rewriter = Rewriter("t.", {"known": "new"})
    engine = started(
        Script10().begun().sender(captured).closed(), settings=Settings(rewriter=rewriter)
    )
    drain(engine)
    begin(engine)
    (attach,) = (frame for frame in drain(engine) if frame.name == "attach")
    address = attach.composite("target").item(0)  # type: ignore[union-attr]
    assert address[2:].decode() == live


def test_copies_have_container_ids_of_their_own() -> None:
    opens = []
    for copy_no in (1, 2):
        engine = started(Script10(), settings=Settings(copy_no=copy_no))
        opens += [frame.text("container-id") for frame in drain(engine)]
    assert opens == ["c-1", "c-2"]


def test_transactions_speak_of_the_live_transaction() -> None:
    conversation = conversations("17")[0]
    changed = ConversationScript(
        conversation.connection_id, "1.0", steps=[
            type(s)(s.no, s.side, s.ts_ns, s.packet_no, _other_txn(s.octets) if s.side == SERVER
                    else s.octets)
            for s in conversation.steps
        ],
    )  # fmt: skip
    found = talk(conversation, server_script=changed)
    assert found.given_up == []
    captured = {_txn(s.octets) for s in conversation.steps if s.side == SERVER} - {None}
    used = {_txn(f.octets) for f in found.said[CLIENT]} - {None}
    assert captured and used
    assert used == {bytes(255 - octet for octet in txn) for txn in captured if txn}


def _state_of(octets: bytes) -> tuple[Frame, int] | None:
    frame = Frame(octets)
    if frame.name not in ("transfer", "disposition"):
        return None
    found = frame.composite("state")
    return None if found is None or found.code not in (0x33, 0x34) else (frame, found.code)


def _txn(octets: bytes) -> bytes | None:
    found = _state_of(octets)
    if found is None:
        return None
    composite = found[0].composite("state")
    assert composite is not None
    return composite.item(0)[2:]


def _other_txn(octets: bytes) -> bytes:
    """What a live coordinator would say: the same with another id."""
    found = _state_of(octets)
    if found is None:
        return octets
    frame, _ = found
    composite = frame.composite("state")
    assert composite is not None
    item = composite.item(0)
    other = item[:2] + bytes(255 - octet for octet in item[2:])
    return frame.with_fields({"state": composite.octets({0: other})})


def test_an_unreadable_frame_goes_out_as_it_was() -> None:
    odd = b"\x00\x00\x00\x0d\x02\x00\x00\x00\x00\x53\x99\xc0\x01"
    engine = started(Script10().octets(CLIENT, odd))
    assert drain(engine)[-1].octets == odd


def test_a_connection_that_began_before_the_capture() -> None:
    """Open and begin are made up; a link whose attach was not captured cannot be."""
    (conversation,) = conversations("22b")
    engine = Engine10(conversation, "client", Settings())
    engine.start(1)
    assert engine.urgent(1) == b"AMQP\0\1\0\0"
    engine.receive(b"AMQP\0\1\0\0", 1)
    octets = engine.urgent(2)
    assert Frame(octets[: int.from_bytes(octets[:4], "big")]).name == "open"
    codes = [note.code for note in engine.notes]
    assert codes.count("synthetic") == 3


def test_sessions_begun_in_the_capture_are_replayed_behind_a_made_up_open() -> None:
    script = Script10(has_prologue=False).begun().sender(credit=1)
    script.client("transfer", handle=0, delivery_id=0, delivery_tag=b"0", payload=message())
    engine = Engine10(script.conversation, "client", Settings())
    engine.start(1)
    engine.urgent(1)
    engine.receive(b"AMQP\0\1\0\0", 1)
    assert Frame(engine.urgent(2)).text("container-id") == "amqpscope-replay"
    engine.receive(make_frame("open", {"container-id": "s"}), 2)
    assert [frame.name for frame in drain(engine)] == ["begin"]
    begin(engine)
    assert [frame.name for frame in drain(engine)] == ["attach"]
    flow = {"next-incoming-id": 0, "incoming-window": 9, "next-outgoing-id": 0,
            "outgoing-window": 9, "handle": 0, "delivery-count": 0, "link-credit": 1}  # fmt: skip
    engine.receive(make_frame("attach", {"name": "out", "handle": 0, "role": True})
                   + make_frame("flow", flow), 3)  # fmt: skip
    assert [frame.name for frame in drain(engine)] == ["transfer"]


def server_of(script: Script10, unmatched: str) -> Engine10:
    engine = Engine10(script.conversation, "server", Settings(unmatched=unmatched))
    engine.start(1)
    engine.receive(b"AMQP\0\1\0\0", 1)
    engine.receive(make_frame("open", {"container-id": "live"}), 1)
    begin = {"next-outgoing-id": 0, "incoming-window": 9, "outgoing-window": 9}
    engine.receive(make_frame("begin", begin, 6), 2)
    engine.urgent(2)
    drain(engine)
    return engine


def test_the_mock_answers_on_the_clients_channel_and_link_name() -> None:
    engine = Engine10(Script10().begun().sender().conversation, "server", Settings())
    engine.start(1)
    engine.receive(b"AMQP\0\1\0\0", 1)
    engine.receive(make_frame("open", {"container-id": "live"}), 1)
    begin = {"next-outgoing-id": 0, "incoming-window": 9, "outgoing-window": 9}
    engine.receive(make_frame("begin", begin, 6), 2)
    (answer,) = (frame for frame in drain(engine) if frame.name == "begin")
    assert answer.ushort("remote-channel") == 6
    attach = {"name": "other-name", "handle": 3, "role": False, "initial-delivery-count": 0,
              "target": state("target", address="q")}  # fmt: skip
    engine.receive(make_frame("attach", attach, 6), 3)
    (answer,) = (frame for frame in drain(engine) if frame.name == "attach")
    assert answer.text("name") == "other-name"


@pytest.mark.parametrize(
    ("unmatched", "answers"),
    [("close", ["close"]), ("error", ["attach", "detach"]), ("ignore", [])],
)
def test_a_link_that_the_capture_does_not_have(unmatched: str, answers: list[str]) -> None:
    engine = server_of(Script10().begun().sender(), unmatched)
    attach = {"name": "n", "handle": 0, "role": False, "initial-delivery-count": 0,
              "target": state("target", address="elsewhere")}  # fmt: skip
    engine.receive(make_frame("attach", attach, 6), 3)
    octets, names = engine.urgent(4), []
    while octets:
        size = int.from_bytes(octets[:4], "big")
        names.append(Frame(octets[:size]).name)
        octets = octets[size:]
    assert names == answers
    assert "elsewhere" in engine.notes[-1].text
