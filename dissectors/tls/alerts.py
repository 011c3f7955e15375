"""Alerts that end a connection for a reason worth telling (RFC 8446 §6, RFC 5246 §7.2)."""

from __future__ import annotations

_FATAL = 2
_NAMES = {
    10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow",
    40: "handshake_failure", 42: "bad_certificate", 43: "unsupported_certificate",
    44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
    47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error",
    51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
    80: "internal_error", 86: "inappropriate_fallback", 109: "missing_extension",
    110: "unsupported_extension", 112: "unrecognized_name",
    113: "bad_certificate_status_response", 115: "unknown_psk_identity",
    116: "certificate_required", 120: "no_application_protocol",
}  # fmt: skip


def describe_alert(content: bytes) -> str | None:
    """The name of a fatal alert; None for warnings such as close_notify."""
    if len(content) != 2 or content[0] != _FATAL:
        return None
    return _NAMES.get(content[1], f"alert {content[1]}")
