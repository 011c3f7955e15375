from dissectors.amqp10.link cimport Link
from dissectors.amqp10.registry cimport Registry
from dissectors.amqp10.serial cimport serial_add, serial_diff
from dissectors.amqp10.session cimport Endpoint, Session

cdef class FlowControl(Registry):
    cpdef int flow(
        self, Session session, object link, int side, long long next_incoming_id,
        long long incoming_window, long long next_outgoing_id, long long outgoing_window,
        long long delivery_count, long long link_credit, long long available, int drain,
        int echo) except -1
    cpdef int window(
        self, Session session, int side, long long next_incoming_id, long long incoming_window,
        long long next_outgoing_id, long long outgoing_window) except -1
    cdef long long _receiver_flow(
        self, Link link, long long delivery_count, long long link_credit, int drain) except? -1
    cdef long long _sender_flow(
        self, Link link, long long delivery_count, long long available) except? -1
    cdef int count_frame(self, Session session, Endpoint endpoint, int side) except -1
    cdef int use_credit(self, Session session, Link link, int side) except -1

cdef long long _known(long long number) noexcept
