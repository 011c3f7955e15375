cimport cython
from libc.string cimport memcmp

cdef int be16(unsigned char* octets) noexcept
cdef long long be32(unsigned char* octets) noexcept

@cython.final
cdef class PacketView:
    cdef public object fragments
    cdef public bytes buf
    cdef public Py_ssize_t pos
    cdef public Py_ssize_t end
    cdef public Py_ssize_t wire_end
    cdef public long long ts_ns
    cdef public bytes address_buf
    cdef public Py_ssize_t address_pos
    cdef public Py_ssize_t address_size
    cdef public Py_ssize_t tcp_pos
    cdef public int src_port
    cdef public int dst_port
    cdef public long long seq
    cdef public long long ack
    cdef public int flags
    cdef public bint has_ack
    cdef public int window
    cdef public int window_scale
    cdef public Py_ssize_t payload_start
    cdef public Py_ssize_t payload_end
    cdef public Py_ssize_t missing

    cpdef int locate(self, bytes buf, Py_ssize_t start, Py_ssize_t end, Py_ssize_t wire_length, int link_type, long long ts_ns) except -2
    cpdef int step(self, Py_ssize_t size, Py_ssize_t type_at) except -2
    cpdef int open_ipv4(self) except -2
    cpdef int open_ipv6(self) except -2
    cpdef int open_other(self, int kind) except -2
    cpdef int defragment(self, bytes key, int offset, int has_more, int protocol) except -2
    cpdef int open_tcp(self) except -2
    cdef void read_tcp(self, unsigned char* octets) noexcept
    cpdef bint locate_quickly(self, bytes buf, Py_ssize_t ip, Py_ssize_t end) except -1
    cpdef bytes key(self)
    cpdef bint is_key(self, bytes key) except -1
    cpdef int read_window_scale(self, Py_ssize_t pos) except -1
    cpdef bytes reverse_key(self)
    cpdef str source(self)
    cpdef str destination(self)
