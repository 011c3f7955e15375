"""Which metric is made from what: the only file that knows the order of the topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from threading import Lock

from pyspark.sql import DataFrame

from spark_etl.metrics.backlog import backlog
from spark_etl.metrics.end_to_end import end_to_end
from spark_etl.metrics.flow_control import flow_control
from spark_etl.metrics.latencies import latencies
from spark_etl.metrics.options import MetricOptions
from spark_etl.metrics.settlement import settlement
from spark_etl.metrics.silence import silences
from spark_etl.metrics.stalls import stalls
from spark_etl.metrics.throughput import throughput
from spark_etl.metrics.timeline import credit_timeline, link_states
from spark_etl.metrics.waits import all_waits


class Once:
    """A frame that several metrics are made from: made by the first that asks, and kept by Spark
    once it has been computed."""

    def __init__(self, make: Callable[[], DataFrame]) -> None:
        self._make = make
        self._frame: DataFrame | None = None
        self._lock = Lock()

    def __call__(self) -> DataFrame:
        with self._lock:
            if self._frame is None:
                self._frame = self._make().persist()
            return self._frame

    def release(self) -> None:
        with self._lock:
            if self._frame is not None:
                self._frame.unpersist()
                self._frame = None


class MetricFrames(Mapping[str, DataFrame]):
    """Metric tables by name, each planned when it is asked for, by any thread. To plan takes
    longer than to compute where a capture is small. ``release`` lets go what is kept."""

    def __init__(self, tables: dict[str, DataFrame], options: MetricOptions) -> None:
        states = Once(lambda: link_states(tables))
        waits = Once(lambda: all_waits(tables, states(), options))
        self._kept = (waits, states)
        # The first makes the shared frames; in two threads, those that need only the tables are
        # computed meanwhile.
        self._makers: dict[str, Callable[[], DataFrame]] = {
            "flow_control": lambda: flow_control(tables, states(), waits(), options),
            "latencies": partial(latencies, tables, options),
            "settlement": partial(settlement, tables, options),
            "end_to_end": partial(end_to_end, tables),
            "throughput": partial(throughput, tables, options),
            "backlog": partial(backlog, tables, options),
            "stalls": lambda: stalls(
                tables, waits(), silences(tables, states(), waits(), options), options
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
