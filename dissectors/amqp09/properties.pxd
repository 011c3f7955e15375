cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcpy

from dissectors.core.rows cimport RowBuffer

# A list of texts cannot refer back, nor does the list that it is like.
@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Properties:
    cdef public bytes raw
    cdef public list text_columns
    cdef public Properties alike
    cdef public bytes message_id
    cdef public bytes correlation_id
    cdef public long long priority
    cdef public long long ttl_ms
    cdef public int durable
    cdef public long long created_ms
    cdef public str rest_json
    cdef public str json
    cdef public bytes json_head
    cdef public bytes json_between
    cdef public bytes json_end
    cdef public object error
    cdef public bint has_unknown
    cdef public str table_error
    cdef public Py_ssize_t octets
    cdef public str systems
    cdef public bint is_plain
    cdef public Py_ssize_t json_batch
    cdef public long long json_code
    cdef public Py_ssize_t columns_batch
    cdef Py_ssize_t column_count
    cdef Py_ssize_t[6] columns
    cdef long long[6] column_codes
    cdef public long long rest_code

    cpdef Properties renamed(self)
    cpdef int put_json(self, RowBuffer rows, Py_ssize_t base, Py_ssize_t column) except -1
    cdef int _put_pieces(self, RowBuffer rows, Py_ssize_t base, Py_ssize_t column) except -1

cdef unsigned char* _glue(unsigned char* out, bytes piece) except NULL
