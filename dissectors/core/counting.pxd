cpdef int combine(
    long long[::1] places, long long[::1] cells, int[::1] numbers, long long count) except -1
cpdef int add_up(
    long long[::1] places, long long[::1] weights, long long[::1] counts,
    long long[::1] sums) except -1
