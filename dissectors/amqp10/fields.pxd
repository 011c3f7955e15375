cimport cython

from dissectors.amqp10.octets cimport after_code, list_count, read_code, skip_value

@cython.final
cdef class Fields:
    cdef readonly long long numbers[11]

    cpdef Py_ssize_t read(
        self, bytes buf, Py_ssize_t at, Py_ssize_t end, bytes types) except? -1
    cdef int _state(self, bytes buf, Py_ssize_t at, Py_ssize_t stop) except? -1

cdef long long _uint(unsigned char* octets, Py_ssize_t at) noexcept
