cpdef int check_room(Py_ssize_t have, Py_ssize_t needed) except -1
cpdef Py_ssize_t encode_deltas(
    long long[::1] values, Py_ssize_t count, bint is_narrow, long long[::1] bounds,
    unsigned char[::1] out) except -1
cdef int widen(
    long long[::1] bounds, long long* numbers, Py_ssize_t count) except -1
cdef Py_ssize_t put_varint(
    unsigned char* out, Py_ssize_t at, unsigned long long number) noexcept
cdef unsigned long long zigzag(unsigned long long number) noexcept
cdef Py_ssize_t _put_block(
    long long* values, Py_ssize_t begin, Py_ssize_t count, bint is_narrow,
    unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _put_miniblocks(
    unsigned long long* deltas, unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _pack(
    unsigned long long* numbers, Py_ssize_t start, int width, unsigned char* out,
    Py_ssize_t at) noexcept
cdef Py_ssize_t put_word(
    unsigned char* out, Py_ssize_t at, unsigned long long number) noexcept
cpdef Py_ssize_t encode_codes(
    int[::1] codes, Py_ssize_t count, int width, unsigned char[::1] out) except -1
cpdef Py_ssize_t encode_run(
    int code, Py_ssize_t count, int width, unsigned char[::1] out) except -1
cdef Py_ssize_t _put_run(
    int code, Py_ssize_t count, int width, unsigned char* out, Py_ssize_t at) noexcept
cdef Py_ssize_t _put_groups(
    int* codes, Py_ssize_t begin, Py_ssize_t end, int width, unsigned char* out,
    Py_ssize_t at) noexcept
