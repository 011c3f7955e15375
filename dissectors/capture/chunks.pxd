from dissectors.capture.decap cimport PacketView
from dissectors.capture.reader cimport Reader
from dissectors.capture.source cimport PacketSource

cdef class Chunk:
    cdef public bytes key
    cdef public bytearray octets
    cdef public long long[::1] cells
    cdef public Py_ssize_t capacity
    cdef public Py_ssize_t count

    cpdef int grow(self) except -1

cdef class FragmentSpotter:
    cdef public bint is_found
    cdef public object capture

cdef class ChunkWriter:
    cdef public Reader reader
    cdef public PacketView view
    cdef public long long last_packet_no
    cdef public int max_bad
    cdef public FragmentSpotter spotter
    cdef public dict chunks
    cdef public Py_ssize_t held_bytes
    cdef public list ready
    cdef public list bad
    cdef public long long bad_count
    cdef public tuple last_bad

    cpdef int pump(self) except -1
    cpdef int note_bad(self) except -1
    cpdef int keep(self, Chunk chunk) except -1
    cpdef int hand_out(self, Chunk chunk) except -1
    cpdef int flush(self) except -1

cdef class HeldChunk:
    cdef public long long[::1] cells
    cdef public Py_ssize_t count
    cdef public bytes octets
    cdef public int file_index
    cdef public str capture
    cdef public Py_ssize_t at
    cdef public Py_ssize_t pos
    cdef public Py_ssize_t run_end

    cpdef tuple place(self, Py_ssize_t at)

cdef class ChunkSource(PacketSource):
    cdef public dict file_numbers
    cdef public HeldChunk chunk
    cdef public HeldChunk newest
    cdef public list held
    cdef public long long push_count

    cpdef int advance(self) except -1
    cpdef int next_run(self) except -1
