from dissectors.parquet.packing cimport check_room

cpdef Py_ssize_t compact(long long[::1] cells, unsigned char[::1] bits) except -1
cdef unsigned char marks_of(long long* column, Py_ssize_t begin) noexcept
cdef unsigned char marks_of_rest(long long* column, Py_ssize_t begin, Py_ssize_t size) noexcept
cpdef Py_ssize_t find_new(
    long long[::1] codes, Py_ssize_t count, int[::1] known, int[::1] found) except? -1
cpdef bint translate(
    long long[::1] codes, Py_ssize_t count, int[::1] known, int[::1] out) except -1
