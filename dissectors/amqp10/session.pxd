cimport cython

from dissectors.amqp10.link cimport Link
from dissectors.amqp10.unsettled cimport Unsettled

@cython.final
cdef class Endpoint:
    cdef public long long channel
    cdef public dict links
    cdef public long long last_handle
    cdef public Link last_link
    cdef public Unsettled unsettled
    cdef public long long highest_delivery_id
    cdef public long long next_outgoing_id
    cdef public long long initial_outgoing_id
    cdef public long long remote_window
    cdef public long long incoming_window
    cdef public long long outgoing_window
    cdef public long long initial_incoming_window
    cdef public long long initial_outgoing_window
    cdef public long long handle_max
    cdef public bint has_begun
    cdef public bint has_ended

@cython.final
cdef class Session:
    cdef public long long session_id
    cdef public Endpoint end_0
    cdef public Endpoint end_1
    cdef public int begun_by
    cdef public long long begin_ts
    cdef public long long established_ts
    cdef public long long end_ts
    cdef public int ended_by
    cdef public str end_condition
    cdef public str end_reason
    cdef public bint is_inferred
    cdef public dict links
    cdef public dict names
    cdef public long long transfer_count
    cdef public long long commit_count
    cdef public long long rollback_count
    cdef public dict details
