from dissectors.core.rows cimport RowBuffer

cdef class Sink:
    cdef public object tap
    cdef public list ready
    cdef public dict row_counts
    cdef public str capture
    cdef public dict buffers
    cdef public RowBuffer connections
    cdef public RowBuffer sessions
    cdef public RowBuffer links
    cdef public RowBuffer frames
    cdef public RowBuffer transfers
    cdef public RowBuffer credits
    cdef public RowBuffer problems
    cdef public RowBuffer payloads
