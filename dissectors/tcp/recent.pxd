cimport cython

@cython.final
cdef class Kept:
    cdef public object half
    cdef public int file_index
    cdef public long long packet_no
    cdef public long long offset
    cdef public bytes buf
    cdef public Py_ssize_t start
    cdef public Py_ssize_t end

@cython.final
cdef class Recent:
    cdef public list kept
    cdef public Py_ssize_t place
    cdef public int file_index

    cpdef int keep(
        self, object half, long long packet_no, long long offset, bytes buf, Py_ssize_t start,
        Py_ssize_t end) except -1
