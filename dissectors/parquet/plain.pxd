from libc.string cimport memcpy

from dissectors.parquet.packing cimport check_room

cpdef Py_ssize_t pack_bits(
    long long[::1] numbers, Py_ssize_t count, unsigned char[::1] out) except -1
cpdef Py_ssize_t encode_strings(
    long long[::1] sizes, Py_ssize_t count, unsigned char[::1] heap,
    unsigned char[::1] out) except -1
cpdef Py_ssize_t encode_chosen(
    long long[::1] codes, Py_ssize_t count, long long[::1] offsets, unsigned char[::1] octets,
    unsigned char[::1] loose, unsigned char[::1] out) except -1
cpdef Py_ssize_t measure_chosen(
    long long[::1] codes, Py_ssize_t count, long long[::1] offsets,
    long long[::1] lengths) except -1
cdef Py_ssize_t _put_string(
    unsigned char[::1] octets, Py_ssize_t start, Py_ssize_t size, unsigned char[::1] out,
    Py_ssize_t at) except -1
cpdef Py_ssize_t encode_digests(
    long long[::1] digests, Py_ssize_t count, unsigned char[::1] out) except -1
