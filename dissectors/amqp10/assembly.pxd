from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.sections cimport scan_message

cpdef int finish_message(
    object state, Delivery delivery, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1
