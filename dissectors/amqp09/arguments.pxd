from dissectors.core.rows cimport RowBuffer

cdef class Arguments:
    cdef public str consumer_tag
    cdef public str exchange
    cdef public str routing_key
    cdef public bint is_mandatory
    cdef public str json
    cdef public bytes head
    cdef public bytes tail
    cdef public Py_ssize_t json_batch
    cdef public long long json_code
    cdef public Py_ssize_t address_batch
    cdef public str queue
    cdef public str capture
    cdef public long long exchange_code
    cdef public long long key_code
    cdef public long long queue_code
    cdef public long long address_code
    cdef public long long capture_code

    cpdef long long code_json(self, RowBuffer rows) except -1
    cpdef int code_address(self, RowBuffer rows, str queue, str capture) except -1
