"""The pipeline as a Spark job: ``spark-submit spark_etl/job.py --input … --output …``.

The same as ``amqpscope analyze``, for clusters. Exit codes: 0 done; 2 a mistake, said in one line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if not __package__:
    # Run as a file: find the packages beside our folder, not the modules inside it.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

EXIT_MISTAKE = 2


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="job.py", description=__doc__.splitlines()[0])
    parser.add_argument("--input", nargs="+", required=True, metavar="CAPTURE",
                        help="captures, folders or globs; or one folder of tables")  # fmt: skip
    parser.add_argument("--output", required=True, metavar="DIR", help="tables and metrics")
    parser.add_argument("--master", help="Spark master; default: spark-submit's, else local[*]")
    parser.add_argument("--partitions", type=int, help="tasks to dissect with")
    parser.add_argument("--split-bytes", type=int, help="size of the pieces of large files")
    parser.add_argument("--keylog", help="TLS key log to decrypt AMQPS with")
    parser.add_argument("--payloads", action="store_true", help="write message bodies too")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of a time window")
    parser.add_argument("--group-by", action="append", help="link, connection, address …")
    parser.add_argument("--installed", action="store_true",
                        help="the workers have amqpscope: do not send it")  # fmt: skip
    parser.add_argument("--watch", action="store_true",
                        help="take new files of the folder --input as they come")  # fmt: skip
    parser.add_argument("--once", action="store_true",
                        help="with --watch: take what is there, then end")  # fmt: skip
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    from dissectors.capture import CaptureError
    from dissectors.options import Options
    from dissectors.writers import WriteError
    from spark_etl.analysis import Request, analyze
    from spark_etl.dist import ship
    from spark_etl.java import JavaError
    from spark_etl.metrics import MetricOptions, nanoseconds
    from spark_etl.session import session

    given = arguments(argv)
    try:
        request = Request(
            inputs=given.input,
            output=given.output,
            options=Options(has_payloads=given.payloads, keylog=given.keylog),
            metric_options=MetricOptions(
                group_by=tuple(given.group_by or ("link",)), window_ns=nanoseconds(given.window)
            ),
            partitions=given.partitions,
            split_bytes=given.split_bytes,
        )
        spark = session(given.master, has_source=False)
        if not given.installed:
            ship(spark)
        if given.watch:
            from spark_etl.watch import watch

            watch(spark, request, is_once=given.once)
        else:
            result = analyze(spark, request)
            print(json.dumps({"output": result.output.address, "rows": result.row_counts}))
    except (CaptureError, WriteError, JavaError, OSError, ValueError) as mistake:
        print(f"amqpscope: {mistake}", file=sys.stderr)
        return EXIT_MISTAKE
    return 0


if __name__ == "__main__":
    sys.exit(main())
