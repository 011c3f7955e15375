"""What a person may choose about the metrics: grouping, time windows, and what counts as long."""

from __future__ import annotations

import math
from dataclasses import dataclass

MS = 1_000_000
SECOND = 1_000 * MS

# Columns that say whose numbers a row holds. Those that a grouping leaves open are null.
DIMENSIONS = (
    "connection_id",
    "session_id",
    "link_id",
    "dialect",
    "client",
    "server",
    "vhost",
    "kind",
    "address",
)
_OF_CONNECTION = ("connection_id", "dialect", "client", "server", "vhost")
# --group-by word → the dimensions that it keeps apart
GROUPS: dict[str, tuple[str, ...]] = {
    "link": DIMENSIONS,
    "session": (*_OF_CONNECTION, "session_id"),
    "connection": _OF_CONNECTION,
    "address": ("address",),
    "client": ("client",),  # by host: ports change with every connection
    "server": ("server",),
    "vhost": ("vhost",),
    "dialect": ("dialect",),
    "kind": ("kind",),
}


def nanoseconds(seconds: float) -> int:
    """A window as people give it. Raises ValueError."""
    if not math.isfinite(seconds):
        raise ValueError("the window must be a number of seconds")
    return round(seconds * SECOND)


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """Times are nanoseconds."""

    group_by: tuple[str, ...] = ("link",)
    window_ns: int = SECOND
    # A wait shorter than this is no stall worth a row; flow_control counts it all the same.
    min_stall_ns: int = MS
    # A sender that sends within this time of being allowed to was waiting for it. Two round
    # trips of the connection are added.
    reaction_ns: int = 50 * MS
    # Unsettled messages or unanswered requests without any progress for this long are a stall.
    silence_ns: int = SECOND
    # Percentiles of groups up to this size are exact; those of larger ones are approximate.
    exact_limit: int = 1_000_000
    # No group can have more values than this; None where nobody has counted.
    most_values: int | None = None

    def __post_init__(self) -> None:
        unknown = [word for word in self.group_by if word not in GROUPS]
        if unknown or not self.group_by:
            raise ValueError(f"group by any of {', '.join(GROUPS)}; not {', '.join(unknown)}")
        if self.window_ns <= 0:
            raise ValueError("the window must be longer than nothing")

    @property
    def is_all_exact(self) -> bool:
        """Whether no group is large: sizes need not be counted then."""
        return self.most_values is not None and self.most_values <= self.exact_limit

    def dimensions(self) -> frozenset[str]:
        """The dimensions that the groups keep apart."""
        return frozenset(d for word in self.group_by for d in GROUPS[word])
