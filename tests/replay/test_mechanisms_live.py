"""Logins other than by password: EXTERNAL by certificate, ANONYMOUS where a peer takes it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pika
import pytest
from pika.credentials import ExternalCredentials

from dissectors.options import Options
from replay.engine import Credentials
from replay.plan import Plan, describe
from replay.report import FAILED, SAME, Report, as_text
from replay.run import ClientOptions, replay_client
from replay.safety import Consent
from replay.script import read_script
from replay.transport import TlsSettings
from tests.live.certificates import Authority, Identity
from tests.live.proton_client import Sender
from tests.live.proton_peer import Peer
from tests.live.rabbitmq import Broker
from tests.live.recording import Recording
from tests.live.waiting import until
from tests.replay.conftest import PREFIX
from tests.samples import sample
from tests.tables import dissect

pytestmark = pytest.mark.live

#: Known to the broker, without a password.
NAME = "replaying-client"
#: One of 0-9-1, one of 1.0; both logged in by PLAIN when they were captured.
SAMPLES = ("01", "10a")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identity(authority: Authority) -> Identity:
    return authority.issue(NAME)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("rabbitmq"), authority)
    try:
        broker.start()
        broker.ctl("add_user", NAME, "unused")
        broker.ctl("clear_password", NAME)
        broker.ctl("set_permissions", NAME, ".*", ".*", ".*")
        yield broker
    finally:
        broker.stop()


def replayed(
    path: str,
    target: str,
    *,
    mechanism: str | None = None,
    tls: TlsSettings | None = None,
    keylog: str | None = None,
    live: Path | None = None,
    prefix: str = PREFIX,
) -> Report:
    script = read_script(path, Options(keylog=keylog))
    plan = Plan([path], target=target, prefix=prefix, speed="max", max_time_s=60.0, keylog=keylog)
    describe(script, plan)
    options = ClientOptions(
        credentials=Credentials("nobody", "never asked for", mechanism),
        tls=tls or TlsSettings(),
        consent=Consent(captured_target=True, destructive=True),
        save_live=str(live) if live else None,
    )
    return replay_client(plan, script, options)


def mechanisms(path: Path) -> set[str]:
    return {row["mechanism"] for row in dissect(str(path))["connections"]}


def logins(broker: Broker) -> int:
    return broker.log().count(f"user '{NAME}' authenticated and granted access")


def shown(authority: Authority, identity: Identity) -> TlsSettings:
    return TlsSettings(str(authority.file), str(identity.certificate), str(identity.key))


@pytest.mark.parametrize("name", SAMPLES)
def test_external_is_whom_the_certificate_names(
    name: str, broker: Broker, authority: Authority, identity: Identity, tmp_path: Path
) -> None:
    logins_before = logins(broker)
    live = tmp_path / "live.pcap"
    report = replayed(
        sample(name),
        f"amqps://127.0.0.1:{broker.tls_port}",
        mechanism="EXTERNAL",
        tls=shown(authority, identity),
        live=live,
    )
    assert report.exit_code == SAME, as_text(report)
    assert mechanisms(live) == {"EXTERNAL"}
    expected = logins_before + len(report.connections)
    until(lambda: logins(broker) == expected, "the broker's log has the logins")
    assert b"never asked for" not in live.read_bytes()


def test_external_as_captured(
    broker: Broker, authority: Authority, identity: Identity, tmp_path: Path
) -> None:
    """A capture of pika's own EXTERNAL login, decrypted: the mechanism is repeated unasked."""
    keylog = tmp_path / "keys"
    context = ssl.create_default_context(cafile=str(authority.file))
    context.load_cert_chain(identity.certificate, identity.key)
    context.keylog_filename = str(keylog)
    parameters = pika.ConnectionParameters(
        "127.0.0.1",
        broker.tls_port,
        credentials=ExternalCredentials(),
        ssl_options=pika.SSLOptions(context, "127.0.0.1"),
    )
    with (
        Recording(tmp_path / "first.pcap", broker.tls_port) as recording,
        pika.BlockingConnection(parameters) as connection,
    ):
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("external")
        channel.basic_publish("", "external", b"by certificate")
        channel.queue_delete("external")
    live = tmp_path / "live.pcap"
    report = replayed(
        recording.path,
        f"amqps://127.0.0.1:{broker.tls_port}",
        tls=shown(authority, identity),
        keylog=str(keylog),
        live=live,
    )
    assert report.exit_code == SAME, as_text(report)
    assert mechanisms(live) == {"EXTERNAL"}
    assert report.connections[0].sent_steps > 4


def test_external_by_a_name_that_the_broker_does_not_know(
    broker: Broker, authority: Authority
) -> None:
    report = replayed(
        sample("01"),
        f"amqps://127.0.0.1:{broker.tls_port}",
        mechanism="EXTERNAL",
        tls=shown(authority, authority.issue("a-stranger")),
    )
    assert report.exit_code == FAILED
    assert {failure.partition(" - ")[0] for failure in report.failures} == {
        "not let in: 403 ACCESS_REFUSED"
    }


def test_without_a_certificate_there_is_no_connection(broker: Broker, authority: Authority) -> None:
    report = replayed(
        sample("01"),
        f"amqps://127.0.0.1:{broker.tls_port}",
        mechanism="EXTERNAL",
        tls=TlsSettings(str(authority.file)),
    )
    assert report.exit_code == FAILED
    assert report.failures and all("certificate" in failure for failure in report.failures)


def test_anonymous_where_rabbitmq_takes_it(broker: Broker, tmp_path: Path) -> None:
    """Its 1.0 plugin does, as its default user."""
    live = tmp_path / "live.pcap"
    target = f"amqp://127.0.0.1:{broker.port}"
    report = replayed(sample("10a"), target, mechanism="ANONYMOUS", live=live)
    assert report.exit_code == SAME, as_text(report)
    assert mechanisms(live) == {"ANONYMOUS"}


def test_anonymous_where_it_is_not_offered(broker: Broker) -> None:
    """Nor is EXTERNAL, without TLS."""
    report = replayed(sample("01"), f"amqp://127.0.0.1:{broker.port}", mechanism="ANONYMOUS")
    assert report.exit_code == FAILED
    assert set(report.failures) == {"not let in: the server offers PLAIN, AMQPLAIN, not ANONYMOUS"}


class AskingPeer(Peer):
    """Keeps how its clients have logged in."""

    def __init__(self) -> None:
        super().__init__()
        self.mechanisms: list[str] = []

    def on_connection_opening(self, event: object) -> None:
        self.mechanisms.append(event.transport.sasl().mech)  # type: ignore[attr-defined]


@pytest.mark.parametrize("mechanism", [None, "ANONYMOUS"])
def test_anonymous_to_a_proton_peer(mechanism: str | None, tmp_path: Path) -> None:
    """As captured, and as asked for."""
    first = AskingPeer()
    options = {} if mechanism else {"allowed_mechs": "ANONYMOUS"}
    with Recording(tmp_path / "first.pcap", first.port) as recording, first:
        Sender(first.port, "in.accepted", [b"who?"] * 3, **options).run()
    peer = AskingPeer()
    target = f"amqp://127.0.0.1:{peer.port}"
    with peer:
        report = replayed(recording.path, target, mechanism=mechanism, prefix="")
    assert report.exit_code == SAME, as_text(report)
    assert peer.mechanisms == ["ANONYMOUS"]
    assert peer.received == 3
