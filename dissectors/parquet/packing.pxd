cdef enum:
    BLOCK = 128
    MINIBLOCK = 32
    MINIBLOCKS = 4
    BLOCK_BYTES = 10 + 4 + 8 * 128
    HEAD_BYTES = 32
    WIDE = 32
    ALL_BITS = 64

cdef inline long long wrap_64(unsigned long long number) noexcept:
    return <long long> number

cdef inline long long wrap_32(long long number) noexcept:
    return <int> number

cdef inline long long low_32(long long number) noexcept:
    return <unsigned int> number

cdef inline int bit_width(unsigned long long bits) noexcept:
    cdef int width = 0
    while bits:
        width += 1
        bits >>= 1
    return width

cdef inline Py_ssize_t put_word(
    unsigned char* out, Py_ssize_t at, unsigned int number) noexcept:
    out[at] = number & 0xFF
    out[at + 1] = (number >> 8) & 0xFF
    out[at + 2] = (number >> 16) & 0xFF
    out[at + 3] = number >> 24
    return at + 4

cdef inline Py_ssize_t put_varint(
    unsigned char* out, Py_ssize_t at, unsigned long long number) noexcept:
    while number > 0x7F:
        out[at] = (number & 0x7F) | 0x80
        number >>= 7
        at += 1
    out[at] = number
    return at + 1

cdef inline unsigned long long zigzag(long long number) noexcept:
    return (<unsigned long long> number << 1) ^ <unsigned long long> (number >> 63)

cpdef int check_room(Py_ssize_t have, Py_ssize_t needed) except -1
cpdef Py_ssize_t encode_deltas(
    long long[::1] values, Py_ssize_t count, bint is_narrow, long long[::1] bounds,
    unsigned char[::1] out) except -1
cdef int widen(
    long long[::1] bounds, long long* numbers, Py_ssize_t count) except -1
cdef Py_ssize_t _put_block(
    long long* values, Py_ssize_t begin, Py_ssize_t count, bint is_narrow,
    unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _put_miniblocks(
    long long* deltas, unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _put_whole(
    long long* numbers, Py_ssize_t start, unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _pack(
    long long* numbers, Py_ssize_t start, int width, unsigned char* out,
    Py_ssize_t at) noexcept
