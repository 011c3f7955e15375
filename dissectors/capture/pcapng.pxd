from dissectors.capture.reader cimport Reader

cdef class PcapngReader(Reader):
    cdef public list interfaces
    cdef public long long secrets_bytes
    cdef public long long if_number
    cdef public long long if_tick_ns
    cdef public long long if_max_ticks
    cdef public long long if_offset_ns
    cdef public object unpack
    cdef public object unpack_packet

    cpdef int advance(self) except -1
    cpdef int start_section(self) except -1
    cpdef int take_enhanced(self, Py_ssize_t pos, long long size) except -1
    cpdef int finish_packet(self, long long high, long long low, long long captured, long long wire) except -1
    cpdef long long slow_time(self, long long high, long long low) except? -1
    cpdef int use_interface(self, long long number) except -1
    cpdef int take_other(self, long long kind, Py_ssize_t pos, long long size) except -1
    cpdef int take_simple(self, Py_ssize_t pos, long long size, long long wire) except -1
    cpdef int refuse(self, str detail, Py_ssize_t pos, long long size) except -1
    cpdef int resync(self, str detail) except -1
    cpdef int is_block(self) except -1
