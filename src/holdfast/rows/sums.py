"""Checksums of rows: XXH3 with 64 bits, so fast that every way can take it of every byte."""

from holdfast.rows.errors import Missing

try:
    import xxhash
except ImportError as error:
    raise Missing("rows", package="xxhash") from error

__all__ = ["SUM_BYTES", "SUM_OF_NOTHING", "Sum", "sum_of"]

Sum = xxhash.xxh3_64  # goes on over piece after piece, however they are cut
sum_of = xxhash.xxh3_64_intdigest
SUM_BYTES = 8
SUM_OF_NOTHING = sum_of(b"")
