from libc.string cimport memcmp

cpdef long long be16(bytes buf, Py_ssize_t at) except? -1
cpdef long long be32(bytes buf, Py_ssize_t at) except? -1
cpdef unsigned long long be64(bytes buf, Py_ssize_t at) except? 0
cpdef bytes cut(bytes buf, Py_ssize_t at, Py_ssize_t end)
cpdef bint is_same(bytes buf, Py_ssize_t at, Py_ssize_t end, bytes known) except -1
