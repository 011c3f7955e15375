from dissectors.parquet.packing cimport check_room

cpdef Py_ssize_t compact(
    long long[::1] cells, long long[::1] out, unsigned char[::1] bits) except -1
cpdef Py_ssize_t find_new(
    long long[::1] codes, Py_ssize_t count, int[::1] known, int[::1] found) except -1
cpdef int translate(
    long long[::1] codes, Py_ssize_t count, int[::1] known, int[::1] out) except -1
