"""Record one port of the loopback interface with tcpdump, whole and flushed.

A recording ends only when the connections on the port are gone and a marker sent after them has
reached the file: what the clients did is then in the capture, on however slow a machine.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from tests.live.needs import program, unavailable
from tests.live.waiting import until

KERNEL_BUFFER_KIB = 32 * 1024
# /proc/net/tcp: connections in these states send no more (TIME-WAIT, CLOSE, LISTEN).
QUIET_STATES = {"06", "07", "0A"}
MARKER = b"amqpscope: end of recording"


def is_quiet(port: int) -> bool:
    """No connection with this port can send any more."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, remote, state = line.split()[:4]
            ports = {int(end.rsplit(":", 1)[1], 16) for end in (local, remote)}
            if port in ports and state not in QUIET_STATES:
                return False
    return True


class Recording:
    """A context: what passes over the port inside it is in `path` afterwards."""

    def __init__(self, path: Path, port: int) -> None:
        self.path = str(path)
        self._file = path
        self._port = port
        self._tcpdump = program("tcpdump", "tcpdump")
        self._process: subprocess.Popen[str] | None = None
        self._sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sink.bind(("127.0.0.1", 0))

    def __enter__(self) -> Recording:
        marker_port = self._sink.getsockname()[1]
        command = [self._tcpdump, "-i", "lo", "-n", "-U", "--immediate-mode"]
        command += ["-B", str(KERNEL_BUFFER_KIB), "-w", self.path]
        if os.geteuid() == 0:
            # Its own user may not write where pytest keeps temporary files.
            command += ["-Z", "root"]
        command.append(f"tcp port {self._port} or udp port {marker_port}")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        said = ""
        while "listening on" not in said:
            line = self._process.stderr.readline()
            if not line:
                self._process.wait()
                self._sink.close()
                unavailable(f"tcpdump cannot record here, run as root: {said.strip()}")
            said += line
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                until(lambda: is_quiet(self._port), f"connections to {self._port} end")
                until(self._marker_came, "the marker reaches the capture")
        finally:
            said = self._stop()
        if error is None:
            lost = re.search(r"(\d+) packets? dropped by kernel", said)
            assert lost is not None and lost[1] == "0", said

    def _marker_came(self) -> bool:
        self._sink.sendto(MARKER, self._sink.getsockname())
        return MARKER in self._file.read_bytes()[-4096:]

    def _stop(self) -> str:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        _, said = self._process.communicate()
        self._sink.close()
        return said
