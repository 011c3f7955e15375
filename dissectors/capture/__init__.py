"""Capture files → packets → TCP segments. Knows nothing of streams and AMQP."""

from dissectors.capture.paths import CaptureError, expand_paths
from dissectors.capture.source import PacketSource, open_packets

__all__ = ["CaptureError", "PacketSource", "expand_paths", "open_packets"]
