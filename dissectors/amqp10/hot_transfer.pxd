from dissectors.amqp10.delivery cimport Delivery, DeliveryState
from dissectors.amqp10.fields cimport Fields
from dissectors.amqp10.frame_texts cimport FrameTexts
from dissectors.amqp10.hot_outcome cimport plain_outcome
from dissectors.amqp10.link cimport Link
from dissectors.amqp10.octets cimport after_code, cut
from dissectors.amqp10.session cimport Session
from dissectors.amqp10.state cimport ConnectionState
from dissectors.core.rows cimport RowBuffer

cpdef int take_transfer(
    ConnectionState state, Fields fields, FrameTexts texts, int side, long long channel,
    bytes buf, Py_ssize_t start, Py_ssize_t body, Py_ssize_t end) except -1
