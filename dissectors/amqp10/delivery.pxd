cimport cython

cdef class DeliveryState:
    cdef public str name
    cdef public str outcome
    cdef public str condition
    cdef public bytes txn_id
    cdef public bytes declared_txn
    cdef public bint is_terminal
    cdef public long long word

@cython.final
cdef class Delivery:
    cdef public long long transfer_id
    cdef public int side
    cdef public long long delivery_id
    cdef public bytes tag
    cdef public object link
    cdef public object session
    cdef public str capture
    cdef public long long first_ts
    cdef public long long last_ts
    cdef public long long first_packet
    cdef public long long last_packet
    cdef public long long frame_count
    cdef public list parts
    cdef public long long held_bytes
    cdef public long long message_bytes
    cdef public long long message_format
    cdef public bytes head
    cdef public long long body_bytes
    cdef public long long body_kind
    cdef public long long body_hash
    cdef public bint is_whole
    cdef public bint is_done
    cdef public bint is_complete
    cdef public bint is_aborted
    cdef public bint is_resumed
    cdef public bint is_presettled
    cdef public bint is_settled
    cdef public str outcome
    cdef public str condition
    cdef public long long outcome_ts
    cdef public long long settled_ts
    cdef public long long settled_packet
    cdef public long long settled_by
    cdef public long long settle_kind
    cdef public bytes txn_id
    cdef public long long txn_outcome
    cdef public long long related
    cdef public long long relation

    cdef int begin(self, long long transfer_id, int side) except -1

cpdef Delivery new_delivery(long long transfer_id, int side)
