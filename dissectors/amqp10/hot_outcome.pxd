from dissectors.amqp10.delivery cimport DeliveryState
from dissectors.amqp10.octets cimport after_code, list_count, read_code

cpdef DeliveryState plain_outcome(bytes buf, Py_ssize_t at, Py_ssize_t stop)
