cimport cython

from dissectors.amqp10.delivery cimport Delivery, DeliveryState
from dissectors.amqp10.emit cimport TransferWriter
from dissectors.amqp10.flow_control cimport FlowControl
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.serial cimport serial_add, serial_diff
from dissectors.amqp10.session cimport Endpoint, Session
from dissectors.amqp10.unsettled cimport Unsettled

cdef class Settlement(FlowControl):
    cdef public TransferWriter transfers
    cdef public object transactions
    cdef public object reader
    cdef public dict suspended
    cdef public long long suspended_count
    cdef public long long held_bytes

    cpdef Delivery disposition(
        self, Session session, int side, int is_receiver, long long first, long long last,
        int settled, DeliveryState state)
    @cython.final
    cdef int _dispose(
        self, Delivery delivery, long long by, long long kind, int settled,
        DeliveryState state) except -1
    @cython.final
    cdef int _unknown_delivery(self, Endpoint owner, long long first, int side) except -1
    cpdef int apply_state(self, Delivery delivery, DeliveryState state) except -1
    cpdef int settle(self, Delivery delivery, long long by, long long kind) except -1
    @cython.final
    cdef int _drop_unsettled(self, Delivery delivery) except -1
    cpdef int release(self, Delivery delivery) except -1
    cpdef int abandon(self, Delivery delivery) except -1
    cpdef int drop_parts(self, Delivery delivery) except -1
    cpdef int forget(self, Delivery delivery) except -1
