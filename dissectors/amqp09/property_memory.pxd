cimport cython

from dissectors.amqp09.named_lists cimport NamedLists
from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.wire cimport be16, be32, be64, cut, is_same


@cython.final
cdef class PropertyMemory:
    cdef public dict known
    cdef public dict texts
    cdef public dict tables
    cdef public NamedLists named
    cdef public Properties last
    cdef public list last_texts
    cdef public dict systems

    cpdef Properties recall(self, bytes buf, Py_ssize_t start, Py_ssize_t end)
    cpdef object find(
        self, bytes buf, Py_ssize_t start, Py_ssize_t end, object dialect, object systems)
    cpdef Properties _read_basic(
        self, bytes buf, Py_ssize_t start, Py_ssize_t end, object systems)
    cdef object _text(
        self, Properties p, int index, bytes buf, Py_ssize_t at, Py_ssize_t end, list rest)
    cdef tuple _short_string(self, int index, bytes raw)
    cpdef tuple _table(self, bytes raw, object systems)
    cpdef int forget(self) except -1
