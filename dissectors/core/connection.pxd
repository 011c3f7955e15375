cimport cython

from dissectors.core.rows cimport RowBuffer
from dissectors.sink cimport Sink

@cython.final
cdef class Connection:
    cdef public str connection_id
    cdef public str client
    cdef public str server
    cdef public Sink sink
    cdef public object options
    cdef public bint has_payloads
    cdef public dict facts
    cdef public RowBuffer frames
    cdef public RowBuffer transfers
    cdef public Py_ssize_t frames_batch
    cdef public long long frames_code
    cdef public Py_ssize_t transfers_batch
    cdef public long long transfers_code
    cdef public bint is_client_known
    cdef public long long direction_0
    cdef public long long direction_1
    cdef public long long frame_no
    cdef public long long session_count
    cdef public long long link_count
    cdef public long long transfer_count
    cdef public long long decoded_bytes
    cdef public long long skipped_bytes
    cdef public long long missing_bytes
    cdef public long long leftover_bytes

    cpdef Py_ssize_t frame_row(
        self, int side, long long ts_ns, long long packet_no, long long first_packet_no,
        long long offset, long long size) except -1
    cpdef Py_ssize_t transfer_row(self) except -1
    cpdef long long direction(self, int side) noexcept
    cpdef long long next_session(self) noexcept
    cpdef long long next_link(self) noexcept
    cpdef long long next_transfer(self) noexcept
    cpdef int skip(self, long long count) noexcept
    cpdef int uncount(self, long long count) noexcept
