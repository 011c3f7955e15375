from dissectors.amqp10.octets cimport (
    after_code, list_count, list_items, read_boolean, read_code, read_uint, skip_value)
from dissectors.core.rows cimport RowBuffer

cdef class HeadReader:
    cdef public dict cache

    cpdef int read(self, RowBuffer rows, Py_ssize_t base, bytes head) except -1
    cdef int _header(
        self, RowBuffer rows, Py_ssize_t base, bytes buf, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _properties(
        self, RowBuffer rows, Py_ssize_t base, bytes buf, Py_ssize_t at, Py_ssize_t end) except -1

cpdef object primitive_text(bytes buf, Py_ssize_t at, Py_ssize_t stop)
