cimport cython

from dissectors.core.connection cimport Connection
from dissectors.core.decoder cimport StreamDecoder
from dissectors.tcp.conversation cimport Conversation, Listener

@cython.final
cdef class Flow(Listener):
    cdef public tuple endpoints
    cdef public tuple ports
    cdef public object sink
    cdef public object options
    cdef public object tls_keys
    cdef public object capture
    cdef public Conversation conversation
    cdef public int mode
    cdef public int swap
    cdef public StreamDecoder decoder
    cdef public Connection conn
    cdef public list pieces
    cdef public list oddities
    cdef public object verdict
    cdef public str client_known_by
    cdef public bint is_named
    cdef public bytes key_0
    cdef public bytes key_1
    cdef public int file_index
    cdef public long long closed_order_ns
