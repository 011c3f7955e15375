from dissectors.amqp10.credit cimport CreditWriter
from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.emit cimport TransferWriter
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.serial cimport serial_add, serial_diff
from dissectors.amqp10.session cimport Endpoint, Session
from dissectors.core.connection cimport Connection

cdef class ConnectionState:
    cdef public Connection conn
    cdef public long long ts_ns
    cdef public long long packet_no
    cdef public long long offset
    cdef public TransferWriter transfers
    cdef public CreditWriter credits
    cdef public object transactions
    cdef public object reader
    cdef public dict channels_0
    cdef public dict channels_1
    cdef public list sessions
    cdef public list links
    cdef public dict suspended
    cdef public bint is_partial
    cdef public bint is_limited
    cdef public bint has_hole

    cpdef Session session_of(self, int side, long long channel)
    cpdef Session _infer_session(self, int side, long long channel)
    cpdef Session new_session(self)
    cpdef Endpoint end_of(self, Session session, int side)
    cpdef Link link_of(self, Session session, int side, long long handle, int sender)
    cpdef Link _infer_link(self, Session session, int side, long long handle, int sender)
    cpdef Link new_link(self, Session session, int sender)
    cpdef int bind_handle(self, Session session, Link link, int side, long long handle) except -1
    cpdef Delivery transfer(
        self, Session session, Link link, int side, long long delivery_id, object tag,
        long long message_format, int settled, int more, int resume, int aborted, object state,
        bytes buf, Py_ssize_t start, Py_ssize_t end)
    cdef int _count_frame(self, Session session, Endpoint endpoint, int side) except -1
    cdef Delivery _begin_delivery(
        self, Session session, Endpoint endpoint, Link link, int side, long long delivery_id,
        object tag)
    cdef int _resume(self, Delivery delivery, Link link) except -1
    cdef int _keep_part(
        self, Delivery delivery, bytes buf, Py_ssize_t start, Py_ssize_t end, int side) except -1
    cdef int _complete(
        self, Session session, Endpoint endpoint, Link link, Delivery delivery) except -1
    cdef int _use_credit(self, Session session, Link link, int side) except -1
    cdef int _abort(self, Delivery delivery, Endpoint endpoint) except -1
    cpdef Delivery disposition(
        self, Session session, int side, int is_receiver, long long first, long long last,
        int settled, object state)
    cdef int _unknown_delivery(self, Endpoint owner, long long first, int side) except -1
    cpdef int apply_state(self, Delivery delivery, object state) except -1
    cpdef int settle(self, Delivery delivery, long long by, long long kind) except -1
    cdef int _drop_unsettled(self, Delivery delivery) except -1
    cpdef int release(self, Delivery delivery) except -1
    cpdef int abandon(self, Delivery delivery) except -1
    cpdef int forget(self, Delivery delivery) except -1
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
    cpdef int problem(self, str code, str detail, object side) except -1
    cpdef int limit_reached(self, str detail) except -1

cdef long long _known(long long number) noexcept
