from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.head cimport HeadReader
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.session cimport Session
from dissectors.core.connection cimport Connection
from dissectors.core.rows cimport RowBuffer

cdef class TransferWriter:
    cdef public Connection conn
    cdef public HeadReader head_reader
    cdef public str capture
    cdef public Py_ssize_t capture_batch
    cdef public long long capture_code
    cdef public str outcome
    cdef public long long outcome_code

    cpdef int write(self, Delivery delivery) except -1
    cdef long long _outcome_code(self, str outcome) except? -1
