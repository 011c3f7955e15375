from dissectors.capture.reader cimport Reader

cdef class PacketSource:
    cdef public object report
    cdef public list paths
    cdef public list secrets
    cdef public int readable_count
    cdef public int file_index
    cdef public str capture
    cdef public long long ts_ns
    cdef public long long order_ns
    cdef public long long packet_no
    cdef public bytes buf
    cdef public Py_ssize_t start
    cdef public Py_ssize_t end
    cdef public Py_ssize_t wire_length
    cdef public int link_type
    cdef public Reader current
    cdef public long long turn_ns
    cdef public int turn_index
    cdef public list waiting
    cdef public list overlapping
    cdef public long long closed_bytes
    cdef public object total_bytes

    cpdef int advance(self) except -1
    cpdef int change_reader(self) except -1
