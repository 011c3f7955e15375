from dissectors.capture.reader cimport Reader

cdef class PcapReader(Reader):
    cdef public Py_ssize_t header_bytes
    cdef public long long fraction_ns
    cdef public long long fractions
    cdef public long long max_packet_bytes
    cdef public long long last_seconds
    cdef public object unpack

    cpdef int advance(self) except -1
    cpdef int is_chain(self, int is_strict) except -1
    cpdef int resync(self, str code, str detail) except -1
