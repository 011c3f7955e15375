from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.octets cimport after_code, cut, is_same, read_code, skip_value
from dissectors.core.digest cimport digest

cpdef int scan_message(
    Delivery delivery, Link link, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1
cdef Py_ssize_t _content(bytes buf, Py_ssize_t at, long long code) except? -1
