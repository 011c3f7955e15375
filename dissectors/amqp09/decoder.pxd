cimport cython

from dissectors.amqp09.arguments cimport Arguments
from dissectors.amqp09.channel cimport Channel
from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.property_memory cimport PropertyMemory
from dissectors.amqp09.transfers cimport Transfer
from dissectors.amqp09.wire cimport be16, be32, be64, cut, is_same
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder
from dissectors.core.rows cimport RowBuffer

@cython.final
cdef class Decoder09(StreamDecoder):
    cdef public object rare
    cdef public bint is_hot
    cdef public int client_side
    cdef public Py_ssize_t header_size
    cdef public int max_type
    cdef public PropertyMemory memory
    cdef public dict publishes
    cdef public dict delivers
    cdef public dict gets
    cdef public dict channels
    cdef public Channel last_channel
    cdef public Py_ssize_t frame_max
    cdef public RowBuffer frames

    cpdef Channel channel(self, long long number, int side)
    cdef Py_ssize_t _row(
        self, int side, Py_ssize_t size, Channel channel, Transfer t, long long type_word,
        long long name) except -1
    cdef int _say_tag(self, Py_ssize_t base, unsigned long long tag) except -1
    cdef int _take_publish(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel) except -1
    cdef int _take_deliver(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel) except -1
    cdef int _take_get_ok(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel) except -1
    cdef int _say_delivery(
        self, int side, Py_ssize_t size, Channel channel, long long name, Transfer t,
        Arguments known) except -1
    cdef int _take_ack(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel, long long key) except -1
    cdef int _take_header(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel) except -1
    cdef int _take_body(
        self, int side, bytes buf, Py_ssize_t size, Py_ssize_t at, Py_ssize_t last,
        Channel channel) except -1
    cdef Arguments _recall(
        self, dict memory, bytes head, bytes tail, bytes buf, Py_ssize_t at, Py_ssize_t last)
