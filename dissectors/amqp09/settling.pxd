from dissectors.amqp09.contents cimport Contents
from dissectors.amqp09.transfers cimport Transfer, emit_transfer
from dissectors.amqp09.waiting cimport Waiting
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder

cdef class Settling(Contents):
    cdef public Waiting deliveries
    cdef public unsigned long long deliveries_low
    cdef public unsigned long long deliveries_top
    cdef public Waiting unconfirmed
    cdef public unsigned long long unconfirmed_low
    cdef public object transaction
    cdef public dict held
    cdef public long long consumer_unsettled

    cpdef int expect_settlement(self, Transfer t, StreamDecoder dec) except -1
    cpdef Transfer settle(
        self, int side, unsigned long long tag, bint is_multiple, long long outcome,
        StreamDecoder dec)
    cpdef Transfer confirm(
        self, int side, unsigned long long tag, bint is_multiple, long long outcome,
        StreamDecoder dec)
    cpdef int _settle_one(
        self, Transfer t, long long outcome, long long kind, StreamDecoder dec) except -1
    cpdef int _finish(
        self, Transfer t, long long outcome, long long by, long long kind, long long ts_ns,
        long long packet_no, long long outcome_ts) except -1
    cpdef long long recover(self, StreamDecoder dec) except -1
