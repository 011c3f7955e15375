from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.transfers cimport Link, Transfer, emit_transfer, new_transfer
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder

cdef class Channel:
    cdef public Connection conn
    cdef public long long number
    cdef public object state
    cdef public long long session_id
    cdef public Transfer current_0
    cdef public Transfer current_1
    cdef public bint is_lost_0
    cdef public bint is_lost_1
    cdef public dict deliveries
    cdef public unsigned long long deliveries_low
    cdef public unsigned long long deliveries_top
    cdef public dict unconfirmed
    cdef public unsigned long long unconfirmed_low
    cdef public unsigned long long publish_no
    cdef public bint is_confirming
    cdef public object unplaced
    cdef public object mandatory
    cdef public object transaction
    cdef public long long transaction_no
    cdef public dict publishers
    cdef public dict consumers
    cdef public dict getters
    cdef public list links
    cdef public dict pending
    cdef public dict held
    cdef public dict staged
    cdef public dict references
    cdef public long long shared_prefetch
    cdef public long long consumer_prefetch
    cdef public bint has_global_limit
    cdef public long long prefetch_size
    cdef public long long consumer_unsettled
    cdef public str last_queue
    cdef public long long transfer_count
    cdef public bint is_closing
    cdef public dict row

    cpdef Transfer begin(self, int side, long long kind, Link link, StreamDecoder dec)
    cpdef Transfer publish(
        self, int side, str exchange, str routing_key, bint is_mandatory, StreamDecoder dec)
    cpdef int _number(self, Transfer t, StreamDecoder dec) except -1
    cpdef Transfer deliver(
        self, int side, unsigned long long tag, bint is_redelivered, str consumer_tag,
        str exchange, str routing_key, StreamDecoder dec)
    cpdef int expect_settlement(self, Transfer t, StreamDecoder dec) except -1
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
    cpdef Transfer settle(
        self, int side, unsigned long long tag, bint is_multiple, long long outcome,
        StreamDecoder dec)
    cpdef Transfer confirm(
        self, int side, unsigned long long tag, bint is_multiple, long long outcome,
        StreamDecoder dec)
    cpdef list _take_up_to(self, dict waiting, unsigned long long low, unsigned long long tag)
    cpdef int _settle_one(
        self, Transfer t, long long outcome, long long kind, StreamDecoder dec) except -1
    cpdef int _finish(
        self, Transfer t, long long outcome, long long by, long long kind, long long ts_ns,
        long long packet_no, long long outcome_ts) except -1
    cpdef long long recover(self, StreamDecoder dec) except -1
