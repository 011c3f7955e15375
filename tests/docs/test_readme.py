"""What the README shows is what happens: its sessions are run, line by line.

``README_REWRITE=1`` puts the real output into the page, to be read before it is committed.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MAIN = "from amqpscope.cli.main import main; main()"
_CONSOLE = re.compile(r"```console\n\$ amqpscope ([^\n]*)\n(.*?)```", re.DOTALL)
_PYTHON = re.compile(r"```python\n(>>> .*?)```", re.DOTALL)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples where the README has them."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *shlex.split(arguments)],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    return (done.stdout + done.stderr).decode()


def check(sessions: list[tuple[str, str]], desk: Path) -> None:
    for arguments, shown in sessions:
        said = run(arguments, desk)
        if os.environ.get("README_REWRITE"):
            before, after = f"$ amqpscope {arguments}\n{shown}", f"$ amqpscope {arguments}\n{said}"
            text = README.read_text(encoding="utf-8").replace(before, after)
            README.write_text(text, encoding="utf-8")
        else:
            assert said == shown


def sessions_of(text: str, is_on_spark: bool) -> list[tuple[str, str]]:
    """(arguments, output); Spark takes its time to start, so its sessions are apart."""
    return [s for s in _CONSOLE.findall(text) if s[0].startswith("analyze") == is_on_spark]


def test_the_sessions_of_the_readme_are_real(desk: Path) -> None:
    text = README.read_text(encoding="utf-8")
    sessions = sessions_of(text, is_on_spark=False)
    assert len(sessions) >= 4
    check(sessions, desk)
    examples = _PYTHON.findall(text)
    assert examples
    for example in examples:
        parsed = doctest.DocTestParser().get_doctest(example, {}, "README", None, 0)
        told: list[str] = []
        result = doctest.DocTestRunner(verbose=False).run(parsed, out=told.append)
        assert result.failed == 0, "".join(told)


@pytest.mark.slow
def test_the_analysis_of_the_readme_is_real(desk: Path) -> None:
    sessions = sessions_of(README.read_text(encoding="utf-8"), is_on_spark=True)
    assert sessions
    check(sessions, desk)


def test_every_link_leads_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
