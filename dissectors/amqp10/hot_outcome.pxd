from dissectors.amqp10.delivery cimport DeliveryState

cpdef DeliveryState plain_outcome(long long code)
