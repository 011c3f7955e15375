"""A RabbitMQ of our own: own ports, own files, own name daemon; gone when the tests are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.live.certificates import Authority
from tests.live.needs import SYSTEM_PATH, program
from tests.live.waiting import PATIENCE_S, free_ports, is_listening, until

# The scripts themselves: Debian's wrappers in sbin insist on the system's user and folders.
SCRIPTS = "/usr/lib/rabbitmq/bin"
STOP_PATIENCE_S = 30
TLS_SETTINGS = """
listeners.ssl.default = 127.0.0.1:{port}
ssl_options.cacertfile = {authority}
ssl_options.certfile = {certificate}
ssl_options.keyfile = {key}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
ssl_cert_login_from = common_name
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
auth_mechanisms.3 = EXTERNAL
"""


class Broker:
    """RabbitMQ with its AMQP 1.0 plugin, speaking 0-9-1 and 1.0 on one port.

    With an authority it also speaks both over TLS, on another port, to clients that show a
    certificate of it; those who ask for EXTERNAL are whom their certificate names.
    """

    def __init__(self, folder: Path, authority: Authority | None = None) -> None:
        path = SCRIPTS + os.pathsep + SYSTEM_PATH
        self._server_program = program("rabbitmq-server", "rabbitmq-server", path=path)
        self._ctl_program = program("rabbitmqctl", "rabbitmq-server", path=path)
        self._epmd_program = program("epmd", "erlang-base")
        self.port, self.tls_port, distribution_port, self._epmd_port = free_ports(4)
        self._log = folder / "output.log"
        self._log_folder = folder / "log"
        home = folder / "home"
        home.mkdir()
        cookie = home / ".erlang.cookie"
        cookie.write_text("amqpscope-live")
        cookie.chmod(0o400)
        plugins = folder / "enabled_plugins"
        plugins.write_text("[rabbitmq_amqp1_0, rabbitmq_auth_mechanism_ssl].")
        settings = folder / "rabbitmq.conf"
        settings.write_text("" if authority is None else self._tls_settings(authority))
        self._env = os.environ | {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": f"amqpscope{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._log_folder),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            # The machine's own settings must not matter.
            "RABBITMQ_CONF_ENV_FILE": str(folder / "no-environment"),
            "RABBITMQ_CONFIG_FILE": str(settings),
        }
        self._epmd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def _tls_settings(self, authority: Authority) -> str:
        own = authority.issue("rabbitmq")
        return TLS_SETTINGS.format(
            port=self.tls_port,
            authority=authority.file,
            certificate=own.certificate,
            key=own.key,
        )

    def log(self) -> str:
        """What it says of itself."""
        files = sorted(self._log_folder.glob("*.log"))
        return "".join(file.read_text(errors="replace") for file in files)

    def start(self) -> None:
        self._epmd = self._spawn(self._epmd_program, "-port", str(self._epmd_port))
        until(lambda: is_listening(self._epmd_port), "epmd answers")
        self._server = self._spawn(self._server_program)
        try:
            until(self._answers, "RabbitMQ answers", 2 * PATIENCE_S)
        except TimeoutError as error:
            tail = self._log.read_text(errors="replace")[-2000:]
            raise TimeoutError(f"{error}\n{tail}") from None

    def stop(self) -> None:
        for process in (self._server, self._epmd):
            if process is None or process.poll() is not None:
                continue
            # Each leads a process group of its own, the Erlang machine included.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def kill(self) -> None:
        """At once, as a crash would."""
        assert self._server is not None
        os.killpg(self._server.pid, signal.SIGKILL)

    def queues(self) -> dict[str, dict[str, Any]]:
        """The broker's own counters, by queue."""
        columns = ("name", "messages", "messages_ready", "messages_unacknowledged")
        output = subprocess.run(
            [self._ctl_program, "--quiet", "--formatter", "json", "list_queues", *columns],
            env=self._env,
            check=True,
            capture_output=True,
            timeout=PATIENCE_S,
        ).stdout
        return {row["name"]: row for row in json.loads(output)}

    def ctl(self, *arguments: str) -> str:
        """Its control program: policies, alarms, and the like."""
        return subprocess.run(
            [self._ctl_program, "--quiet", *arguments],
            env=self._env,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        ).stdout

    def settled_depth(self, queue: str, depth: int) -> dict[str, Any]:
        """A queue's counters once it holds that many: a closed connection requeues in its time."""

        def has_come() -> bool:
            row = self.queues()[queue]
            return row["messages"] == depth and row["messages_unacknowledged"] == 0

        until(has_come, f"{queue} holds {depth}")
        return self.queues()[queue]

    def _answers(self) -> bool:
        assert self._server is not None
        if self._server.poll() is not None:
            raise RuntimeError(f"RabbitMQ ended: {self._log.read_text(errors='replace')[-2000:]}")
        return is_listening(self.port)

    def _spawn(self, *command: str) -> subprocess.Popen[bytes]:
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
