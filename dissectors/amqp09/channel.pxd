cimport cython

from dissectors.amqp09.arguments cimport Arguments
from dissectors.amqp09.settling cimport Settling
from dissectors.amqp09.transfers cimport Link, Transfer, emit_transfer
from dissectors.amqp09.waiting cimport Waiting
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder

@cython.final
cdef class Channel(Settling):
    cdef public long long transaction_no
    cdef public dict publishers
    cdef public dict consumers
    cdef public dict getters
    cdef public list links
    cdef public dict pending
    cdef public dict staged
    cdef public dict references
    cdef public long long shared_prefetch
    cdef public long long consumer_prefetch
    cdef public bint has_global_limit
    cdef public long long prefetch_size
    cdef public str last_queue
    cdef public Arguments last_publish
    cdef public Arguments last_deliver
    cdef public bint is_closing
    cdef public dict row

    cpdef Transfer publish(
        self, int side, str exchange, str routing_key, bint is_mandatory, StreamDecoder dec)
    cpdef int _number(self, Transfer t, StreamDecoder dec) except -1
    cpdef Transfer deliver(
        self, int side, unsigned long long tag, bint is_redelivered, str consumer_tag,
        str exchange, str routing_key, StreamDecoder dec)
