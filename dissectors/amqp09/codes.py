"""Codes of our vocabulary that the modules of this family share.

Compiled modules declare their own C copies of these: a compiled module's C variables cannot be
imported.
"""

from __future__ import annotations

from dissectors.core.words import word

# The cell of an absent value.
NONE = -0x7FFFFFFFFFFFFFFF - 1

PUBLISH = word("publish")
DELIVER = word("deliver")
GET = word("get")
RETURN = word("return")
TRANSFER = word("transfer")

ACCEPTED = word("accepted")
REJECTED = word("rejected")
RELEASED = word("released")

OPEN = word("open")
COMMITTED = word("committed")
ROLLED_BACK = word("rolled-back")

RETURN_OF = word("return-of")
REDELIVERY_OF = word("redelivery-of")
CHILD_OF = word("child-of")
