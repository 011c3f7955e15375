cimport cython

from dissectors.amqp10.delivery cimport Delivery

@cython.final
cdef class Link:
    cdef public long long link_id
    cdef public object session
    cdef public int sender
    cdef public str name
    cdef public str kind
    cdef public str address
    cdef public Py_ssize_t address_batch
    cdef public long long address_code
    cdef public Py_ssize_t fields_batch
    cdef public long long fields_key
    cdef public long long fields_code
    cdef public bint is_secret
    cdef public bint is_coordinator
    cdef public bint is_inferred
    cdef public dict attach_0
    cdef public dict attach_1
    cdef public long long handle_0
    cdef public long long handle_1
    cdef public bint is_detached_0
    cdef public bint is_detached_1
    cdef public int detached_by
    cdef public long long begin_ts
    cdef public long long established_ts
    cdef public long long end_ts
    cdef public str end_kind
    cdef public str end_condition
    cdef public str end_reason
    cdef public object resumes
    cdef public Delivery current
    cdef public bytes last_head
    cdef public long long delivery_count
    cdef public long long limit
    cdef public long long receiver_credit
    cdef public long long initial_credit
    cdef public long long initial_delivery_count
    cdef public long long available
    cdef public bint is_draining
    cdef public long long transfer_count
    cdef public long long body_bytes
    cdef public long long unsettled_count
    cdef public str default_outcome
