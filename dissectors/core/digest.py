"""The digest of a body: XXH3 of 64 bits, without a Python call for the many short ones.

The algorithm is xxhash's (XXH3_64bits, seed 0, its default secret), whose library takes longer to
be called than to hash a hundred octets; longer bodies go to the library. The steps and their names
are those of its specification, doc/xxhash_spec.md.
"""

import sys

import cython
from xxhash import xxh3_64_intdigest

# Longer input has another algorithm, which the library is good at.
MAX_SHORT = cython.declare(cython.Py_ssize_t, 240)
IS_LITTLE_ENDIAN = cython.declare(cython.bint, sys.byteorder == "little")
PRIME64_1 = cython.declare(cython.ulonglong, 0x9E3779B185EBCA87)
PRIME64_2 = cython.declare(cython.ulonglong, 0xC2B2AE3D27D4EB4F)
PRIME64_3 = cython.declare(cython.ulonglong, 0x165667B19E3779F9)
PRIME_MX1 = cython.declare(cython.ulonglong, 0x165667919E3779F9)
PRIME_MX2 = cython.declare(cython.ulonglong, 0x9FB21C651E98DF25)
SECRET = cython.declare(
    bytes,
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
        "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
        "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
        "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
    ),
)


def digest(buf: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    """Of buf[start:end]."""
    octets: cython.p_uchar
    size: cython.Py_ssize_t = end - start
    if not cython.compiled or size > MAX_SHORT or not IS_LITTLE_ENDIAN:
        return xxh3_64_intdigest(buf[start:end])
    if start < 0 or size < 0 or end > len(buf):
        raise IndexError("octets are missing")
    octets = buf
    octets += start
    if size > 16:
        return _to_128(octets, size) if size <= 128 else _to_240(octets, size)
    return _to_16(octets, size)


def _to_16(octets: cython.p_uchar, size: cython.Py_ssize_t) -> cython.ulonglong:
    secret: cython.p_uchar = SECRET
    low: cython.ulonglong
    high: cython.ulonglong
    if size > 8:
        low = read64(octets) ^ (read64(secret + 24) ^ read64(secret + 32))  # type: ignore # noqa: F821
        high = read64(octets + size - 8) ^ (read64(secret + 40) ^ read64(secret + 48))  # type: ignore # noqa: F821
        return _avalanche(size + swap64(low) + high + fold(low, high))  # type: ignore # noqa: F821
    if size >= 4:
        low = read32(octets + size - 4) + (read32(octets) << 32)  # type: ignore # noqa: F821
        return _rrmxmx(low ^ (read64(secret + 8) ^ read64(secret + 16)), size)  # type: ignore # noqa: F821
    if size:
        low = octets[size - 1] | (size << 8)
        low |= cython.cast(cython.ulonglong, octets[0]) << 16
        low |= cython.cast(cython.ulonglong, octets[size >> 1]) << 24
        return _avalanche_64(low ^ (read32(secret) ^ read32(secret + 4)))  # type: ignore # noqa: F821
    return _avalanche_64(read64(secret + 56) ^ read64(secret + 64))  # type: ignore # noqa: F821


def _to_128(octets: cython.p_uchar, size: cython.Py_ssize_t) -> cython.ulonglong:
    """Pairs of sixteen octets from both ends towards the middle."""
    secret: cython.p_uchar = SECRET
    last: cython.p_uchar = octets + size - 16
    held: cython.ulonglong = size * PRIME64_1
    i: cython.Py_ssize_t
    for i in range((size - 1) >> 5, -1, -1):
        held += _mix16(octets + 16 * i, secret + 32 * i)
        held += _mix16(last - 16 * i, secret + 32 * i + 16)
    return _avalanche(held)


def _to_240(octets: cython.p_uchar, size: cython.Py_ssize_t) -> cython.ulonglong:
    secret: cython.p_uchar = SECRET
    held: cython.ulonglong = size * PRIME64_1
    i: cython.Py_ssize_t
    for i in range(8):
        held += _mix16(octets + 16 * i, secret + 16 * i)
    held = _avalanche(held)
    for i in range(8, size >> 4):
        held += _mix16(octets + 16 * i, secret + 16 * (i - 8) + 3)
    return _avalanche(held + _mix16(octets + size - 16, secret + 136 - 17))


def _mix16(octets: cython.p_uchar, secret: cython.p_uchar) -> cython.ulonglong:
    low: cython.ulonglong = read64(octets) ^ read64(secret)  # type: ignore # noqa: F821
    return fold(low, read64(octets + 8) ^ read64(secret + 8))  # type: ignore # noqa: F821


def _avalanche(held: cython.ulonglong) -> cython.ulonglong:
    held ^= held >> 37
    held *= PRIME_MX1
    return held ^ (held >> 32)


def _avalanche_64(held: cython.ulonglong) -> cython.ulonglong:
    """XXH64's, for the very short."""
    held ^= held >> 33
    held *= PRIME64_2
    held ^= held >> 29
    held *= PRIME64_3
    return held ^ (held >> 32)


def _rrmxmx(held: cython.ulonglong, size: cython.ulonglong) -> cython.ulonglong:
    held ^= ((held << 49) | (held >> 15)) ^ ((held << 24) | (held >> 40))
    held *= PRIME_MX2
    held ^= (held >> 35) + size
    held *= PRIME_MX2
    return held ^ (held >> 28)
