"""Which metric is made from what: the only file that knows the order of the topics."""

from __future__ import annotations

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


class MetricFrames(dict[str, DataFrame]):
    """Metric tables by name. Two frames that several of them are made from are kept by Spark
    once they have been computed; ``release`` lets them go."""

    def __init__(self, kept: tuple[DataFrame, ...], frames: dict[str, DataFrame]) -> None:
        super().__init__(frames)
        self._kept = kept

    def release(self) -> None:
        for frame in self._kept:
            frame.unpersist()


def metric_frames(tables: dict[str, DataFrame], options: MetricOptions) -> MetricFrames:
    states = link_states(tables).persist()
    waits = all_waits(tables, states, options).persist()
    silent = silences(tables, states, waits, options)
    return MetricFrames(
        (states, waits),
        {
            "flow_control": flow_control(tables, states, waits, options),
            "stalls": stalls(tables, waits, silent, options),
            "credit_timeline": credit_timeline(states),
            "settlement": settlement(tables, options),
            "backlog": backlog(tables, options),
            "latencies": latencies(tables, options),
            "end_to_end": end_to_end(tables),
            "throughput": throughput(tables, options),
        },
    )
