cdef long long NULL

cdef class RowBuffer:
    cdef public object table
    cdef public list kinds
    cdef public dict positions
    cdef public Py_ssize_t width
    cdef public Py_ssize_t capacity
    cdef public Py_ssize_t room
    cdef public Py_ssize_t count
    cdef public Py_ssize_t batch_no
    cdef public long long[::1] cells
    cdef public long long[::1] template
    cdef public dict defaults
    cdef public dict pool
    cdef public list heaps
    cdef public Py_ssize_t heap_bytes
    cdef public object on_full

    cpdef Py_ssize_t new_row(self) except -1
    cpdef long long text(self, str value) except -1
    cpdef int put_string(self, Py_ssize_t base, Py_ssize_t column, bytes value) except -1
    cpdef int put_number(self, Py_ssize_t base, Py_ssize_t column, unsigned long long value) except -1
    cpdef int put(self, Py_ssize_t base, Py_ssize_t column, object value) except -1
