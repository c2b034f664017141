"""Unpacks a stream piece by piece, within bounds: what a stranger packed may be a bomb."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

try:
    import zstandard
except ImportError:  # the extra `zstd` is not installed
    zstandard = None  # type: ignore[assignment]

UNPACKED_BYTES_MAX = 64 << 30
RATIO_MAX = 500  # of what comes out to what went in, once much has come out
RATIO_FROM_BYTES = 256 << 20
MEMORY_BYTES_MAX = 128 << 20  # that unpacking may take
READ_BYTES = 256 << 10
ZSTD_READ_BYTES = 2_048  # a few bytes can hold 128 KiB, and nobody can ask for less of it
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
MAGIC_BYTES_MAX = max(map(len, MAGIC))
_FAULTS: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)
if zstandard is not None:
    _FAULTS = (*_FAULTS, zstandard.ZstdError)


def packed_as(sample: bytes) -> str:
    """How a file is packed, by its first bytes: names lie."""
    return next((name for magic, name in MAGIC.items() if sample.startswith(magic)), "")


def missing_extra(packed: str) -> str:
    """What must be installed to unpack it; empty: nothing."""
    return "holdfast[zstd]" if packed == "zstd" and zstandard is None else ""


class Unpacking:
    """The unpacked bytes of a stream. `why` says what could not be read of it."""

    def __init__(self, packed: str, first: bytes, read: Callable[[int], bytes]) -> None:
        self.why = ""
        self._packed = packed
        self._pending = first
        self._read = read
        self._taken = len(first)
        self._made = 0
        self._stream: Any = None
        self._over = False

    def read(self, size: int) -> bytes:
        while not self._over:
            try:
                found = self._step(size)
            except _FAULTS as error:
                self._stop(f"the {self._packed} stream is damaged: {error}")
                return b""
            if found:
                self._made += len(found)
                self._check_bounds()
                return found
        return b""

    def _step(self, size: int) -> bytes:
        if self._stream is None and not self._next_stream():
            return b""
        if not self._pending and getattr(self._stream, "needs_input", True) and not self._fill():
            self._stop(f"the {self._packed} stream is cut off")
            return b""
        taken, found = self._pending, b""
        if self._packed == "gzip":
            found = self._stream.decompress(taken, size)
            self._pending = self._stream.unconsumed_tail
        elif self._packed == "zstd":
            found = self._stream.decompress(taken[:ZSTD_READ_BYTES])
            self._pending = taken[ZSTD_READ_BYTES:]
        else:
            found = self._stream.decompress(taken, size)
            self._pending = b""
        if self._stream.eof:
            self._pending = self._stream.unused_data + self._pending
            self._stream = None
        return bytes(found)

    def _next_stream(self) -> bool:
        """One file may hold several, one after another; what follows the last one is padding."""
        while len(self._pending) < MAGIC_BYTES_MAX and self._fill():
            pass
        if packed_as(self._pending) == self._packed:
            self._stream = _stream(self._packed)
            return True
        self._over = True
        if self._pending.strip(b"\0"):
            self._stop(f"what follows the {self._packed} stream is not read")
        return False

    def _fill(self) -> bool:
        more = self._read(READ_BYTES)
        self._pending += more
        self._taken += len(more)
        return bool(more)

    def _check_bounds(self) -> None:
        if self._made > UNPACKED_BYTES_MAX:
            self._stop(f"it holds more than {UNPACKED_BYTES_MAX >> 30} GiB: the rest is not read")
        elif self._made > RATIO_FROM_BYTES and self._made > RATIO_MAX * self._taken:
            self._stop(
                f"it unpacks to more than {RATIO_MAX} times its size: only the first"
                f" {self._made >> 20} MiB are read"
            )

    def _stop(self, why: str) -> None:
        self.why = why
        self._over = True


def _stream(packed: str) -> Any:
    match packed:
        case "gzip":
            return zlib.decompressobj(wbits=31)
        case "bzip2":
            return bz2.BZ2Decompressor()
        case "xz":
            return lzma.LZMADecompressor(memlimit=MEMORY_BYTES_MAX)
    return zstandard.ZstdDecompressor(max_window_size=MEMORY_BYTES_MAX).decompressobj()
