cimport cython

from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.wire cimport be16, be32, be64, cut, is_plain, is_same

@cython.final
cdef class NamedList:
    cdef public Properties properties
    cdef public bytes head
    cdef public bytes between
    cdef public bytes tail
    cdef public bint has_correlation_id
    cdef public bint has_message_id
    cdef public bint has_timestamp
    cdef public str json_after
    cdef public str json_tail
    cdef public unsigned long long timestamp
    cdef public bytes json_end

    cpdef Properties read(self, bytes buf, Py_ssize_t start, Py_ssize_t end)
    cpdef int _set_timestamp(self, unsigned long long timestamp) except -1

@cython.final
cdef class NamedLists:
    cdef public dict known
    cdef public NamedList last

    cpdef Properties find(self, bytes buf, Py_ssize_t start, Py_ssize_t end)
    cpdef int learn(
        self, Properties p, list members, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1

cpdef Py_ssize_t head_end(bytes buf, Py_ssize_t at, Py_ssize_t end) except -1
