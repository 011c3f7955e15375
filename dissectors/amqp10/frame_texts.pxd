from dissectors.core.rows cimport RowBuffer

cdef class FrameTexts:
    cdef public dict transfer_texts
    cdef public dict disposition_codes
    cdef public Py_ssize_t disposition_batch
    cdef public int disposition_key
    cdef public long long disposition_code

    cpdef long long disposition(self, RowBuffer rows, int role, int batchable) except? -1

cpdef str flow_text(
    long long next_incoming_id, long long incoming_window, long long next_outgoing_id,
    long long outgoing_window, long long handle, long long available, int drain, int echo)
