cimport cython

from dissectors.capture.decap cimport PacketView
from dissectors.capture.source cimport PacketSource
from dissectors.flow cimport Flow
from dissectors.tcp.conversation cimport Conversation
from dissectors.tcp.half cimport HalfStream
from dissectors.tcp.recent cimport Recent

@cython.final
cdef class Tracker:
    cdef public PacketSource source
    cdef public PacketView view
    cdef public object sink
    cdef public object options
    cdef public object tls_keys
    cdef public dict sides_0
    cdef public dict sides_1
    cdef public object closing
    cdef public bint has_closing
    cdef public int side
    cdef public list slots
    cdef public Recent recent
    cdef public long long since_audit
    cdef public int file_index
    cdef public long long tcp_count
    cdef public long long foreign_count
    cdef public long long bad_packet_count
    cdef public object bad_capture
    cdef public long long packet_count
    cdef public long long unreadable_count

    cpdef Flow find(self)
    cpdef int pump(self) except -1
    cpdef bint _is_over(self, Flow flow, int side, long long order_ns) except -1
    cpdef int _sweep(self, long long order_ns) except -1
    cpdef int segment(self, long long ts_ns, long long packet_no) except -1
