from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcmp

cdef inline const unsigned char* octets_at(
    bytes buf, Py_ssize_t at, Py_ssize_t end) except NULL:
    if buf is None or at < 0 or at > end or end > PyBytes_GET_SIZE(buf):
        raise IndexError("octets are missing")
    return <const unsigned char*> PyBytes_AS_STRING(buf) + at

cdef inline long long be16(bytes buf, Py_ssize_t at) except -1:
    cdef const unsigned char* octets = octets_at(buf, at, at + 2)
    return octets[0] << 8 | octets[1]

cdef inline long long be32(bytes buf, Py_ssize_t at) except -1:
    cdef const unsigned char* octets = octets_at(buf, at, at + 4)
    return (
        <long long> octets[0] << 24 | <long long> octets[1] << 16 | <long long> octets[2] << 8
        | octets[3])

cdef inline unsigned long long be64(bytes buf, Py_ssize_t at) except? 0:
    cdef const unsigned char* octets = octets_at(buf, at, at + 8)
    return (
        <unsigned long long> octets[0] << 56 | <unsigned long long> octets[1] << 48
        | <unsigned long long> octets[2] << 40 | <unsigned long long> octets[3] << 32
        | <unsigned long long> octets[4] << 24 | <unsigned long long> octets[5] << 16
        | <unsigned long long> octets[6] << 8 | <unsigned long long> octets[7])

cdef inline bytes cut(bytes buf, Py_ssize_t at, Py_ssize_t end):
    return PyBytes_FromStringAndSize(<const char*> octets_at(buf, at, end), end - at)

cdef inline str cut_text(bytes buf, Py_ssize_t at, Py_ssize_t end):
    return PyUnicode_DecodeUTF8(<char*> octets_at(buf, at, end), end - at, NULL)

cdef inline bint is_plain(bytes buf, Py_ssize_t at, Py_ssize_t end) except -1:
    cdef const unsigned char* octets = octets_at(buf, at, end)
    cdef Py_ssize_t i
    for i in range(end - at):
        if octets[i] < 0x20 or octets[i] > 0x7F or octets[i] == 0x22 or octets[i] == 0x5C:
            return False
    return True

cdef inline bint is_same(bytes buf, Py_ssize_t at, Py_ssize_t end, bytes known) noexcept:
    if at < 0 or end > PyBytes_GET_SIZE(buf) or end - at != PyBytes_GET_SIZE(known):
        return False
    return memcmp(PyBytes_AS_STRING(buf) + at, PyBytes_AS_STRING(known), end - at) == 0
