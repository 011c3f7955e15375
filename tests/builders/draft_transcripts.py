"""The transcripts of "AMQP 1.0 Discussion Paper: Broker Behaviour" (2010-06-29) as captures.

No peer speaks the 2010 draft any more, so these samples are made with our own encoder, frame by
frame as the paper prints them; ``python -m tests.builders.draft_transcripts`` writes them. What
the paper assumes (an open connection and session) or elides (the messages) is added. Tables 4 and
5 end with the link; the transfers after it follow the text around them (§2.3.11). Three slips of
the paper are mended: the flow of table 8 has the client's handle for the link (11, not 5), the
declare's field is called global-id as in the draft, and fragments have a fragment-offset.
"""

from __future__ import annotations

from collections.abc import Callable

from dissectors.amqp10.draft.encode import make
from dissectors.amqp10.types import Described
from tests.builders.draft_talk import (
    RECEIVER,
    SENDER,
    Transcript,
    accepted,
    extent,
    in_transaction,
    message,
    request,
)
from tests.samples import SAMPLES

# Outcome symbols as each table of the paper spells them.
ACCEPT, ACCEPTED_MAP = "amqp:accept:map", "amqp:accepted:map"
LOCAL = "amqp:local-transactions"
ALL_MODES = [LOCAL, "amqp:distributed-transactions", "amqp:promotable-transactions"]


def publish(said: Transcript) -> Transcript:
    """Table 3: settling a transfer with the low water mark."""
    source = make("source", outcomes=[ACCEPT], default_outcome=make("accepted"))
    linkage = make("linkage", source=source, target=make("target", address="my_topic"))
    said.client(
        "attach",
        name="publish-link-1234",
        handle=4,
        role=SENDER,
        local=linkage,
        flow_state=make(
            "flow-state", unsettled_lwm=1, session_credit=10, transfer_count=0, drain=False
        ),
        max_message_size=0,
        error_mode="detach",
    )
    said.broker(
        "attach",
        name="publish-link-1234",
        handle=5,
        role=RECEIVER,
        local=linkage,
        remote=linkage,
        flow_state=make(
            "flow-state", unsettled_lwm=1, session_credit=10, transfer_count=0, link_credit=10
        ),
        expiry_policy="session",
        timeout=0,
        transfer_unit=0,
        max_message_size=0,
        error_mode="detach",
    )
    said.client(
        "transfer",
        handle=4,
        delivery_tag=b"delivery123",
        transfer_id=1,
        settled=False,
        flow_state=make(
            "flow-state",
            unsettled_lwm=1,
            session_credit=9,
            transfer_count=1,
            link_credit=9,
            drain=False,
        ),
        resume=False,
        more=False,
        aborted=False,
        batchable=False,
        fragments=message(1, b"a publish"),
    )
    said.broker(
        "flow",
        handle=5,
        flow_state=make(
            "flow-state", unsettled_lwm=2, session_credit=10, transfer_count=1, link_credit=9
        ),
    )
    return said.close()


def _consume(said: Transcript, name: str, source: Described) -> None:
    """The two attaches of tables 4 and 5, and credit."""
    linkage = make("linkage", source=source)
    said.client("attach", name=name, handle=15, role=RECEIVER, local=linkage)
    said.broker(
        "attach",
        name=name,
        handle=11,
        role=SENDER,
        local=linkage,
        remote=linkage,
        flow_state=make("flow-state", unsettled_lwm=0, transfer_count=0),
    )
    said.client(
        "flow",
        handle=15,
        flow_state=make(
            "flow-state", unsettled_lwm=0, session_credit=20, transfer_count=0, link_credit=10
        ),
    )


def _source(address: str, mode: str, default: str, outcomes: str) -> Described:
    return make(
        "source",
        address=address,
        distribution_mode=mode,
        default_outcome=make(default),
        outcomes=[outcomes],
    )


def subscribe(said: Transcript) -> Transcript:
    """Table 4 and §2.3.11.1: settled when sent, by a disposition, by the low water mark."""
    _consume(said, "subscribe-link-1234", _source("my_topic", "copy", "accepted", ACCEPT))
    said.broker(
        "transfer",
        handle=11,
        delivery_tag=b"0",
        transfer_id=0,
        settled=True,
        state=accepted(),
        fragments=message(0, b"news"),
    )
    for number, text in ((1, b"more news"), (2, b"last news")):
        said.broker(
            "transfer",
            handle=11,
            delivery_tag=b"%d" % number,
            transfer_id=number,
            settled=False,
            state=accepted(),
            fragments=message(number, text),
        )
    said.client("disposition", role=RECEIVER, extents=extent(1, 15, True, accepted()))
    said.client(
        "flow",
        handle=15,
        flow_state=make(
            "flow-state", unsettled_lwm=3, session_credit=20, transfer_count=3, link_credit=7
        ),
    )
    return said.close()


def consume(said: Transcript) -> Transcript:
    """Table 5 and §2.3.7: what is left unsettled is released, the source's default outcome."""
    source = _source("my_queue", "move", "released", ACCEPT)
    linkage = make("linkage", source=source)
    _consume(said, "consume-link-1234", source)
    for number, text in ((0, b"job"), (1, b"job not done")):
        said.broker(
            "transfer",
            handle=11,
            delivery_tag=b"%d" % number,
            transfer_id=number,
            settled=False,
            state=accepted(),
            fragments=message(number, text),
        )
    said.client("disposition", role=RECEIVER, extents=extent(0, 15, True, accepted()))
    said.client("detach", handle=15, remote=linkage)
    said.broker("detach", handle=11)
    return said.close()


def _coordinate(said: Transcript) -> None:
    """The link to the coordinator, as tables 6 to 8 begin."""
    asked = make("linkage", target=make("coordinator", capabilities=[LOCAL]))
    said.client("attach", name="txn-link-1234", handle=4, role=SENDER, local=asked)
    said.broker(
        "attach",
        name="txn-link-1234",
        handle=5,
        role=RECEIVER,
        remote=asked,
        local=make("linkage", target=make("coordinator", capabilities=ALL_MODES)),
    )


def _declare(said: Transcript, tag: bytes, number: int, txn_id: bytes) -> None:
    said.client(
        "transfer",
        handle=4,
        delivery_tag=tag,
        transfer_id=number,
        settled=False,
        state=accepted(),
        fragments=request("declare"),
    )
    said.broker(
        "disposition", role=RECEIVER, extents=extent(number, 5, True, accepted(txn_id=txn_id))
    )


def _discharge(said: Transcript, tag: bytes, number: int, txn_id: bytes, answer: Described) -> None:
    said.client(
        "transfer",
        handle=4,
        delivery_tag=tag,
        transfer_id=number,
        settled=False,
        state=in_transaction(txn_id),
        fragments=request("discharge", fail=False),
    )
    said.broker("disposition", role=RECEIVER, extents=extent(number, 5, True, answer))


def transactional_publish(said: Transcript) -> Transcript:
    """Table 6."""
    _coordinate(said)
    _declare(said, b"begin321", 16, b"txn1234")
    source = make("source", outcomes=[ACCEPTED_MAP], default_outcome=make("accepted"))
    linkage = make("linkage", source=source, target=make("target", address="my_topic"))
    said.client("attach", name="my-link-1234", handle=11, role=SENDER, local=linkage)
    said.broker(
        "attach", name="my-link-1234", handle=12, role=RECEIVER, local=linkage, remote=linkage
    )
    said.client(
        "transfer",
        handle=11,
        delivery_tag=b"message123",
        transfer_id=17,
        settled=False,
        state=in_transaction(b"txn1234"),
        fragments=message(17, b"all or nothing"),
    )
    _discharge(said, b"commit123", 18, b"txn1234", accepted(txn_id=b"txn1234"))
    said.broker("disposition", role=RECEIVER, extents=extent(17, 12, True, accepted()))
    return said.close()


def _consume_in_transaction(said: Transcript, link_credit: int) -> None:
    """The link that tables 7 and 8 consume from."""
    source = _source("my_queue", "move", "released", ACCEPTED_MAP)
    asked = make("linkage", source=source, target=make("target"))
    said.client(
        "attach",
        name="my-link-1234",
        handle=11,
        role=RECEIVER,
        transfer_unit=0,
        flow_state=make("flow-state", link_credit=link_credit),
        local=asked,
    )
    said.broker(
        "attach",
        name="my-link-1234",
        handle=17,
        role=SENDER,
        remote=asked,
        local=make("linkage", source=source, target=make("target", address="my_topic")),
    )


def transactional_accept(said: Transcript) -> Transcript:
    """Table 7."""
    _coordinate(said)
    _consume_in_transaction(said, 10)
    said.broker(
        "transfer",
        handle=17,
        delivery_tag=b"my-link-1234-0",
        transfer_id=0,
        settled=False,
        fragments=message(0, b"to be accepted"),
    )
    _declare(said, b"begin654", 16, b"txn2345")
    said.client(
        "disposition", role=RECEIVER, extents=extent(0, 11, False, accepted(txn_id=b"txn2345"))
    )
    _discharge(said, b"commit654", 18, b"txn2345", accepted())
    said.broker("disposition", role=SENDER, extents=extent(0, 17, True, accepted()))
    return said.close()


def transactional_acquire(said: Transcript) -> Transcript:
    """Table 8; the capture ends where the paper does, with the message acquired."""
    _coordinate(said)
    _consume_in_transaction(said, 0)
    _declare(said, b"begin765", 32, b"txn5432")
    said.client(
        "flow",
        handle=11,
        options={"txn-id": b"txn5432"},
        flow_state=make("flow-state", link_credit=1, drain=True),
    )
    said.broker(
        "transfer",
        handle=17,
        delivery_tag=b"my-link-1234-0",
        transfer_id=0,
        settled=False,
        state=in_transaction(b"txn5432"),
        fragments=message(0, b"acquired"),
    )
    _discharge(said, b"commit765", 33, b"txn5432", accepted())
    return said


TRANSCRIPTS: dict[str, Callable[[Transcript], Transcript]] = {
    "34a_10draft_publish_low_water_mark.pcap": publish,
    "34b_10draft_subscribe.pcap": subscribe,
    "34c_10draft_consume.pcap": consume,
    "34d_10draft_transactional_publish.pcap": transactional_publish,
    "34e_10draft_transactional_accept.pcap": transactional_accept,
    "34f_10draft_transactional_acquire.pcap": transactional_acquire,
}


def capture(name: str) -> bytes:
    """The octets of a sample by its file name."""
    return TRANSCRIPTS[name](Transcript(list(TRANSCRIPTS).index(name))).octets()


def main() -> None:
    for name in TRANSCRIPTS:
        (SAMPLES / name).write_bytes(capture(name))


if __name__ == "__main__":
    main()
