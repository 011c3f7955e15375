"""Options and arguments that several commands share, and the one line that a mistake gets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from dissectors.options import Options

EXIT_MISTAKE = 2
DIALECTS = ("0-8", "0-9", "0-9-draft", "0-9-1", "0-10", "1.0", "1.0-draft")
MAX_PORT = 65_535

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Port(click.ParamType):
    """``N`` or ``N=dialect``."""

    name = "N[=DIALECT]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, str | None]:
        if isinstance(value, tuple):
            return value
        number, has_dialect, dialect = str(value).partition("=")
        if not number.isdecimal() or not 0 < int(number) <= MAX_PORT:
            self.fail(f"{number!r} is no port number (1 to {MAX_PORT})", param, ctx)
        if has_dialect and dialect not in DIALECTS:
            self.fail(f"{dialect!r} is no dialect (one of {', '.join(DIALECTS)})", param, ctx)
        return int(number), dialect or None


def dissection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a user may choose about a dissection: ``--port``, ``--keylog``, ``--payloads``."""
    added: tuple[Decorator, ...] = (
        click.option(
            "ports",
            "--port",
            type=Port(),
            multiple=True,
            help="Take this port for AMQP, of this dialect if given. May be repeated.",
        ),
        click.option(
            "--keylog",
            type=click.Path(exists=True, dir_okay=False),
            help="TLS key log (SSLKEYLOGFILE format) to decrypt AMQPS with.",
        ),
        click.option("--payloads", is_flag=True, help="Write message bodies too (table payloads)."),
    )
    for option in reversed(added):
        function = option(function)
    return function


def make_options(
    ports: tuple[tuple[int, str | None], ...], keylog: str | None, payloads: bool
) -> Options:
    from dissectors.options import Options

    return Options(forced_ports=dict(ports), has_payloads=payloads, keylog=keylog)


def fail(message: str) -> NoReturn:
    """One line on stderr, and the exit code of a mistake."""
    click.echo(f"amqpscope: {message}", err=True)
    sys.exit(EXIT_MISTAKE)


@contextmanager
def mistakes_in_one_line() -> Iterator[None]:
    """What the user or the system did wrong is said without a traceback; bugs keep theirs."""
    from dissectors.capture import CaptureError
    from dissectors.writers import WriteError

    try:
        yield
    except (CaptureError, WriteError) as mistake:
        fail(str(mistake))
    except BrokenPipeError:
        raise
    except OSError as failure:
        where = f"{failure.filename}: " if failure.filename else ""
        fail(f"{where}{failure.strerror or failure}")
