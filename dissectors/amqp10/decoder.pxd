from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.octets cimport (
    after_code, list_count, list_items, read_boolean, read_code, read_u32, read_uint, skip_value)
from dissectors.amqp10.session cimport Session
from dissectors.amqp10.state cimport ConnectionState
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder
from dissectors.core.rows cimport RowBuffer

cdef class Decoder10(StreamDecoder):
    cdef public ConnectionState state
    cdef public object layers
    cdef public object rare
    cdef public bint is_tls_0
    cdef public bint is_tls_1
    cdef public bint is_quick
    cdef public long long last_ts_0
    cdef public long long last_ts_1
    cdef public long long silence_0
    cdef public long long silence_1
    cdef public dict json_cache
    cdef public dict disposition_codes
    cdef public Py_ssize_t disposition_batch

    cpdef Py_ssize_t frame_size(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end) except? -1
    cpdef int take_frame(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t size) except -1
    cdef int _hear(self, int side) except -1
    cdef Py_ssize_t _row(self, int side, long long channel, Py_ssize_t size) except -1
    cpdef int _take_layer(self, object side, bytes buf, object start, object size) except -1
    cdef int _transfer(
        self, int side, long long channel, bytes buf, Py_ssize_t start, Py_ssize_t body,
        Py_ssize_t end) except -1
    cdef int _disposition(
        self, int side, long long channel, bytes buf, Py_ssize_t start, Py_ssize_t body,
        Py_ssize_t end) except -1
    cdef int _flow(
        self, int side, long long channel, bytes buf, Py_ssize_t start, Py_ssize_t body,
        Py_ssize_t end) except -1

cdef object _plain_outcome(bytes buf, Py_ssize_t at, Py_ssize_t stop)
