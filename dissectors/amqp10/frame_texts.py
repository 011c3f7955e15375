"""What hot frames say beside their columns, as JSON: made once for all frames that say the same.

The words and their order are those that the tables give to a rare frame (`render.py`).
"""

import cython

from dissectors.amqp10.render import dump
from dissectors.core.rows import RowBuffer

#: Texts kept by what they say; all are dropped when there are more.
MAX_CACHED = 4096

_TRANSFER_FLAGS = ("resume", "aborted", "batchable")
_ROLES = ("sender", "receiver")
_RCV_MODES = ("first", "second")


class FrameTexts:
    """The texts of one connection. Absent numbers and flags are -1."""

    def __init__(self) -> None:
        self.transfer_texts: dict = {}
        # Codes of a disposition's texts in the present batch, by what it says.
        self.disposition_codes: dict = {}
        self.disposition_batch = -1
        # The last of them: dispositions seldom differ from the one before.
        self.disposition_key = -1
        self.disposition_code = 0

    def transfer(self, key, handle, message_format, mode, resume, aborted, batchable) -> str:
        """`key` stands for all the others together."""
        text = self.transfer_texts.get(key)
        if text is None:
            fields = {"handle": handle}
            if message_format >= 0:
                fields["message-format"] = message_format
            if mode >= 0:
                fields["rcv-settle-mode"] = _RCV_MODES[mode]
            for name, flag in zip(_TRANSFER_FLAGS, (resume, aborted, batchable), strict=True):
                if flag >= 0:
                    fields[name] = flag == 1
            if len(self.transfer_texts) >= MAX_CACHED:
                self.transfer_texts.clear()
            text = self.transfer_texts[key] = dump(fields)
        return text

    def disposition(
        self, rows: RowBuffer, role: cython.int, batchable: cython.int
    ) -> cython.longlong:
        """The code of the text in the batch that `rows` is filling."""
        key: cython.int = role * 3 + batchable + 1
        if self.disposition_batch != rows.batch_no:
            self.disposition_batch = rows.batch_no
            self.disposition_codes = {}
        elif self.disposition_key == key:
            return self.disposition_code
        code = self.disposition_codes.get(key)
        if code is None:
            fields = {"role": _ROLES[role]}
            if batchable >= 0:
                fields["batchable"] = batchable == 1
            code = self.disposition_codes[key] = rows.text(dump(fields))
        self.disposition_key = key
        self.disposition_code = code
        return code


def flow_text(
    next_incoming_id: cython.longlong,
    incoming_window: cython.longlong,
    next_outgoing_id: cython.longlong,
    outgoing_window: cython.longlong,
    handle: cython.longlong,
    available: cython.longlong,
    drain: cython.int,
    echo: cython.int,
) -> str:
    """Flows seldom say the same twice: their text is made each time."""
    text = "" if next_incoming_id < 0 else f'"next-incoming-id":{next_incoming_id},'
    text += (
        f'"incoming-window":{incoming_window},"next-outgoing-id":{next_outgoing_id},'
        f'"outgoing-window":{outgoing_window}'
    )
    if handle >= 0:
        text += f',"handle":{handle}'
    if available >= 0:
        text += f',"available":{available}'
    if drain >= 0:
        text += ',"drain":true' if drain else ',"drain":false'
    if echo >= 0:
        text += ',"echo":true' if echo else ',"echo":false'
    return "{" + text + "}"
