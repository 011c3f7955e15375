"""What tshark makes of a TLS capture with the same keys: the decrypted octets, and through
pyshark the AMQP frames of each packet."""

from __future__ import annotations

import subprocess

import pyshark

Frame = tuple[int, int | None, int | None]


def decrypted(path: str, keylog: str) -> tuple[bytes, bytes]:
    """Both sides' decrypted octets of the first connection; the client speaks first in AMQP."""
    shown = subprocess.run(
        ["tshark", "-r", path, "-o", f"tls.keylog_file:{keylog}", "-q", "-z", "follow,tls,raw,0"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line for line in shown.splitlines() if _is_hex(line.strip())]
    is_client_indented = lines[0].startswith("\t")
    sides = (b"", b"")
    for line in lines:
        side = int(line.startswith("\t") != is_client_indented)
        octets = bytes.fromhex(line.strip())
        sides = (sides[0] + octets, sides[1]) if side == 0 else (sides[0], sides[1] + octets)
    return sides


def frames_09(path: str, keylog: str, port: int) -> list[Frame]:
    """(packet number, class, method) of every 0-9-1 frame; no class where it is no method."""
    packets = pyshark.FileCapture(
        path,
        display_filter="amqp",
        override_prefs={"tls.keylog_file": keylog},
        decode_as={f"tls.port=={port}": "amqp"},
    )
    found = [
        (
            int(packet.number),
            _number(layer.get_field("method_class")),
            _number(layer.get_field("method_method")),
        )
        for packet in packets
        for layer in packet.layers
        if layer.layer_name == "amqp"
    ]
    packets.close()
    return found


def _number(field: object) -> int | None:
    return None if field is None else int(str(field))


def _is_hex(text: str) -> bool:
    return len(text) > 1 and all(c in "0123456789abcdef" for c in text)
