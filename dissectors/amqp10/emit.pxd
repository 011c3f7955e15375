from dissectors.amqp10.delivery cimport Delivery
from dissectors.amqp10.head cimport HeadReader
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.session cimport Session
from dissectors.core.connection cimport Connection
from dissectors.core.rows cimport RowBuffer

cdef class TransferWriter:
    cdef public Connection conn
    cdef public HeadReader head_reader

    cpdef int write(self, Delivery delivery) except -1
