from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.string cimport memcpy

from dissectors.core.columns cimport fill, is_blank

cdef Py_ssize_t COLUMN_STRIDE

cdef class RowBuffer:
    cdef public object table
    cdef public list kinds
    cdef public dict places
    cdef public Py_ssize_t capacity
    cdef public Py_ssize_t room
    cdef public Py_ssize_t count
    cdef public Py_ssize_t batch_no
    cdef public object grid
    cdef public long long[::1] cells
    cdef public list spares
    cdef public bint has_been_full
    cdef public list blank
    cdef public dict defaults
    cdef public dict pool
    cdef public list heaps
    cdef public Py_ssize_t heap_bytes
    # By column: octets in its heap.
    cdef Py_ssize_t[64] heap_used
    cdef public object on_full

    cpdef Py_ssize_t new_row(self) except -1
    cpdef long long text(self, str value) except -1
    cpdef int put_string(self, Py_ssize_t base, Py_ssize_t column, bytes value) except -1
    cpdef int put_slice(
        self, Py_ssize_t base, Py_ssize_t column, bytes buf, Py_ssize_t start,
        Py_ssize_t end) except -1
    cdef unsigned char* put_loose(
        self, Py_ssize_t base, Py_ssize_t column, Py_ssize_t size) except NULL
    cpdef int put_number(self, Py_ssize_t base, Py_ssize_t column, unsigned long long value) except -1
    cpdef int put_hex(self, Py_ssize_t base, Py_ssize_t column, bytes value) except -1
    cpdef int put(self, Py_ssize_t base, Py_ssize_t column, object value) except -1
    cdef unsigned char* _extend(
        self, Py_ssize_t base, Py_ssize_t column, Py_ssize_t size) except NULL
