"""Every problem code: its layer, severity and what is done about it.

Bad input becomes a row with one of these codes, never an exception. Severity says what it means
for the tables: ``info`` nothing is wrong with them, ``warning`` something could not be known,
``error`` bytes or messages are lost to the tables. The docs page of problems is made from here.
"""

from __future__ import annotations

from typing import NamedTuple


class ProblemCode(NamedTuple):
    code: str
    severity: str
    meaning: str
    recovery: str

    @property
    def layer(self) -> str:
        return self.code.partition(".")[0]


def _codes(*rows: tuple[str, str, str, str]) -> tuple[ProblemCode, ...]:
    return tuple(ProblemCode(*row) for row in rows)


CAPTURE = _codes(
    ("capture.truncated", "error", "the file ends inside a record or block", "kept what was whole"),
    ("capture.bad_block", "error", "a pcapng block or pcap record cannot be right", "resynced"),
    ("capture.bad_compression", "error", "the compressed data is damaged", "kept what came out"),
    ("capture.unknown_link_type", "warning", "no reader for this link type", "packets skipped"),
    ("capture.unknown_format", "error", "neither pcap nor pcapng", "file skipped"),
    ("capture.read_error", "error", "the file could not be read", "kept what was read"),
    ("capture.late", "warning", "a file came after its time had been finished", "read by itself"),
    ("capture.empty", "error", "the file holds not a single byte", "file skipped"),
    ("capture.no_packets", "info", "the file holds no packet", "none needed"),
    (
        "capture.bad_packet",
        "warning",
        "headers of a packet do not fit its length",
        "packet skipped",
    ),
    ("capture.fragment_lost", "warning", "an IP datagram misses fragments", "datagram skipped"),
    ("capture.fragment_limit", "warning", "too many IP fragments waiting", "oldest dropped"),
    ("capture.time_backwards", "info", "packets are not in order of time", "order of file kept"),
)

TCP = _codes(
    ("tcp.gap", "error", "stream bytes are not in the capture", "went on after the gap"),
    ("tcp.snaplen", "error", "packet cut by the capture's snap length", "treated as a gap"),
    (
        "tcp.overlap_conflict",
        "warning",
        "a retransmission differs from the first copy",
        "kept first",
    ),
    ("tcp.before_start", "warning", "data older than the first byte seen", "ignored"),
    ("tcp.out_of_window", "warning", "a segment far ahead of the stream", "ignored"),
    ("tcp.buffer_limit", "error", "too many bytes wait for a missing one", "declared a gap"),
    ("tcp.connection_limit", "warning", "too many open connections", "closed the idlest"),
    ("tcp.after_end", "info", "data after FIN or RST", "ignored"),
)

DETECT = _codes(
    ("detect.refused_version", "warning", "the server refused the protocol version", "none needed"),
    ("detect.http", "warning", "an HTTP request was sent to the port", "stream skipped"),
    ("detect.not_amqp", "warning", "no AMQP found on an AMQP port", "stream skipped"),
)

FRAME = _codes(
    ("frame.buffer_limit", "error", "too many bytes wait in all connections", "frame skipped"),
    ("frame.garbage", "error", "bytes that are no frame", "searched for the next frame"),
    ("frame.hopeless", "error", "garbage again and again", "rest of the stream skipped"),
    ("frame.cut_by_gap", "error", "a frame lost its end or its start to a gap", "frame skipped"),
    ("frame.holed", "error", "bytes inside a frame are missing", "kept what was seen"),
    ("frame.too_large", "error", "a frame is larger than the limit kept in memory", "not decoded"),
    ("frame.leftover", "info", "the capture ends inside a frame", "none needed"),
    (
        "frame.bug",
        "error",
        "the decoder failed on this frame; please report",
        "frame kept undecoded",
    ),
)

FRAME09 = _codes(
    ("frame09.bad_end_octet", "error", "a frame does not end with 0xCE", "named, not applied"),
    ("frame09.oversized", "warning", "a frame is larger than the frame-max agreed", "kept"),
    ("frame09.unknown_type", "error", "a frame type that the dialect does not have", "not decoded"),
    ("frame09.bad_heartbeat", "warning", "a heartbeat with a channel or a payload", "ignored"),
    ("frame09.bad_trace", "warning", "a trace frame on a channel", "kept"),
    ("frame09.short_request", "error", "a request frame without its numbers", "not decoded"),
    ("frame09.short_response", "error", "a response frame without its numbers", "not decoded"),
    ("method09.unknown", "error", "class and method that the dialect does not have", "not decoded"),
    ("method09.short", "error", "a method ends inside its arguments", "not applied"),
    ("method09.long", "warning", "octets behind a method's arguments", "ignored"),
    ("method09.channel", "error", "a method on a channel where it cannot be", "not applied"),
    ("type09.field_table", "warning", "a field table that no type system reads", "kept as octets"),
)

CONTENT09 = _codes(
    ("content09.bad_header", "error", "a content header without its fixed part", "not applied"),
    (
        "content09.bad_properties",
        "error",
        "properties end before they should",
        "kept what was read",
    ),
    ("content09.unknown_properties", "warning", "property flags of no known property", "kept"),
    ("content09.channel_zero", "error", "content on channel 0", "not applied"),
    ("content09.wrong_class", "warning", "a header of another class than its method", "kept"),
    ("content09.weight", "warning", "a weight where there are no child contents", "ignored"),
    ("content09.wrong_weight", "error", "fewer child contents than the weight says", "went on"),
    ("content09.unexpected_header", "error", "a content header out of order", "ignored"),
    ("content09.unexpected_body", "error", "a body out of order", "ignored"),
    ("content09.body_too_long", "error", "more body than the header says", "kept, not complete"),
    ("content09.incomplete", "error", "a content ends before its body does", "kept, not complete"),
)

STATE09 = _codes(
    ("state09.channel_not_open", "warning", "a frame on a channel that was not opened", "inferred"),
    ("state09.channel_reopened", "error", "an open channel is opened again", "old one ended"),
    ("state09.tag_reused", "error", "a delivery tag that is still unsettled", "old one unsettled"),
    ("state09.unknown_tag", "warning", "an acknowledgement of what was not seen", "noted"),
    ("state09.unknown_confirm", "warning", "a confirm of what was not seen", "noted"),
    ("state09.not_staged", "warning", "a file is sent that was not staged", "noted"),
    ("state09.unknown_reference", "warning", "a body by a reference that is not open", "no body"),
    ("limit09.unsettled", "warning", "too many unsettled messages", "oldest written as they are"),
    ("limit09.transaction", "warning", "too much in one transaction", "oldest written as it is"),
    ("limit09.references", "warning", "too many open references", "oldest closed"),
)

FRAME10 = _codes(
    ("frame10.unknown_performative", "error", "a frame body that no frame has", "kept as JSON"),
    ("frame10.trailing_octets", "warning", "octets behind a performative", "ignored"),
    ("composite10.missing_field", "error", "a mandatory field is absent", "read as absent"),
    ("composite10.wrong_type", "error", "a field of another type", "read as absent"),
    ("composite10.bad_choice", "warning", "a value that its type does not list", "kept"),
    ("composite10.extra_field", "warning", "more fields than the type has", "ignored"),
)

TYPE10 = _codes(
    ("type10.truncated", "error", "a value runs past the octets there are", "kept as raw octets"),
    (
        "type10.unknown_constructor",
        "error",
        "a format code not in the standard",
        "kept as raw octets",
    ),
    ("type10.bad_text", "error", "octets that are no text in their encoding", "kept as raw octets"),
    ("type10.bad_boolean", "error", "a boolean that is neither 0 nor 1", "kept as raw octets"),
    ("type10.bad_count", "error", "a compound's size and count disagree", "kept what was found"),
    ("type10.odd_map", "error", "a map key without a value", "kept as raw octets"),
    ("type10.duplicate_key", "warning", "two equal keys in a map", "kept both"),
    ("type10.too_deep", "error", "values nested too deep", "kept as raw octets"),
    ("type10.too_many_values", "error", "too many values in one buffer", "kept as raw octets"),
    ("type10.more_problems", "warning", "more problems in one buffer", "not listed"),
)

MESSAGE10 = _codes(
    ("message10.unknown_section", "error", "octets that are no message section", "ignored"),
    ("message10.section_order", "warning", "sections out of order", "kept"),
    ("message10.bad_fragment", "error", "a fragment out of its place", "kept as it came"),
    ("message10.mixed_body", "error", "body sections of different kinds", "kept"),
    ("message10.too_large", "error", "a message larger than is kept", "body not read"),
)

STATE10 = _codes(
    (
        "state10.unknown_channel",
        "error",
        "a frame on a channel without session",
        "session inferred",
    ),
    ("state10.channel_in_use", "error", "begin on a channel that is in use", "session replaced"),
    ("state10.bad_remote_channel", "error", "a begin answers one that was not sent", "kept"),
    ("state10.unattached_handle", "error", "a frame with a handle without link", "link inferred"),
    ("state10.handle_in_use", "error", "attach with a handle that is in use", "link replaced"),
    ("state10.wrong_direction", "error", "a transfer from a link's receiving side", "kept"),
    ("state10.unfinished_delivery", "error", "a delivery begins inside another", "first one cut"),
    ("state10.missing_delivery_id", "error", "a first transfer without delivery-id", "kept"),
    ("state10.unknown_delivery", "warning", "a disposition of what was not sent", "ignored"),
    ("state10.bad_range", "error", "a disposition's range runs backwards", "ignored"),
    ("state10.bad_coordination", "error", "no declare or discharge to a coordinator", "ignored"),
    ("state10.unknown_transaction", "warning", "discharge of what was not declared", "ignored"),
    ("state10.limit", "warning", "more state than is kept", "oldest written as it stands"),
)

TLS = _codes(
    ("tls.no_keys", "info", "no key for this TLS connection", "stream skipped"),
    ("tls.unsupported_cipher", "warning", "a cipher or version we cannot open", "stream skipped"),
    ("tls.by_tshark", "info", "a cipher or version that only tshark opens", "read through tshark"),
    ("tls.decrypt_failed", "error", "no key at hand opens the records", "records skipped"),
    ("tls.alert", "warning", "a peer ended TLS with a fatal alert", "none needed"),
)

WEBSOCKET = _codes(
    ("websocket.refused", "warning", "the server refused the WebSocket", "stream skipped"),
    ("websocket.compressed", "warning", "messages are compressed", "messages skipped"),
)

PROBLEM_CODES: dict[str, ProblemCode] = {
    p.code: p
    for p in (
        *CAPTURE,
        *TCP,
        *DETECT,
        *FRAME,
        *TLS,
        *WEBSOCKET,
        *FRAME09,
        *CONTENT09,
        *STATE09,
        *FRAME10,
        *TYPE10,
        *MESSAGE10,
        *STATE10,
    )
}
