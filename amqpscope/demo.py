"""The tour through a folder of samples: each capture on its own, rotated parts as one."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from amqpscope.dissection import Result, dissect
from amqpscope.reports.summary import LEDGER_COLUMNS, Ledger
from amqpscope.reports.terminal import as_text, verdict
from amqpscope.reports.units import count_text
from dissectors.capture import CaptureError, expand_paths
from dissectors.options import Options

_ROTATED = re.compile(r"_rotated_\d+$")
_HEADER = f"{'capture':<46} {'dialect':<9} {'conns':>5} {'frames':>7} {'messages':>8}  bytes"


def run(samples: Path, out: Path) -> Iterator[str]:
    """Lines to print, while the tables are written to ``out/<sample>``."""
    begun = time.perf_counter()
    total = Ledger()
    connections = frames = 0
    first: Result | None = None
    yield _HEADER
    groups = sample_groups(samples)
    for name, paths in groups.items():
        result = dissect(paths, Options(keylog=_keylog(paths[0])), str(out / name))
        first = first or result
        summary = result.summary
        connections += summary.connection_count
        frames += summary.frame_count
        for column in ("stream_bytes", *LEDGER_COLUMNS):
            setattr(total, column, getattr(total, column) + getattr(summary.ledger, column))
        yield _line(name, result)
    took = time.perf_counter() - begun
    yield ""
    yield (
        f"{count_text(len(groups), 'capture')}, {count_text(connections, 'AMQP connection')}, "
        f"{count_text(frames, 'frame')} in {took:.1f} s: {verdict(total)}"
    )
    yield f"Tables are in {out}/<capture>/<table>.parquet"
    if first is not None:
        yield ""
        yield f"$ amqpscope dissect {first.captures[0]} -o {first.directory}"
        yield as_text(first)


def sample_groups(samples: Path) -> dict[str, list[str]]:
    """Captures by the name of their output folder; the parts of a rotated one belong together."""
    groups: dict[str, list[str]] = {}
    for path in expand_paths([samples]):
        groups.setdefault(_ROTATED.sub("_rotated", Path(path).name.partition(".")[0]), []).append(
            path
        )
    if not groups:
        raise CaptureError(f"{samples}: no capture file in this folder")
    return groups


def _line(name: str, result: Result) -> str:
    summary = result.summary
    dialects = "+".join(sorted(d for d in summary.dialects if d)) or "-"
    messages = sum(deed.count for deed in summary.deeds.values())
    return (
        f"{name:<46} {dialects:<9} {summary.connection_count:>5} {summary.frame_count:>7,} "
        f"{messages:>8,}  {verdict(summary.ledger).removeprefix('every byte accounted for: ')}"
    )


def _keylog(capture: str) -> str | None:
    """TLS keys are looked for beside the capture."""
    path = Path(capture).with_suffix(".keylog")
    return str(path) if path.exists() else None
