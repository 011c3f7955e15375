cimport cython

from dissectors.amqp10.delivery cimport Delivery

@cython.final
cdef class Unsettled:
    cdef public list ring
    cdef public Py_ssize_t mask
    cdef public dict others
    cdef public Py_ssize_t count
    cdef public Py_ssize_t limit
    cdef public list aged

    cpdef Delivery get(self, long long delivery_id)
    cpdef int add(self, Delivery delivery) except -1
    cpdef int drop(self, long long delivery_id) except -1
    cdef int _grow(self) except -1
    cpdef list deliveries(self)
    cpdef Delivery oldest(self)
