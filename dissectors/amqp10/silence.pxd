cimport cython

@cython.final
cdef class Silence:
    cdef public long long last_ts_0
    cdef public long long last_ts_1
    cdef public long long longest_0
    cdef public long long longest_1
    cdef public bint is_watched_0
    cdef public bint is_watched_1

    cpdef int hear(self, int side, long long ts_ns) except -1
    cpdef int watch(self, int side, long long ts_ns) except -1
    cpdef int excuse(self, int side) except -1
