"""Which metric is made from what: the only file that knows the order of the topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from pyspark.sql import DataFrame

from spark_etl.metrics.backlog import backlog
from spark_etl.metrics.end_to_end import end_to_end
from spark_etl.metrics.flow_control import flow_control
from spark_etl.metrics.latencies import latencies
from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.replies import all_replies
from spark_etl.metrics.settlement import settlement
from spark_etl.metrics.shape import places
from spark_etl.metrics.silence import silences
from spark_etl.metrics.stalls import stalls
from spark_etl.metrics.throughput import throughput
from spark_etl.metrics.timeline import credit_timeline, link_states
from spark_etl.metrics.waits import all_spells, all_waits

# Takes a frame that several metrics are made from, by name, and gives back one that need not be
# computed again.
Keep = Callable[[str, DataFrame], DataFrame]


def keep_cached(_name: str, frame: DataFrame) -> DataFrame:
    return frame.persist()


class Once:
    """A frame that is made and kept by the first that asks; the others wait for it."""

    def __init__(self, make: Callable[[], DataFrame]) -> None:
        self._make = make
        self._frame: DataFrame | None = None
        self._lock = Lock()

    def __call__(self) -> DataFrame:
        with self._lock:
            if self._frame is None:
                self._frame = self._make()
            return self._frame

    def release(self) -> None:
        with self._lock:
            if self._frame is not None:
                self._frame.unpersist()
                self._frame = None


class MetricFrames(Mapping[str, DataFrame]):
    """Metric tables by name, each planned when it is asked for, by any thread.

    ``keep`` may cut the plans to pieces: to plan all of a metric from the tables on takes longer
    than to compute it. ``release`` lets go what Spark has in its cache."""

    def __init__(self, tables: dict[str, DataFrame], options: MetricOptions, keep: Keep) -> None:
        def once(name: str, make: Callable[[], DataFrame]) -> Once:
            return Once(lambda: keep(name, make()))

        where = once("places", lambda: places(tables))
        states = once("states", lambda: link_states(tables, where()))
        spells = once("spells", lambda: all_spells(tables, states()))
        waits = once("waits", lambda: all_waits(tables, where(), states(), spells(), options))
        replies = once("replies", lambda: all_replies(tables["frames"]))
        self._kept = (where, states, spells, waits, replies)
        # The first makes what most of the shared frames need; in several threads, those that need
        # only the tables are computed meanwhile.
        self._makers: dict[str, Callable[[], DataFrame]] = {
            "flow_control": lambda: flow_control(where(), states(), spells(), waits(), options),
            "end_to_end": lambda: end_to_end(tables, where()),
            "latencies": lambda: latencies(tables, where(), replies(), options),
            "settlement": lambda: settlement(tables, where(), options),
            "throughput": lambda: throughput(tables, where(), options),
            "backlog": lambda: backlog(tables, where(), options),
            "stalls": lambda: stalls(
                where(), waits(), silences(replies(), where(), states(), waits(), options), options
            ),
            "credit_timeline": lambda: credit_timeline(states()),
        }

    def __getitem__(self, name: str) -> DataFrame:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def release(self) -> None:
        for kept in self._kept:
            kept.release()
