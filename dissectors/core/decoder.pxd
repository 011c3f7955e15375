cimport cython

from dissectors.core.connection cimport Connection

@cython.final
cdef class Side:
    cdef public int mode
    cdef public bytearray carry
    cdef public Py_ssize_t need
    cdef public list holes
    cdef public long long carry_offset
    cdef public long long carry_packet_no
    cdef public Py_ssize_t passing_left
    cdef public list held
    cdef public Py_ssize_t held_bytes
    cdef public Py_ssize_t search_at
    cdef public Py_ssize_t search_from
    cdef public long long garbage_count

cdef class StreamDecoder:
    cdef public Connection conn
    cdef public Side side_0
    cdef public Side side_1
    cdef public long long ts_ns
    cdef public long long packet_no
    cdef public long long first_packet_no
    cdef public long long offset

    cpdef Py_ssize_t frame_size(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end) except? -1
    cpdef int take_frame(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t size) except -1
    cpdef int feed(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end, long long ts_ns,
        long long packet_no, long long offset) except -1
    cpdef int gap(
        self, int side, long long size, long long ts_ns, long long packet_no) except -1
    cdef int _take(self, int side, bytes whole) except -1
    cdef Py_ssize_t _take_frames(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end) except? -1
    cdef int _step(
        self, int side, Side state, bytes buf, Py_ssize_t start, Py_ssize_t end,
        long long ts_ns, long long packet_no, long long offset) except -1
    cdef int _begin(
        self, int side, Side state, bytes buf, Py_ssize_t start, Py_ssize_t end,
        long long offset) except -1
    cdef Py_ssize_t _fill(
        self, int side, Side state, bytes buf, Py_ssize_t start, Py_ssize_t end) except? -1
    cdef int _take_carry(self, int side, Side state) except -1
    cdef int _search(self, int side, Side state, object is_final) except -1
