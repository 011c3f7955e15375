from dissectors.parquet.packing cimport check_room, put_varint, put_word

cdef enum:
    GROUP = 8
    WORTH_A_RUN = 16
    MAX_VARINT_BYTES = 10
    CODE_BYTES = 5

cpdef Py_ssize_t encode_codes(
    int[::1] codes, Py_ssize_t count, int width, unsigned char[::1] out) except -1
cpdef Py_ssize_t encode_run(
    int code, Py_ssize_t count, int width, unsigned char[::1] out) except -1
cdef Py_ssize_t _put_run(
    int code, Py_ssize_t count, int width, unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _put_groups(
    int* codes, Py_ssize_t begin, Py_ssize_t end, int width, unsigned char* out,
    Py_ssize_t at) noexcept
