from libc.string cimport memcmp

cpdef bint is_alike(long long[::1] cells) except -1
cpdef bint is_blank(long long[::1] cells) except -1
cpdef int fill(long long[::1] cells, long long value) except -1
cpdef Py_ssize_t renumber(long long[::1] cells, int[::1] numbers, int[::1] known) except -1
