"""Argument lists that come again and again: decoded once, and coded once per batch of rows.

A sender mostly repeats itself, so the decoder first compares a list's octets with the last one's.
What a row says of it is kept as codes, which are valid as long as the batch is the same.
"""

import cython

from dissectors.core.rows import NULL_CELL, RowBuffer

NULL = cython.declare(cython.longlong, NULL_CELL)
NO_BATCH = cython.declare(cython.int, -1)


class Arguments:
    """The arguments of a publish, a deliver or a get-ok, but for what differs each time."""

    def __init__(self, consumer_tag, exchange, routing_key, is_mandatory, json) -> None:
        self.consumer_tag = consumer_tag
        self.exchange = exchange
        self.routing_key = routing_key
        self.is_mandatory = is_mandatory
        self.json = json
        # The list's octets before and after the delivery tag and the redelivered bit.
        self.head = b""
        self.tail = b""
        self.json_batch = NO_BATCH
        self.json_code = 0
        self.address_batch = NO_BATCH
        self.queue = None
        self.capture = None

    def code_json(self, rows: RowBuffer) -> cython.longlong:
        """Code of the JSON in this batch of frames."""
        if self.json_batch != rows.batch_no:
            self.json_batch = rows.batch_no
            self.json_code = rows.text(self.json)
        return self.json_code

    def code_address(self, rows: RowBuffer, queue: str | None, capture: str) -> cython.int:
        """The codes of the address from this queue, in this batch of transfers and this file."""
        self.queue = queue
        self.capture = capture
        address: str = address_of(self.queue, self.exchange, self.routing_key)
        self.address_batch = rows.batch_no
        self.exchange_code = self.key_code = self.queue_code = self.address_code = NULL
        if self.queue is not None:
            self.queue_code = rows.text(self.queue)
        if self.exchange is not None:
            self.exchange_code = rows.text(self.exchange)
            if self.routing_key is not None:
                self.key_code = rows.text(self.routing_key)
        if address is not None:
            self.address_code = rows.text(address)
        self.capture_code = rows.text(self.capture)
        return 0


def address_of(queue, exchange, routing_key):
    """Where a message goes or comes from, in one string."""
    if queue is not None:
        return queue
    if exchange is None:
        return None
    if routing_key is None:
        return exchange
    return f"{exchange}/{routing_key}"
