"""Sockets and TLS: the only file of replay that opens connections. Knows no AMQP.

Connections are made with a time limit and are non-blocking afterwards; TLS runs over memory
buffers, so that plain and encrypted transports look the same to the driver.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from dataclasses import dataclass

RECEIVE_BYTES = 256 * 1024
# Octets kept for a peer that does not read; beyond, the driver stops making more.
MAX_BACKLOG_BYTES = 1024 * 1024
LISTEN_BACKLOG = 64


class TransportError(Exception):
    """The connection could not be made or was lost; the text is for people."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """How to trust an amqps peer."""

    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    is_verified: bool = True

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context


class Transport:
    """One connection. ``receive`` gives None at its end."""

    def __init__(self, sock: socket.socket, tls: ssl.SSLObject | None = None,
                 incoming: ssl.MemoryBIO | None = None,
                 outgoing: ssl.MemoryBIO | None = None) -> None:  # fmt: skip
        self._socket = sock
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._unsent = bytearray()
        self.is_closed = False
        self.local = _endpoint(sock.getsockname())
        self.remote = _endpoint(sock.getpeername())
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def backlog_bytes(self) -> int:
        return len(self._unsent)

    @property
    def is_congested(self) -> bool:
        return len(self._unsent) > MAX_BACKLOG_BYTES

    def send(self, octets: bytes) -> None:
        """As much as goes now; the rest with `flush`."""
        if self._tls is not None and self._outgoing is not None:
            self._tls.write(octets)
            octets = self._outgoing.read()
        self._unsent += octets
        self.flush()

    def flush(self) -> None:
        while self._unsent:
            try:
                count = self._socket.send(self._unsent)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                # What the peer said before it went is still to be read.
                self._unsent.clear()
                if not self.is_closed:
                    raise TransportError(f"connection lost: {_reason(error)}") from error
                return
            del self._unsent[:count]

    def receive(self) -> bytes | None:
        """What has come; empty = nothing yet, None = the end."""
        try:
            octets = self._socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError as error:
            raise TransportError(f"connection lost: {_reason(error)}") from error
        if self._tls is None or self._incoming is None:
            return octets or None
        if octets:
            self._incoming.write(octets)
        else:
            self._incoming.write_eof()
        return self._decrypted(is_over=not octets)

    def _decrypted(self, is_over: bool) -> bytes | None:
        assert self._tls is not None
        found = bytearray()
        while True:
            try:
                piece = self._tls.read(RECEIVE_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLError as error:
                if found or is_over:
                    break
                raise TransportError(f"TLS failed: {_reason(error)}") from error
            if not piece:
                is_over = True
                break
            found += piece
        return bytes(found) if found else None if is_over else b""

    def half_close(self) -> None:
        """We send no more; the peer sees the end and may still speak."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._socket.close()


def connect(host: str, port: int, timeout_s: float, tls: TlsSettings | None = None) -> Transport:
    """A connection that stands, TLS included, or a TransportError with the reason."""
    where = f"{host}:{port}"
    try:
        sock = socket.create_connection((host, port), timeout=timeout_s)
    except OSError as error:
        raise TransportError(f"cannot connect to {where}: {_reason(error)}") from error
    if tls is None:
        return Transport(sock)
    try:
        return _with_tls(sock, host, tls, timeout_s)
    except (OSError, ssl.SSLError) as error:
        sock.close()
        raise TransportError(f"TLS with {where} failed: {_reason(error)}") from error


def _with_tls(sock: socket.socket, host: str, tls: TlsSettings, timeout_s: float) -> Transport:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    wrapped = tls.context().wrap_bio(incoming, outgoing, server_hostname=host)
    # Before the handshake: a peer that refuses it may be gone afterwards, and its name with it.
    transport = Transport(sock, wrapped, incoming, outgoing)
    sock.settimeout(timeout_s)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            wrapped.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(outgoing.read())
            sock.settimeout(max(0.01, deadline - time.monotonic()))
            octets = sock.recv(RECEIVE_BYTES)
            if not octets:
                raise OSError("the peer closed the connection: is it a TLS port?") from None
            incoming.write(octets)
    sock.sendall(outgoing.read())
    sock.setblocking(False)
    return transport


class Listener:
    """Accepts live clients."""

    def __init__(self, host: str, port: int) -> None:
        try:
            self._socket = socket.create_server((host, port), backlog=LISTEN_BACKLOG)
        except OSError as error:
            raise TransportError(f"cannot listen on {host}:{port}: {_reason(error)}") from error
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> Transport | None:
        try:
            sock, _ = self._socket.accept()
        except OSError:
            return None
        return Transport(sock)

    def close(self) -> None:
        self._socket.close()


class Poller:
    """Waits until one of several transports or listeners has something."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, item: Transport | Listener) -> None:
        self._selector.register(item, selectors.EVENT_READ, item)

    def remove(self, item: Transport | Listener) -> None:
        self._selector.unregister(item)

    def wait(self, timeout_s: float) -> list[Transport | Listener]:
        """Those with something to read; backlogs are flushed on the way."""
        for key in list(self._selector.get_map().values()):
            wanted = selectors.EVENT_READ
            if isinstance(key.data, Transport) and key.data.backlog_bytes:
                wanted |= selectors.EVENT_WRITE
            if key.events != wanted:
                self._selector.modify(key.fileobj, wanted, key.data)
        ready = []
        for key, events in self._selector.select(max(0.0, timeout_s)):
            if events & selectors.EVENT_READ:
                ready.append(key.data)
        return ready

    def close(self) -> None:
        self._selector.close()


def resolve(host: str) -> set[str]:
    """The addresses of a host name; empty when nobody knows."""
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return set()


def _endpoint(name: tuple[object, ...]) -> tuple[str, int]:
    return str(name[0]), int(str(name[1]))


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError) and error.reason:
        # TLSV13_ALERT_CERTIFICATE_REQUIRED
        return error.reason.lower().replace("_", " ")
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = getattr(error, "strerror", None) or str(error)
    return str(text).lower() if isinstance(error, ConnectionError) else str(text)
