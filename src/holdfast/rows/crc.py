"""Checksums of joined pieces, from the checksums of the pieces: no byte is read again."""

from functools import lru_cache

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def joined(crc: int, more_crc: int, more_bytes: int) -> int:
    """The CRC-32 of two pieces behind each other."""
    return shifted(crc, more_bytes) ^ more_crc


def shifted(crc: int, nbytes: int) -> int:
    """What a CRC-32 contributes to the CRC-32 of itself and `nbytes` that follow."""
    return _product(_power(nbytes), crc)


@lru_cache(maxsize=4096)
def _power(nbytes: int) -> int:
    """x to the power of the number of bits, modulo the polynomial."""
    power, square, left = _ONE, 1 << 23, nbytes  # 1 << 23: x to the power of 8
    while left:
        if left & 1:
            power = _product(square, power)
        square = _product(square, square)
        left >>= 1
    return power


def _product(one: int, other: int) -> int:
    """Of two polynomials, in the bit order of CRC-32: the lowest power is the highest bit."""
    found = 0
    while one:
        if one & _ONE:
            found ^= other
        one = (one << 1) & 0xFFFFFFFF
        other = (other >> 1) ^ _POLYNOMIAL if other & 1 else other >> 1
    return found
