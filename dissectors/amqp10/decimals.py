"""IEEE 754-2008 decimals in Binary Integer Decimal form, as exact `decimal.Decimal` values.

AMQP 1.0 §1.6.15 to §1.6.17 put decimal32/64/128 on the wire in BID: sign, a combination field
whose first bits choose the layout, a biased exponent, and the significand as a plain binary
integer. Knows nothing about constructors; it turns octets into Decimals and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

_INFINITY = 0b11110
_NAN = 0b11111


@dataclass(frozen=True, slots=True)
class DecimalFormat:
    """The parameters of one interchange format (IEEE 754-2008 table 3.6)."""

    bits: int
    digits: int
    bias: int
    exponent_bits: int

    @property
    def significand_bits(self) -> int:
        """Trailing bits after sign and exponent in the ordinary layout."""
        return self.bits - 1 - self.exponent_bits


DECIMAL32 = DecimalFormat(bits=32, digits=7, bias=101, exponent_bits=8)
DECIMAL64 = DecimalFormat(bits=64, digits=16, bias=398, exponent_bits=10)
DECIMAL128 = DecimalFormat(bits=128, digits=34, bias=6176, exponent_bits=14)


def decode_bid(raw: bytes, form: DecimalFormat) -> Decimal:
    """Octets → Decimal. A non-canonical significand means zero (IEEE 754-2008 §3.5.2)."""
    word = int.from_bytes(raw, "big")
    sign = word >> (form.bits - 1)
    combination = (word >> (form.bits - 6)) & 0b11111
    if combination == _INFINITY:
        return Decimal("-Infinity" if sign else "Infinity")
    if combination == _NAN:
        return _decode_nan(word, sign, form)
    exponent_mask = (1 << form.exponent_bits) - 1
    if combination >> 3 == 0b11:
        # The large layout: two marker bits, then the exponent; the significand begins 0b100.
        low_bits = form.significand_bits - 2
        biased = (word >> low_bits) & exponent_mask
        significand = (0b100 << low_bits) | (word & ((1 << low_bits) - 1))
    else:
        biased = (word >> form.significand_bits) & exponent_mask
        significand = word & ((1 << form.significand_bits) - 1)
    if significand >= 10**form.digits:
        significand = 0
    return Decimal((sign, _digits(significand), biased - form.bias))


def encode_bid(value: Decimal, form: DecimalFormat) -> bytes:
    """Decimal → octets, exactly; raises ValueError when the format cannot hold the value."""
    sign, digits, exponent = value.as_tuple()
    top = sign << (form.bits - 1)
    significand = int("".join(map(str, digits)) or "0")
    if exponent == "F":
        word = top | (_INFINITY << (form.bits - 6))
    elif isinstance(exponent, str):
        if len(str(significand)) >= form.digits:
            raise ValueError(f"NaN payload of {value} needs more than {form.digits - 1} digits")
        signaling = int(exponent == "N") << (form.bits - 7)
        word = top | (_NAN << (form.bits - 6)) | signaling | significand
    else:
        word = top | _finite_word(significand, exponent, form)
    return word.to_bytes(form.bits // 8, "big")


def _decode_nan(word: int, sign: int, form: DecimalFormat) -> Decimal:
    signaling = (word >> (form.bits - 7)) & 1
    payload_bits = form.significand_bits - 3
    payload = word & ((1 << payload_bits) - 1)
    if payload >= 10 ** (form.digits - 1):
        payload = 0
    name = "sNaN" if signaling else "NaN"
    return Decimal(f"{'-' if sign else ''}{name}{payload or ''}")


def _finite_word(significand: int, exponent: int, form: DecimalFormat) -> int:
    biased = exponent + form.bias
    if significand >= 10**form.digits or not 0 <= biased < 3 << (form.exponent_bits - 2):
        raise ValueError(f"{significand}E{exponent:+d} does not fit decimal{form.bits}")
    if significand >> form.significand_bits == 0:
        return (biased << form.significand_bits) | significand
    low_bits = form.significand_bits - 2
    return (0b11 << (form.bits - 3)) | (biased << low_bits) | (significand & ((1 << low_bits) - 1))


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(number)))
