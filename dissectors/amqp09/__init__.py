"""The AMQP 0-9 family: 0-8, 0-9, the 0-9 revision 1 draft, 0-9-1, and 0-10 as far as its names.

Decoder and encoder stand side by side and know no files, sockets, clocks or captures: `schema` and
`dialects` say what the protocols define, `values`, `field_tables`, `methods`, `headers` and
`frames` turn octets into values and back.
"""
