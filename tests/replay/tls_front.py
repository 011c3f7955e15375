"""TLS in front of a plain port: a thread that decrypts what comes and passes it on."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from types import TracebackType

PIECE = 65_536


class TlsFront:
    """`with TlsFront(cert, key, port) as front:` serves TLS on `front.port`."""

    def __init__(self, certificate: Path, key: Path, behind: int) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._behind = behind
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> TlsFront:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A listener that is only closed stays in accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            try:
                secure = self._context.wrap_socket(plain, server_side=True)
            except OSError:
                continue
            back = socket.create_connection(("127.0.0.1", self._behind))
            for source, target in ((secure, back), (back, secure)):
                threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(PIECE):
            target.sendall(piece)
    except OSError:
        pass
    finally:
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()
