cimport cython

from dissectors.amqp10.fields cimport Fields
from dissectors.amqp10.frame_texts cimport FrameTexts
from dissectors.amqp10.hot_disposition cimport take_disposition
from dissectors.amqp10.hot_flow cimport take_flow
from dissectors.amqp10.hot_transfer cimport take_transfer
from dissectors.amqp10.octets cimport read_code, read_u32, skip_value
from dissectors.amqp10.silence cimport Silence
from dissectors.amqp10.state cimport ConnectionState
from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder
from dissectors.core.rows cimport RowBuffer

cdef class Decoder10(StreamDecoder):
    cdef public ConnectionState state
    cdef public Fields fields
    cdef public FrameTexts texts
    cdef public Silence silence
    cdef public object layers
    cdef public object rare
    cdef public bint is_tls_0
    cdef public bint is_tls_1
    cdef public bint is_quick

    cpdef Py_ssize_t frame_size(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t end) except? -1
    cpdef int take_frame(
        self, int side, bytes buf, Py_ssize_t start, Py_ssize_t size) except -1
    cpdef int _take_layer(self, object side, bytes buf, object start, object size) except -1
    @cython.final
    cdef int _locate(self, int side) except -1
