from dissectors.amqp10.credit cimport CreditWriter
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.session cimport Endpoint, Session
from dissectors.core.connection cimport Connection
from dissectors.core.rows cimport RowBuffer

cdef class Registry:
    cdef public Connection conn
    cdef public long long ts_ns
    cdef public long long packet_no
    cdef public long long first_packet_no
    cdef public long long offset
    cdef public CreditWriter credits
    cdef public dict channels_0
    cdef public dict channels_1
    cdef public long long last_channel_0
    cdef public long long last_channel_1
    cdef public Session last_session_0
    cdef public Session last_session_1
    cdef public dict sessions
    cdef public dict links
    cdef public dict names
    cdef public bint is_partial
    cdef public bint has_losses
    cdef public long long lost_ts_0
    cdef public long long lost_ts_1
    cdef public bint is_limited
    cdef public bint has_hole

    cpdef Py_ssize_t frame_row(self, int side, long long channel, Py_ssize_t size) except -1
    cpdef Session session_of(self, int side, long long channel)
    cdef Session _find_session(self, int side, long long channel)
    cpdef int bind_channel(self, Session session, int side, long long channel) except -1
    cpdef Session free_channel(self, int side, long long channel)
    cpdef Session _infer_session(self, int side, long long channel)
    cpdef Session new_session(self)
    cpdef int retire_session(self, Session session) except -1
    cpdef Endpoint end_of(self, Session session, int side)
    cpdef Link link_of(self, Session session, int side, long long handle, int sender)
    cpdef Link _infer_link(self, Session session, int side, long long handle, int sender)
    cpdef Link new_link(self, Session session, int sender)
    cpdef int bind_handle(self, Session session, Link link, int side, long long handle) except -1
    cpdef int retire_link(self, Link link) except -1
    cpdef int turn_link(self, Link link, int side) except -1
    cpdef int problem(self, str code, str detail, object side) except -1
    cpdef int limit_reached(self, str detail) except -1

cpdef int likely_sender(int side, long long link_credit, long long available, int drain) noexcept
