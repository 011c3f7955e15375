cdef class Reader:
    cdef public object stream
    cdef public str capture
    cdef public object report
    cdef public list secrets
    cdef public bytes buf
    cdef public Py_ssize_t pos
    cdef public Py_ssize_t limit
    cdef public long long window_offset
    cdef public bint is_at_eof
    cdef public bint is_big_endian
    cdef public long long ts_ns
    cdef public long long order_ns
    cdef public long long packet_no
    cdef public Py_ssize_t start
    cdef public Py_ssize_t end
    cdef public Py_ssize_t wire_length
    cdef public int link_type
    cdef public int file_index
    cdef public long long problem_count
    cdef public long long backwards_count
    cdef public long long backwards_packet_no
    cdef public bint is_closed
    cdef unsigned int words[8]

    cpdef int advance(self) except -1
    cpdef int fill(self, Py_ssize_t need) except -1
    cpdef long long u32(self, Py_ssize_t pos) except -1
    cdef int load(self, Py_ssize_t pos, int count) except -1
    cpdef int note_time(self) except -1
