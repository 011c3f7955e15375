from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.sections cimport scan_message
from dissectors.amqp10.settlement cimport Settlement

cpdef int finish_message(
    Settlement state, Delivery delivery, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1
