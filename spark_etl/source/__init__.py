"""Capture files as a Spark data source: ``spark.read.format("amqp_pcap").load(path)``."""

from spark_etl.source.datasource import CaptureSource

__all__ = ["CaptureSource"]
