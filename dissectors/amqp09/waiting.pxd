cimport cython

from dissectors.amqp09.transfers cimport Transfer

@cython.final
cdef class Waiting:
    cdef public list places
    cdef public Py_ssize_t mask
    cdef public dict others
    cdef public Py_ssize_t count
    cdef public list aged

    cpdef Transfer get(self, unsigned long long tag)
    cpdef int put(self, Transfer t) except -1
    cpdef Transfer take(self, unsigned long long tag)
    cpdef list take_up_to(self, unsigned long long low, unsigned long long tag)
    cpdef list transfers(self)
    cpdef Transfer take_oldest(self)
    cdef int _widen(self) except -1
