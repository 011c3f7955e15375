"""The connection that rows belong to: identity, counters and the ledger of its bytes.

Every decoder writes through it, so that the common cells of a row are filled in one place. It
knows no protocol and no TCP.
"""

import cython

from dissectors.core.rows import RowBuffer, cell_of
from dissectors.core.words import spelling, word
from dissectors.tables import FRAMES, TRANSFERS

F_CONNECTION = cython.declare(cython.int, cell_of(FRAMES, "connection_id"))
F_NO = cython.declare(cython.int, cell_of(FRAMES, "frame_no"))
F_TS = cython.declare(cython.int, cell_of(FRAMES, "ts_ns"))
F_DIRECTION = cython.declare(cython.int, cell_of(FRAMES, "direction"))
F_PACKET = cython.declare(cython.int, cell_of(FRAMES, "packet_no"))
F_FIRST_PACKET = cython.declare(cython.int, cell_of(FRAMES, "first_packet_no"))
F_OFFSET = cython.declare(cython.int, cell_of(FRAMES, "stream_offset"))
F_SIZE = cython.declare(cython.int, cell_of(FRAMES, "size_bytes"))
T_CONNECTION = cython.declare(cython.int, cell_of(TRANSFERS, "connection_id"))

SIDES = ("client", "server")


class Connection:
    """One AMQP connection. Side 0 is the client, side 1 the server (or, where nobody can tell,
    the side that was seen first is 0 and directions read ``unknown``)."""

    def __init__(
        self, connection_id: str, client: str, server: str, is_client_known: bool, sink, options
    ) -> None:
        self.connection_id = connection_id
        self.client = client
        self.server = server
        self.sink = sink
        self.options = options
        self.has_payloads = options.has_payloads
        self.facts: dict = {}
        self.frames: RowBuffer = sink.frames
        self.transfers: RowBuffer = sink.transfers
        self.frames_batch = -1
        self.frames_code = 0
        self.transfers_batch = -1
        self.transfers_code = 0
        self.is_client_known = is_client_known
        self.direction_0 = word("c2s" if is_client_known else "unknown")
        self.direction_1 = word("s2c" if is_client_known else "unknown")
        self.frame_no = 0
        self.session_count = 0
        self.link_count = 0
        self.transfer_count = 0
        self.decoded_bytes = 0
        self.skipped_bytes = 0
        self.missing_bytes = 0
        self.leftover_bytes = 0

    def frame_row(
        self,
        side: cython.int,
        ts_ns: cython.longlong,
        packet_no: cython.longlong,
        first_packet_no: cython.longlong,
        offset: cython.longlong,
        size: cython.longlong,
    ) -> cython.Py_ssize_t:
        """A fresh row in frames with identity, time and provenance filled in."""
        rows: RowBuffer = self.frames
        base: cython.Py_ssize_t = rows.new_row()
        if self.frames_batch != rows.batch_no:
            self.frames_batch = rows.batch_no
            self.frames_code = rows.text(self.connection_id)
        self.frame_no += 1
        self.decoded_bytes += size
        rows.cells[base + F_CONNECTION] = self.frames_code
        rows.cells[base + F_NO] = self.frame_no
        rows.cells[base + F_TS] = ts_ns
        rows.cells[base + F_DIRECTION] = self.direction_1 if side else self.direction_0
        rows.cells[base + F_PACKET] = packet_no
        rows.cells[base + F_FIRST_PACKET] = first_packet_no
        rows.cells[base + F_OFFSET] = offset
        rows.cells[base + F_SIZE] = size
        return base

    def transfer_row(self) -> cython.Py_ssize_t:
        """A fresh row in transfers that says whose it is."""
        rows: RowBuffer = self.transfers
        base: cython.Py_ssize_t = rows.new_row()
        if self.transfers_batch != rows.batch_no:
            self.transfers_batch = rows.batch_no
            self.transfers_code = rows.text(self.connection_id)
        rows.cells[base + T_CONNECTION] = self.transfers_code
        return base

    def direction(self, side: cython.int) -> cython.longlong:
        """The direction of what a side sends, as a word code."""
        return self.direction_1 if side else self.direction_0

    def direction_name(self, side) -> str:
        return spelling(self.direction(side))

    def side_name(self, side) -> str:
        return SIDES[side]

    def next_session(self) -> cython.longlong:
        self.session_count += 1
        return self.session_count

    def next_link(self) -> cython.longlong:
        self.link_count += 1
        return self.link_count

    def next_transfer(self) -> cython.longlong:
        self.transfer_count += 1
        return self.transfer_count

    def skip(self, count: cython.longlong) -> cython.int:
        """These bytes were seen and belong to no frame."""
        self.skipped_bytes += count
        return 0

    def uncount(self, count: cython.longlong) -> cython.int:
        """These bytes of a frame row were not seen: the gap has counted them as missing."""
        self.decoded_bytes -= count
        return 0

    def problem(
        self,
        code: str,
        detail: str,
        side,
        ts_ns,
        packet_no,
        offset=None,
        bytes_affected=None,
        first_bytes: bytes = b"",
        recovery=None,
    ) -> None:
        direction = None if side is None else self.direction_name(side)
        if code.startswith("frame.") and direction != "s2c":
            # What a client sent outside whole frames may be part of a credential.
            first_bytes = b""
        self.sink.problem(
            code,
            detail,
            connection_id=self.connection_id,
            ts_ns=ts_ns,
            packet_no=packet_no,
            direction=direction,
            stream_offset=offset,
            bytes_affected=bytes_affected,
            first_bytes=first_bytes,
            recovery=recovery,
        )
