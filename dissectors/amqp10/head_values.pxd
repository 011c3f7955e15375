from dissectors.amqp10.octets cimport read_u32

cpdef long long read_timestamp(bytes buf, Py_ssize_t at) except? -1
cpdef object primitive_text(bytes buf, Py_ssize_t at, Py_ssize_t stop)
