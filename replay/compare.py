"""Two conversations compared by their tables: what one side did, captured and live.

Works on the dissectors' rows alone, so that both protocols, and two captures as well as a capture
and a live run, are judged by the same rules (`rules`). Live names are read back into captured ones
before anything is compared.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.rules import (
    IGNORED_FIELDS,
    LIMIT_COLUMNS,
    PROPERTY_COLUMNS,
    RULES,
    SOFT_FIELDS,
    Silence,
)
from replay.script import Rows
from replay.views import (
    Row,
    View,
    content_of,
    describe,
    end_text,
    fields_of,
    frame_sequences,
    outcome_text,
    transfers_by_session,
)

# More of the same kind on one connection are counted, not listed.
MAX_PER_RULE = 20
DIRECTIONS = {"client": "c2s", "server": "s2c"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One finding. ``subject`` is the frame or kind of message that it is about."""

    rule: str
    severity: str
    connection_id: str
    where: str
    subject: str
    text: str
    captured: str | None = None
    live: str | None = None
    packet_no: int | None = None


class Comparison:
    """Compares what ``peer`` ("server", "client" or "both") did."""

    def __init__(
        self, captured: View, live: View, peer: str = "server", silence: Silence | None = None
    ) -> None:
        self._captured = captured
        self._live = live
        self._peers = ("client", "server") if peer == "both" else (peer,)
        self._silence = silence or Silence()
        self._found: list[Difference] = []
        self._counts: Counter[str] = Counter()

    def run(self) -> list[Difference]:
        self._limits()
        self._ends()
        for peer in self._peers:
            direction = DIRECTIONS[peer]
            self._frames(direction)
            self._deliveries(direction)
            self._outcomes("c2s" if direction == "s2c" else "s2c")
        for rule, count in self._counts.items():
            if count > MAX_PER_RULE:
                self._found.append(
                    Difference(
                        rule,
                        RULES[rule].severity,
                        self._captured.connection_id,
                        "",
                        "",
                        f"and {count - MAX_PER_RULE} more of rule {rule}",
                    )
                )
        return self._found

    def _tell(
        self,
        rule: str,
        where: str,
        subject: str,
        text: str,
        said: Sequence[object] = (None, None),
        packet_no: int | None = None,
    ) -> None:
        """``said``: captured and live."""
        if self._silence.covers(rule, subject):
            return
        self._counts[rule] += 1
        if self._counts[rule] <= MAX_PER_RULE:
            captured, live = (None if v is None else str(v) for v in said)
            self._found.append(
                Difference(
                    rule,
                    RULES[rule].severity,
                    self._captured.connection_id,
                    where,
                    subject,
                    text,
                    captured,
                    live,
                    packet_no,
                )
            )

    # -- the connection -------------------------------------------------------------------

    def _limits(self) -> None:
        one, other = self._captured.row(), self._live.row()
        for column in LIMIT_COLUMNS:
            said = (one.get(column), other.get(column))
            if said[0] != said[1]:
                name = column.replace("_", "-")
                text = f"{name}: captured {said[0]}, live {said[1]}"
                self._tell("limits", "connection", name, text, said)

    def _ends(self) -> None:
        """Who closed it and why. A capture that ends before the close says nothing."""
        one, other = self._captured.row(), self._live.row()
        if one.get("close_initiator") is None and other.get("close_initiator") is None:
            return
        keys = ("close_initiator", "close_code", "close_condition")
        captured, live = ([row.get(key) for key in keys] for row in (one, other))
        is_cut = one.get("close_initiator") is None and one.get("tcp_end") == "open"
        if captured != live and not is_cut:
            said = [end_text(row, "close") for row in (one, other)]
            self._tell("connection-end", "connection", "close",
                       f"captured: {said[0]}; live: {said[1]}", said)  # fmt: skip

    # -- frames ---------------------------------------------------------------------------

    def _frames(self, direction: str) -> None:
        captured = frame_sequences(self._captured, direction)
        live = frame_sequences(self._live, direction)
        for place in sorted(captured.keys() | live.keys()):
            self._sequence(place, captured.get(place, []), live.get(place, []))
        for blocked in (r for r in self._live.rows("frames") if r["name"] == "connection.blocked"):
            if not any(r["name"] == blocked["name"] for r in self._captured.rows("frames")):
                reason = fields_of(self._live, blocked).get("reason")
                self._tell("blocked", "connection", blocked["name"],
                           f"the broker blocked the connection: {reason}")  # fmt: skip
                break

    def _sequence(self, place: tuple[int, int], captured: Rows, live: Rows) -> None:
        where = f"channel {place[1]}"
        names = [[row["name"] for row in rows] for rows in (captured, live)]
        matcher = difflib.SequenceMatcher(None, names[0], names[1], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                for one, other in zip(captured[i1:i2], live[j1:j2], strict=True):
                    self._compare_fields(where, one, other)
                continue
            missing, extra = captured[i1:i2], live[j1:j2]
            said = [", ".join(self._say(v, r) for r in rows) or "nothing"
                    for v, rows in ((self._captured, missing), (self._live, extra))]  # fmt: skip
            subject = (missing or extra)[0]["name"]
            packet = (missing or captured[i1 - 1 : i1] or [{}])[0].get("packet_no")
            self._tell("sequence", where, subject, f"captured {said[0]}; live {said[1]}", said,
                       packet)  # fmt: skip

    def _say(self, view: View, row: Row) -> str:
        code = f" {row['reply_code']}" if row["reply_code"] else ""
        text = fields_of(view, row).get("reply-text", "") if code else ""
        return f"{row['name']}{code}{f' ({text})' if text else ''}"

    def _compare_fields(self, where: str, one: Row, other: Row) -> None:
        captured, live = fields_of(self._captured, one), fields_of(self._live, other)
        for column in ("reply_code", "is_redelivered"):
            if one[column] is not None or other[column] is not None:
                captured[column.replace("_", "-")] = one[column]
                live[column.replace("_", "-")] = other[column]
        for key in sorted(captured.keys() | live.keys()):
            if key in IGNORED_FIELDS or captured.get(key) == live.get(key):
                continue
            rule = SOFT_FIELDS.get(key) or SOFT_FIELDS.get(key.rpartition(".")[2], "fields")
            said = [json.dumps(d.get(key), ensure_ascii=False) for d in (captured, live)]
            self._tell(rule, where, one["name"],
                       f"{one['name']} {key}: captured {said[0]}, live {said[1]}", said,
                       one["packet_no"])  # fmt: skip

    # -- messages -------------------------------------------------------------------------

    def _deliveries(self, direction: str) -> None:
        """The same messages must come on each session: missing and extra ones by content."""
        for place, captured, live in self._by_session(direction):
            where = f"channel {place[1]}"
            kinds = {row["kind"] for row in (*captured, *live)}
            for kind in sorted(kinds):
                one = [row for row in captured if row["kind"] == kind]
                other = [row for row in live if row["kind"] == kind]
                self._compare_deliveries(where, kind, one, other)

    def _compare_deliveries(self, where: str, kind: str, one: Rows, other: Rows) -> None:
        rule = {"return": "returns", "publish": "messages"}.get(kind, "deliveries")
        captured = [content_of(self._captured, row) for row in one]
        live = [content_of(self._live, row) for row in other]
        missing, extra = Counter(captured), Counter(live)
        missing, extra = missing - extra, extra - missing
        for row, content in zip(one, captured, strict=True):
            if missing[content] > 0:
                missing[content] -= 1
                said = describe(self._captured, row)
                self._tell(rule, where, kind, f"{kind} missing: {said}", (said, None),
                           row["first_packet_no"])  # fmt: skip
        for row, content in reversed(list(zip(other, live, strict=True))):
            if extra[content] > 0:
                extra[content] -= 1
                is_open = row["outcome"] is None and not row["is_presettled"] and kind == "deliver"
                self._tell("extra-deliveries" if is_open else rule, where, kind,
                           f"{kind} not captured: {describe(self._live, row)}",
                           (None, describe(self._live, row)))  # fmt: skip
        if Counter(captured) != Counter(live):
            return
        if captured != live:
            self._tell("delivery-order", where, kind, f"{len(captured)} × {kind} in another order")
        else:
            for first, second in zip(one, other, strict=True):
                self._properties(where, kind, first, second)

    def _properties(self, where: str, kind: str, one: Row, other: Row) -> None:
        if bool(one["is_redelivered"]) != bool(other["is_redelivered"]):
            said = one["is_redelivered"], other["is_redelivered"]
            self._tell("redelivered", where, kind,
                       f"{kind} redelivered: captured {said[0]}, live {said[1]}", said,
                       one["first_packet_no"])  # fmt: skip
        for column in PROPERTY_COLUMNS:
            values = [v.name(r[column]) if isinstance(r[column], str) else r[column]
                      for v, r in ((self._captured, one), (self._live, other))]  # fmt: skip
            if values[0] != values[1]:
                name = column.replace("_", "-")
                self._tell("properties", where, kind,
                           f"{kind} {name}: captured {values[0]}, live {values[1]}", values,
                           one["first_packet_no"])  # fmt: skip

    def _outcomes(self, direction: str) -> None:
        """What the peer made of each message sent to it, message by message."""
        for place, captured, live in self._by_session(direction):
            where = f"channel {place[1]}"
            waiting: dict[tuple[object, ...], list[Row]] = {}
            for row in live:
                waiting.setdefault(content_of(self._live, row), []).append(row)
            for number, row in enumerate(captured, 1):
                same = waiting.get(content_of(self._captured, row))
                if not same:
                    continue
                other = same.pop(0)
                said = [outcome_text(r) for r in (row, other)]
                if said[0] == said[1]:
                    continue
                is_open = row["outcome"] is None and row["settled_ts_ns"] is None
                rule = "late-outcome" if is_open else "outcome"
                self._tell(rule, where, row["kind"],
                           f"{row['kind']} {number} ({describe(self._captured, row)}): captured "
                           f"{said[0]}, live {said[1]}", said, row["first_packet_no"])  # fmt: skip

    def _by_session(self, direction: str) -> Iterator[tuple[tuple[int, int], Rows, Rows]]:
        groups = [transfers_by_session(view, direction) for view in (self._captured, self._live)]
        for place in sorted(groups[0].keys() | groups[1].keys()):
            yield place, groups[0].get(place, []), groups[1].get(place, [])
