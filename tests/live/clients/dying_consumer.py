"""Take some messages with pika, acknowledge none, and vanish without a word to the broker.

Arguments: port, queue, how many. Prints how many came.
"""

import os
import sys

import pika

port, queue, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
channel = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)).channel()
messages = channel.consume(queue)
print(sum(next(messages) is not None for _ in range(count)), flush=True)
os._exit(0)
