from dissectors.amqp10.head_values cimport primitive_text, read_timestamp
from dissectors.amqp10.octets cimport (
    after_code, cut, is_ascii, is_same, list_count, list_items, read_boolean, read_code, read_uint,
    skip_value)
from dissectors.core.rows cimport RowBuffer

cdef class HeadReader:
    cdef public dict cache
    cdef public Py_ssize_t batch_no
    cdef public dict codes
    cdef public list last_texts
    cdef public long long[::1] last_codes
    cdef public bytes rest
    cdef public long long rest_code
    cdef public long long[::1] columns
    cdef public long long[::1] is_unique
    cdef public bytes header
    cdef public bint header_is_rest
    cdef public long long priority
    cdef public long long durable
    cdef public long long ttl
    cdef public long long redelivered

    cpdef int read(self, RowBuffer rows, Py_ssize_t base, bytes head) except -1
    cdef int _header(
        self, RowBuffer rows, Py_ssize_t base, bytes buf, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _properties(
        self, RowBuffer rows, Py_ssize_t base, bytes buf, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _keep_header(
        self, RowBuffer rows, Py_ssize_t base, bytes header, bint is_rest) except -1
    cdef int _begin_batch(self, Py_ssize_t batch_no) except -1
    cdef long long _rest_code(
        self, RowBuffer rows, bytes buf, Py_ssize_t start, Py_ssize_t stop) except? -1
    cdef long long _find_code(self, RowBuffer rows, bytes rest) except? -1
    cdef int _text(
        self, RowBuffer rows, Py_ssize_t base, Py_ssize_t place, bytes buf, Py_ssize_t at,
        Py_ssize_t stop) except -1
    cdef int _put(
        self, RowBuffer rows, Py_ssize_t base, Py_ssize_t place, bytes buf, Py_ssize_t start,
        Py_ssize_t stop) except -1
