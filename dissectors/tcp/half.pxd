cimport cython

@cython.final
cdef class HalfStream:
    cdef public bint is_anchored
    cdef public long long next_seq
    cdef public long long delivered
    cdef public bint has_syn
    cdef public long long syn_seq
    cdef public long long fin_offset
    cdef public long long acked
    cdef public list waiting
    cdef public Py_ssize_t waiting_bytes
    cdef public long long blocked_since_ns
    cdef public long long blocked_packets
    cdef public int far_count
    cdef public long long seen_end
    cdef public long long seen_ts_ns
    cdef public long long retransmit_count
    cdef public long long retransmit_bytes
    cdef public long long out_of_order_count
    cdef public long long keepalive_count
    cdef public long long zero_window_count
    cdef public long long zero_window_ns
    cdef public long long zero_window_since_ns
    cdef public long long sample_end
    cdef public long long sample_ts_ns

    cpdef int anchor(self, long long seq) noexcept
    cpdef long long offset_of(self, long long seq) noexcept
    cpdef int advance(self, long long count) noexcept
    cpdef int is_believable(self, long long offset) noexcept
    cpdef int note_fin(self, long long offset) noexcept
    cpdef int is_after_fin(self, long long offset) noexcept
    cpdef int note_window(self, long long window, long long ts_ns) noexcept
