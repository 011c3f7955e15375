cimport cython

from dissectors.tcp.half cimport HalfStream
from dissectors.tcp.recent cimport Recent

cdef class Listener:
    cpdef int feed(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end, long long ts_ns,
        long long packet_no, long long offset) except -1

@cython.final
cdef class Conversation:
    cdef public Listener listener
    cdef public Recent recent
    cdef public HalfStream half_0
    cdef public HalfStream half_1
    cdef public long long first_ts_ns
    cdef public long long first_packet_no
    cdef public long long last_ts_ns
    cdef public long long last_packet_no
    cdef public int client_side
    cdef public int reset_by
    cdef public long long reset_count
    cdef public long long gap_count
    cdef public bint is_waiting
    cdef public object opening
    cdef public long long closed_ts_ns
    cdef public long long syn_ts_ns
    cdef public long long handshake_rtt_ns
    cdef public long long rtt_count
    cdef public long long rtt_total_ns
    cdef public long long rtt_min_ns
    cdef public long long rtt_max_ns

    cpdef int segment(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end, long long missing,
        long long seq, long long ack, int flags, long long window, long long ts_ns,
        long long packet_no) except -1
    cpdef int ignore(self, int side, int flags, long long ts_ns) except -1
    cdef long long _acknowledge(
        self, HalfStream peer, long long ack, long long ts_ns) noexcept
    cdef int _round_trip(self, long long rtt_ns) noexcept
