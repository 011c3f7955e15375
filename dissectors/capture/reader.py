"""What the readers of all capture formats share: a sliding window of bytes and the problems.

A reader walks one file. After ``advance`` its attributes describe the packet: ``buf`` holds it at
``start`` to ``end``. It knows no link layer.
"""

import cython

from dissectors.capture.links import LINK_TYPES

# Largest packet that tcpdump and Wireshark write unless a file declares more.
MAX_PACKET_BYTES = 256 * 1024
# Even if a file declares more: the size of a window must not be dictated by four bytes.
MAX_DECLARED_PACKET_BYTES = 64 * 1024 * 1024
# How far ahead a broken place is judged by what follows it.
LOOKAHEAD_BYTES = 1024 * 1024
# Broken places told one by one in a file; the rest is told as a sum.
MAX_PROBLEMS_PER_FILE = 100
# As many as ``words`` has room for.
MAX_WORDS = cython.declare(cython.int, 8)
MAX_TS_NS = 0x7FFFFFFFFFFFFFFF


class Reader:
    """One capture file being read. ``order_ns`` never falls: the highest time so far."""

    def __init__(self, stream, capture: str, report, secrets: list) -> None:
        self.stream = stream
        self.capture = capture
        self.report = report
        self.secrets = secrets
        self.buf = b""
        self.pos = 0
        self.limit = 0
        self.window_offset = 0
        self.is_at_eof = 0
        self.is_big_endian = 0
        self.ts_ns = 0
        self.order_ns = 0
        self.packet_no = 0
        self.start = 0
        self.end = 0
        self.wire_length = 0
        self.link_type = 0
        self.file_index = 0
        self.problem_count = 0
        self.backwards_count = 0
        self.backwards_packet_no = 0
        self.is_closed = False

    def advance(self) -> cython.int:
        """Move to the next packet; 0 at the end of the file."""
        raise NotImplementedError

    def fill(self, need: cython.Py_ssize_t) -> cython.int:
        """Have ``need`` bytes in the window from ``pos`` on; 0 when the file ends before.

        May move the window: offsets are to be taken from ``pos`` again.
        """
        have: cython.Py_ssize_t
        have = self.limit - self.pos
        if have >= need:
            return 1
        if self.is_at_eof:
            return 0
        block = self.stream.read_on(have)
        parts = [block or self.buf[self.pos :]]
        if block:
            have = len(block)
        while have < need:
            block = self.stream.read()
            if not block:
                self.is_at_eof = 1
                break
            parts.append(block)
            have += len(block)
        self.buf = b"".join(parts)
        self.window_offset += self.pos
        self.pos = 0
        self.limit = have
        return have >= need

    def u32(self, pos: cython.Py_ssize_t) -> cython.longlong:
        """Unsigned 32-bit number at ``pos`` in the byte order of the file."""
        if cython.compiled:
            self.load(pos, 1)
            return self.words[0]
        buf: bytes = self.buf
        return int.from_bytes(buf[pos : pos + 4], "big" if self.is_big_endian else "little")

    def load(self, pos: cython.Py_ssize_t, count: cython.int) -> cython.int:
        """Compiled only: ``count`` numbers of 32 bits from ``pos`` on into ``words``."""
        i: cython.int
        octets: cython.p_uchar = self.buf
        b0: cython.uint
        b1: cython.uint
        b2: cython.uint
        b3: cython.uint
        if pos < 0 or count > MAX_WORDS or pos + 4 * count > len(self.buf):
            raise IndexError("octets are missing")
        octets += pos
        for i in range(count):
            b0, b1, b2, b3 = octets[0], octets[1], octets[2], octets[3]
            if self.is_big_endian:
                self.words[i] = (b0 << 24) | (b1 << 16) | (b2 << 8) | b3
            else:
                self.words[i] = (b3 << 24) | (b2 << 16) | (b1 << 8) | b0
            octets += 4
        return 0

    def note_time(self) -> cython.int:
        """Keep ``order_ns`` rising and count packets that are earlier than one before them."""
        if self.ts_ns >= self.order_ns:
            self.order_ns = self.ts_ns
        else:
            self.backwards_count += 1
            if self.backwards_packet_no == 0:
                self.backwards_packet_no = self.packet_no
        return 0

    def check_link_type(self, interface: str) -> None:
        """Say once per interface that its packets cannot be taken apart."""
        if self.link_type not in LINK_TYPES:
            self.problem(
                "capture.unknown_link_type", f"{interface} has link type {self.link_type}", 0, b""
            )

    def problem(self, code: str, detail: str, bytes_affected: int, first_bytes: bytes) -> None:
        self.problem_count += 1
        if self.problem_count <= MAX_PROBLEMS_PER_FILE:
            self.report(
                code,
                detail,
                capture=self.capture,
                packet_no=self.packet_no or None,
                bytes_affected=bytes_affected or None,
                first_bytes=first_bytes,
            )

    def close(self) -> None:
        """Release the file and tell what is only known at the end."""
        if self.is_closed:
            return
        self.is_closed = True
        self.stream.close()
        if self.stream.trouble is not None:
            code, detail = self.stream.trouble
            self.report(code, detail, capture=self.capture, packet_no=self.packet_no or None)
        if self.problem_count > MAX_PROBLEMS_PER_FILE:
            extra = self.problem_count - MAX_PROBLEMS_PER_FILE
            self.report("capture.bad_block", f"{extra} more broken places", capture=self.capture)
        if self.backwards_count:
            self.report(
                "capture.time_backwards",
                f"{self.backwards_count} packets are earlier than one before them",
                capture=self.capture,
                packet_no=self.backwards_packet_no,
            )
        if self.packet_no == 0 and self.problem_count == 0:
            self.report("capture.no_packets", "no packet in the file", capture=self.capture)
