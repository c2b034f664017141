"""Checksums of joined pieces are those of the joined bytes."""

import random
import zlib

from holdfast.rows import crc


def test_the_checksum_of_joined_pieces_needs_only_theirs() -> None:
    chance = random.Random(3)
    for _ in range(50):
        one, other = (chance.randbytes(chance.choice((0, 1, 40, 4097, 70_001))) for _ in range(2))
        whole = zlib.crc32(one + other)
        assert crc.joined(zlib.crc32(one), zlib.crc32(other), len(other)) == whole
        assert whole ^ crc.shifted(zlib.crc32(one), len(other)) == zlib.crc32(other)
