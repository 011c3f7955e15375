"""Several captures as one timeline: in any order, overlapping, from folders, globs and pipes."""

from __future__ import annotations

import itertools
import os
import random
import threading
from pathlib import Path

import pytest

from dissectors.capture import CaptureError, expand_paths
from tests.dissectors.capture.build import T0, micros, pcap, pcapng, read_all

DATAS = [f"packet {n:02}".encode() for n in range(40)]
TIMED = micros(*DATAS)


def write_parts(folder: Path, parts: list[list]) -> list[Path]:
    paths = []
    for number, part in enumerate(parts):
        path = folder / f"part_{number}.pcap"
        path.write_bytes(pcap(part))
        paths.append(path)
    return paths


def datas(rows: list) -> list[bytes]:
    return [data for _, _, data in rows]


def test_rotated_files_in_any_order(tmp_path):
    paths = write_parts(tmp_path, [TIMED[:10], TIMED[10:11], TIMED[11:30], TIMED[30:]])
    for order in itertools.permutations(paths):
        rows, problems = read_all(*order)
        assert datas(rows) == DATAS and not problems


@pytest.mark.parametrize("seed", range(10))
def test_files_that_overlap_in_time_are_merged(tmp_path, seed):
    rng = random.Random(seed)
    parts: list[list] = [[], [], [], []]
    for item in TIMED:
        rng.choice(parts).append(item)
    rows, problems = read_all(*write_parts(tmp_path, parts))
    assert datas(rows) == DATAS
    assert set(problems.codes) <= {"capture.no_packets"}


def test_the_order_inside_a_file_is_kept_even_if_its_clock_is_not(tmp_path):
    swapped = [*TIMED[:5], TIMED[6], TIMED[5], *TIMED[7:]]
    rows, problems = read_all(*write_parts(tmp_path, [swapped]))
    assert datas(rows)[5:7] == [DATAS[6], DATAS[5]]
    assert problems.codes == ["capture.time_backwards"]


def test_formats_may_be_mixed(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap(TIMED[:20]))
    later = micros(*DATAS[20:], first=T0 * 10**6 + 20_000)
    (tmp_path / "b.pcap").write_bytes(pcap(later, order=">"))
    (tmp_path / "c.pcapng").write_bytes(pcapng(b"early"))
    rows, _ = read_all(tmp_path)
    assert sorted(datas(rows)) == sorted([*DATAS, b"early"])


def test_one_bad_file_among_good_ones_is_a_problem_only(tmp_path):
    paths = write_parts(tmp_path, [TIMED[:20], TIMED[20:]])
    (tmp_path / "bad.pcap").write_bytes(b"nothing of the kind")
    rows, problems = read_all(*paths, tmp_path / "bad.pcap")
    assert datas(rows) == DATAS
    assert problems.codes == ["capture.unknown_format"]


def test_a_named_pipe_beside_a_file(tmp_path):
    path = write_parts(tmp_path, [TIMED[:20]])[0]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(pcap(TIMED[20:]),))
    writer.start()
    rows, problems = read_all(path, pipe)
    writer.join()
    assert datas(rows) == DATAS and not problems


def test_what_a_user_may_mean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("deep/er").mkdir(parents=True)
    for name in ("b.pcap", "a.pcapng", "deep/er/c.cap.gz", "notes.txt", "[odd].pcap"):
        Path(name).write_bytes(pcap(TIMED))
    Path("words.log").write_text("no capture")
    assert expand_paths(["b.pcap", "./b.pcap"]) == ["b.pcap"]
    assert expand_paths(["*.pcap*"]) == ["[odd].pcap", "a.pcapng", "b.pcap"]
    assert expand_paths(["**/*.gz"]) == ["deep/er/c.cap.gz"]
    assert expand_paths(["[odd].pcap"]) == ["[odd].pcap"]  # a file that is there is no pattern
    # By suffix, or by what the file begins with.
    assert expand_paths(["."]) == [
        "./[odd].pcap", "./a.pcapng", "./b.pcap", "./notes.txt", "./deep/er/c.cap.gz",
    ]  # fmt: skip
    for wrong in ("nosuch", "*.zip"):
        with pytest.raises(CaptureError, match="no"):
            expand_paths([wrong])
    Path("hollow").mkdir()
    with pytest.raises(CaptureError, match="no capture file"):
        expand_paths(["hollow"])
