"""The examples of the page on TLS do what it says."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from amqpscope.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]


def examples() -> list[list[str]]:
    lines = (ROOT / "docs" / "tls.md").read_text(encoding="utf-8").splitlines()
    return [line.split()[1:] for line in lines if line.startswith("amqpscope ")]


def test_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    opened, closed = (CliRunner().invoke(cli, words) for words in examples())
    assert (opened.exit_code, closed.exit_code) == (0, 0)
    assert "AMQP 0-9-1 over tls" in opened.output
    assert "16 message transfers" in opened.output
    assert "tls.no_keys" in closed.output
