from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.transfers cimport Link, Transfer, emit_transfer, new_transfer
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder

cdef class Contents:
    cdef public Connection conn
    cdef public long long number
    cdef public object state
    cdef public long long session_id
    cdef public Transfer current_0
    cdef public Transfer current_1
    cdef public bint is_lost_0
    cdef public bint is_lost_1
    cdef public unsigned long long publish_no
    cdef public bint is_confirming
    cdef public object unplaced
    cdef public object mandatory
    cdef public long long transfer_count

    cpdef Transfer begin(self, int side, long long kind, Link link, StreamDecoder dec)
    cpdef Transfer header(
        self, int side, Properties properties, unsigned long long body_size, long long weight,
        StreamDecoder dec)
    cpdef Transfer _begin_child(self, int side, Transfer parent, StreamDecoder dec)
    cpdef Transfer body(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end, StreamDecoder dec)
    cpdef int assembled(self, int side, Transfer t, StreamDecoder dec) except -1
    cpdef int presettle(self, Transfer t) except -1
    cpdef int cut_short(self, int side, StreamDecoder dec) except -1
    cpdef int lose(self, int side) except -1
