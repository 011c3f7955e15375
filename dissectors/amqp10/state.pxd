cimport cython

from dissectors.amqp10.assembly cimport finish_message
from dissectors.amqp10.delivery cimport Delivery, DeliveryState, new_delivery
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.session cimport Endpoint, Session
from dissectors.amqp10.settlement cimport Settlement
from dissectors.amqp10.unsettled cimport Unsettled

@cython.final
cdef class ConnectionState(Settlement):
    cpdef Delivery transfer(
        self, Session session, Link link, int side, long long delivery_id, object tag,
        long long message_format, int settled, int more, int resume, int aborted,
        DeliveryState state,
        bytes buf, Py_ssize_t start, Py_ssize_t end)
    cdef bint is_torn(self, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1
    cdef Delivery _begin_delivery(
        self, Session session, Endpoint endpoint, Link link, int side, long long delivery_id,
        object tag)
    cdef int _resume(self, Delivery delivery, Link link) except -1
    cdef int _keep_part(
        self, Delivery delivery, bytes buf, Py_ssize_t start, Py_ssize_t end, int side) except -1
    cdef int _complete(
        self, Session session, Endpoint endpoint, Link link, Delivery delivery) except -1
    cdef int _abort(self, Delivery delivery, Endpoint endpoint) except -1
