"""What `make` does where no C compiler is: installs one if it may, else says so and goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "c-compiler"
NEEDED = ("sh", "mktemp", "rm", "env")


@pytest.fixture
def bare_folder(tmp_path: Path) -> Path:
    """A PATH without a compiler, where `apt-get` only writes down what it is asked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    put(folder / "apt-get", f'echo "$@" >>{tmp_path}/asked')
    return folder


def put(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    places = {"PATH": str(folder), "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    return subprocess.run(
        ["sh", str(SCRIPT), sys.executable], env=places, capture_output=True, text=True, check=True
    )


def test_root_gets_one(bare_folder: Path) -> None:
    put(bare_folder / "id", "echo 0")
    assert run(bare_folder).stderr == ""
    update, install = (bare_folder.parent / "asked").read_text().splitlines()
    assert "update" in update
    assert install.startswith("install") and "gcc libc6-dev" in install


def test_others_are_told_in_one_line(bare_folder: Path) -> None:
    put(bare_folder / "id", "echo 1000")
    said = run(bare_folder)
    assert not (bare_folder.parent / "asked").exists()
    (line,) = said.stderr.splitlines()
    assert "gcc libc6-dev" in line and "plain Python" in line


def test_a_failing_installation_is_no_failure(bare_folder: Path) -> None:
    put(bare_folder / "id", "echo 0")
    put(bare_folder / "apt-get", "exit 100")
    assert "plain Python" in run(bare_folder).stderr


HAS_ALL = shutil.which("gcc") and Path(sysconfig.get_path("include"), "Python.h").exists()


@pytest.mark.skipif(not HAS_ALL, reason="nothing can be built here")
def test_nothing_is_said_where_one_is_there() -> None:
    said = subprocess.run(
        ["sh", str(SCRIPT), sys.executable], capture_output=True, text=True, check=True
    )
    assert (said.stdout, said.stderr) == ("", "")
