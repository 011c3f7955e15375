from libc.string cimport memcmp, memcpy

cpdef long long read_u32(bytes buf, Py_ssize_t at) except? -1
cdef long long _u32(unsigned char* octets, Py_ssize_t at) noexcept
cpdef Py_ssize_t skip_value(bytes buf, Py_ssize_t at, Py_ssize_t end, int depth) except? -1
cpdef long long read_code(bytes buf, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef Py_ssize_t after_code(bytes buf, Py_ssize_t at) except? -1
cpdef long long list_count(bytes buf, Py_ssize_t at, Py_ssize_t stop) except? -1
cpdef Py_ssize_t list_items(bytes buf, Py_ssize_t at) except? -1
cpdef long long read_uint(bytes buf, Py_ssize_t at, Py_ssize_t end) except? -2
cpdef int read_boolean(bytes buf, Py_ssize_t at, Py_ssize_t end) except? -2
cpdef long long take_uint(bytes buf, Py_ssize_t at, Py_ssize_t end) except? 0
cpdef long long take_boolean(bytes buf, Py_ssize_t at, Py_ssize_t end) except? 0
cpdef bytes cut(bytes buf, Py_ssize_t start, Py_ssize_t stop)
cpdef bint is_same(bytes buf, Py_ssize_t start, Py_ssize_t stop, bytes known) except -1
cpdef bint is_ascii(bytes buf, Py_ssize_t start, Py_ssize_t stop) except -1
