"""TLS 1.2 and 1.3 opened with a key log, so that AMQPS is read like plain AMQP.

Sans-IO and passive: it never negotiates, it follows what two peers did. Secrets come in through
``keylog`` and never leave: no row, message or representation shows them.
"""
