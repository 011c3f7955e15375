cimport cython

from dissectors.amqp10.link cimport Link
from dissectors.amqp10.serial cimport serial_diff
from dissectors.amqp10.session cimport Session
from dissectors.core.connection cimport Connection
from dissectors.core.rows cimport RowBuffer

@cython.final
cdef class CreditWriter:
    cdef public Connection conn
    cdef public RowBuffer rows
    cdef public Py_ssize_t batch_no
    cdef public long long connection_code

    cpdef Py_ssize_t write(
        self, long long event, Session session, Link link, int side, long long ts_ns,
        long long packet_no) except -1
    cpdef int write_flow(
        self, Py_ssize_t base, long long next_incoming_id, long long incoming_window,
        long long next_outgoing_id, long long outgoing_window) except -1
    cpdef int write_link(
        self, Py_ssize_t base, long long link_credit, long long delivery_count,
        long long available, int drain, long long granted) except -1
    cpdef int write_echo(self, Py_ssize_t base, int echo) except -1

cpdef long long sender_credit(Link link) except? -1
