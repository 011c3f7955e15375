"""The most memory that this process had.

Not ``ru_maxrss``: Linux lets a new process inherit that from the one that started it, and a test
run is large.
"""

from __future__ import annotations

from pathlib import Path

# Runs the command line and ends with its peak on stderr.
MEASURED_MAIN = (
    "import atexit, sys; from tests.peak import peak_kb; "
    "atexit.register(lambda: print(peak_kb(), file=sys.stderr)); "
    "from amqpscope.cli.main import main; main()"
)


def peak_kb() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0])
    raise OSError("no VmHWM in /proc/self/status")
