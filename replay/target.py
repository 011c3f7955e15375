"""Where a replay goes: an amqp or amqps URL without secrets, and whose credentials it uses.

A password in a URL ends up in shell histories and process lists: it is refused. Name and password
come from the environment (AMQPSCOPE_USERNAME, AMQPSCOPE_PASSWORD) or from a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from replay.engine import Credentials

PORTS = {"amqp": 5672, "amqps": 5671}
USERNAME_VARIABLE = "AMQPSCOPE_USERNAME"
PASSWORD_VARIABLE = "AMQPSCOPE_PASSWORD"


class TargetError(ValueError):
    """A URL or credentials file that cannot be used; the text is for people."""


@dataclass(frozen=True, slots=True)
class Target:
    """A live peer."""

    host: str
    port: int
    is_tls: bool = False
    vhost: str | None = None

    def __str__(self) -> str:
        scheme = "amqps" if self.is_tls else "amqp"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}" + (f"/{self.vhost}" if self.vhost else "")


def parse_target(url: str) -> Target:
    """``amqp://host[:port][/vhost]``; %2F is the vhost ``/``."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise TargetError(f"{url!r} is no target: amqp://host:port or amqps://host:port")
    if parts.username is not None or parts.password is not None:
        raise TargetError(
            f"no credentials in the URL: set {USERNAME_VARIABLE} and {PASSWORD_VARIABLE},"
            " or use --credentials FILE"
        )
    try:
        port = parts.port or PORTS[parts.scheme]
    except ValueError:
        raise TargetError(f"{url!r} has no valid port") from None
    vhost = unquote(parts.path[1:]) or None
    return Target(parts.hostname, port, parts.scheme == "amqps", vhost)


def read_credentials(path: str | None, mechanism: str | None = None) -> Credentials:
    """From a file of two lines (name, password), else from the environment, else guest."""
    if path is not None:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        if len(lines) < 2:
            raise TargetError(f"{path}: two lines are wanted, the name and the password")
        return Credentials(lines[0], lines[1], mechanism)
    default = Credentials()
    return Credentials(
        os.environ.get(USERNAME_VARIABLE, default.username),
        os.environ.get(PASSWORD_VARIABLE, default.password),
        mechanism,
    )
