"""The only place that builds a SparkSession.

Local mode is the embedded default: quiet, on the loopback interface, with the Python and the
packages of this process. Under ``spark-submit``, or where a session is there already, that one is
used with our settings added where they can be.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spark_etl.classes import sharing_options
from spark_etl.java import java_home
from spark_etl.tables import ROWS_IN_ONE_PARTITION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
DRIVER_MEMORY = "2g"
# May be set on a session that is there already.
SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
}
QUIET_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
LOOPBACK_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
# Fewer, larger shuffles than Spark's 200: these machines have few cores.
LOCAL_PARTITIONS = max(4, 2 * (os.cpu_count() or 1))
LOCAL_SETTINGS = {
    "spark.sql.shuffle.partitions": str(LOCAL_PARTITIONS),
    "spark.driver.memory": DRIVER_MEMORY,
    # Chunks come packed, and what is shuffled stays in this machine's memory for the most part.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    # Else every call of a DataFrame's method sends its line of source to the JVM, in many calls.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
# For input of which Spark spends more time planning than computing: rows are interpreted instead
# of compiled, plans are made once, no table is sent ahead to the tasks of another (each would be a
# job of its own), the JVM compiles quickly and collects in one thread.
SMALL_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    ROWS_IN_ONE_PARTITION: "65536",
    "spark.sql.shuffle.partitions": "2",
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
SMALL_BYTES = 4 * 1024 * 1024
# For input that is computed before the JVM's second compiler has earned what it costs.
MEDIUM_SETTINGS = {
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",
}
MEDIUM_BYTES = 256 * 1024 * 1024
# Octets of captures for each partition of a shuffle; Spark joins those that turn out small.
BYTES_PER_SHUFFLE_PARTITION = 64 * 1024 * 1024
_ROOT = str(Path(__file__).resolve().parents[1])


def session(
    master: str | None = None,
    settings: dict[str, str] | None = None,
    given: SparkSession | None = None,
    has_source: bool = True,
) -> SparkSession:
    """The session to work with; takes some seconds where Spark has to be started.

    Raises JavaError where there is no Java. ``settings`` are Spark's, and win over ours. Without
    the source ``amqp_pcap``, which an analysis does not need, Spark starts one process less."""
    from pyspark.sql import SparkSession

    spark = given or SparkSession.getActiveSession()
    if spark is None:
        spark = _start(master, settings or {})
    for name, value in SQL_SETTINGS.items():
        spark.conf.set(name, value)
    if has_source:
        register(spark)
    return spark


def settings_for(input_bytes: int, master: str | None) -> dict[str, str]:
    """What suits input of this size; a cluster has settings of its own."""
    if not is_local(master or LOCAL_MASTER):
        return {}
    if input_bytes <= SMALL_BYTES:
        return SMALL_SETTINGS
    partitions = max(LOCAL_PARTITIONS, input_bytes // BYTES_PER_SHUFFLE_PARTITION)
    settings = MEDIUM_SETTINGS if input_bytes <= MEDIUM_BYTES else {}
    return {**settings, "spark.sql.shuffle.partitions": str(partitions)}


def is_local(master: str) -> bool:
    """Whether all of Spark runs on this machine (``local[2]``, ``local-cluster[2,1,1024]``)."""
    return master.startswith("local")


def _start(master: str | None, settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM
    builder = SparkSession.builder.appName("amqpscope")
    if is_submitted:
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    os.environ["JAVA_HOME"] = java_home()
    master = master or LOCAL_MASTER
    chosen = {"spark.sql.warehouse.dir": tempfile.gettempdir(), **QUIET_SETTINGS}
    if is_local(master):
        chosen |= LOOPBACK_SETTINGS | LOCAL_SETTINGS
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["PYTHONPATH"] = os.pathsep.join(_import_paths())
    chosen |= settings
    if is_local(master):
        sharing = sharing_options(os.environ["JAVA_HOME"])
        chosen[JAVA_OPTIONS] = f"{chosen.get(JAVA_OPTIONS, '')} {sharing}".strip()
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with _output_aside():
        return builder.master(master).getOrCreate()


def _import_paths() -> list[str]:
    """Where the workers of this machine find our packages: where this process found them."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return list(dict.fromkeys(path for path in [_ROOT, *known] if path))


@contextmanager
def _output_aside() -> Iterator[None]:
    """What the starting JVM writes to stdout and stderr (notes on modules, hosts and logging) goes
    to a file, and so does all that it says later; shown only where it does not start. Who waits
    for the end of our output need not wait for the JVM's."""
    folder = tempfile.mkdtemp(prefix="amqpscope-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "output.log")
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    with open(path, "wb") as log:
        for stream in kept:
            os.dup2(log.fileno(), stream)
    try:
        yield
    except Exception:
        os.dup2(kept[2], 2)
        sys.stderr.write(Path(path).read_text(encoding="utf-8", errors="replace"))
        raise
    finally:
        for stream, own in kept.items():
            os.dup2(own, stream)
            os.close(own)


def register(spark: SparkSession) -> None:
    """Make ``amqp_pcap`` known; where the workers find it is settled here and now."""
    from spark_etl.source import CaptureSource

    spark.dataSource.register(CaptureSource)
