from dissectors.amqp10.fields cimport Fields
from dissectors.amqp10.frame_texts cimport flow_text
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.octets cimport after_code
from dissectors.amqp10.registry cimport likely_sender
from dissectors.amqp10.session cimport Session
from dissectors.amqp10.state cimport ConnectionState
from dissectors.core.rows cimport RowBuffer

cpdef int take_flow(
    ConnectionState state, Fields fields, int side, long long channel, bytes buf,
    Py_ssize_t start, Py_ssize_t body, Py_ssize_t end) except -1
