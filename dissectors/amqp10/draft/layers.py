"""Open of the draft (Book III §7.1) as facts of the `connections` row; headers, SASL and close
are told as in the published version."""

from __future__ import annotations

from typing import Any

from ..composites import Composite
from ..layers import Layers
from ..meaning import text_of
from ..render import composite_tree, dump

_SIDES = ("client", "server")
_OPEN_COLUMNS = frozenset(("container-id", "hostname"))
_MS_PER_S = 1000


class DraftLayers(Layers):
    """What the connection itself has gone through."""

    def open(self, side: int, frame: Composite, ts_ns: int) -> None:
        facts = self._conn.facts
        self._opens[side] = frame
        who = _SIDES[side]
        properties = frame["properties"] if isinstance(frame["properties"], dict) else {}
        facts[f"{who}_container"] = frame["container-id"]
        facts[f"{who}_product"] = text_of(properties.get("product"))
        facts[f"{who}_version"] = text_of(properties.get("version"))
        if side == 0:
            facts["vhost"] = frame["hostname"]
        rest = composite_tree(self._vocabulary, frame, _OPEN_COLUMNS)
        if rest:
            self._details[who] = rest
        facts["frame_max"] = self._least("max-frame-size")
        facts["channel_max"] = self._least("channel-max")
        # The draft gives no unit; seconds are what an interval of two octets is for.
        interval = self._least("heartbeat-interval")
        facts["heartbeat_ms"] = None if interval is None else interval * _MS_PER_S
        if None not in self._opens:
            facts.setdefault("opened_ts_ns", ts_ns)

    def finish(self, ts_ns: int) -> None:
        """The draft binds nobody to an idle time, so silence is not judged."""
        if self._details:
            self._conn.facts["details"] = dump(self._details)

    def _least(self, field: str) -> Any:
        """What both sides can use; a side that says nothing sets no limit."""
        stated = [o[field] for o in self._opens if o is not None and o[field] is not None]
        return min(stated, default=None)
