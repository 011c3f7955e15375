cimport cython

from dissectors.amqp09.arguments cimport Arguments
from dissectors.amqp09.properties cimport Properties
from dissectors.amqp09.wire cimport cut
from dissectors.core.connection cimport Connection
from dissectors.core.digest cimport digest
from dissectors.core.rows cimport RowBuffer

@cython.final
cdef class Link:
    cdef public long long link_id
    cdef public long long session_id
    cdef public str kind
    cdef public str queue
    cdef public bint is_no_ack
    cdef public long long prefetch
    cdef public long long transfer_count
    cdef public long long body_bytes
    cdef public long long unsettled_count
    cdef public bint is_ended
    cdef public dict row

@cython.final
cdef class Transfer:
    cdef public long long transfer_id
    cdef public long long kind
    cdef public int side
    cdef public long long class_id
    cdef public long long session_id
    cdef public Link link
    cdef public Arguments arguments
    cdef public str exchange
    cdef public str routing_key
    cdef public str queue
    cdef public str capture
    cdef public str condition
    cdef public str transaction_id
    cdef public unsigned long long tag
    cdef public bint has_tag
    cdef public long long first_ts
    cdef public long long last_ts
    cdef public long long first_packet
    cdef public long long last_packet
    cdef public long long frame_count
    cdef public unsigned long long body_bytes
    cdef public unsigned long long body_size
    cdef public unsigned long long missing_bytes
    cdef public object hasher
    cdef public unsigned long long digest
    cdef public bint has_digest
    cdef public bytearray payload
    cdef public Properties properties
    cdef public bint is_presettled
    cdef public bint is_redelivered
    cdef public bint has_redelivered
    cdef public bint has_header
    cdef public bint is_complete
    cdef public bint is_assembled
    cdef public bint is_gapped
    cdef public bint is_settled
    cdef public bint is_emitted
    cdef public bint is_held
    cdef public bint is_mandatory
    cdef public bint is_pending
    cdef public long long outcome
    cdef public long long outcome_ts
    cdef public long long settled_ts
    cdef public long long settled_packet
    cdef public long long settled_by
    cdef public long long settle_kind
    cdef public bint has_reply_code
    cdef public long long reply_code
    cdef public long long transaction_outcome
    cdef public long long related_id
    cdef public long long relation
    cdef public long long children_left
    cdef public Transfer parent

    cpdef int add_body(self, bytes buf, Py_ssize_t start, Py_ssize_t end) except -1
    cpdef object final_digest(self)

cpdef Transfer new_transfer(long long transfer_id, long long kind, int side)
cpdef long long signed_digest(Transfer t) except? -1
cpdef int emit_transfer(Connection conn, Transfer t) except -1
cpdef int code_properties(RowBuffer rows, Properties p) except -1
cpdef int emit_properties(RowBuffer rows, Py_ssize_t base, Properties p) except -1
