"""Whether a file of a checkpoint is whole, by what can be seen without TensorFlow.

Cheap and sound, not complete: what these looks call damaged is damaged, and a bit that flipped
inside of a tensor is found only by whoever reads that tensor.
"""

import json
import os
from pathlib import Path

FOOTER_BYTES = 48
FOOTER_MAGIC = 0xDB4775248B80FB57  # of LevelDB's table format, which the index of TensorFlow has
BLOCK_TRAILER_BYTES = 5
VARINT_BYTES_MAX = 10
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_HEAD_BYTES = 128
USER_BLOCKS = (0, 512, 1024, 2048, 4096, 8192)
MEMBERS = frozenset({"config.json", "metadata.json", "model.weights.h5"})
METADATA_BYTES_MAX = 1 << 16
_WIDTHS = frozenset({2, 4, 8, 16, 32})  # of an address, in bytes
_VERSION_WITHOUT_LENGTHS = 2  # superblocks from here on have no field for the B-trees


def index_damage(path: Path) -> str:
    """What is wrong with the index of a TensorFlow checkpoint; empty: nothing."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return "its index is empty"
            file.seek(max(0, size - FOOTER_BYTES))
            footer = file.read(FOOTER_BYTES)
    except FileNotFoundError:
        return "its index is missing"
    except OSError as error:
        return f"its index cannot be read: {error.strerror}"
    if len(footer) < FOOTER_BYTES or int.from_bytes(footer[-8:], "little") != FOOTER_MAGIC:
        return "its index is cut"
    return "" if _blocks_fit(footer, size) else "its index points outside of itself"


def _blocks_fit(footer: bytes, size: int) -> bool:
    """Whether the two blocks that the footer names lie in the file."""
    numbers: list[int] = []
    at = 0
    for _ in range(4):
        number, at = _varint(footer, at)
        numbers.append(number)
    last = size - FOOTER_BYTES - BLOCK_TRAILER_BYTES
    return all(start + length <= last for start, length in (numbers[:2], numbers[2:]))


def _varint(text: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    number = 0
    for shift in range(VARINT_BYTES_MAX):
        byte = text[at]
        at += 1
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:  # noqa: PLR2004 - the top bit
            break
    return number, at


def keras_damage(path: Path) -> str:
    """What is wrong with a .keras file, by the table at its end."""
    import zipfile  # noqa: PLC0415 - memory that a run in peace need not hold

    try:
        if path.stat().st_size == 0:
            return "it is empty"
        with zipfile.ZipFile(path) as archive:
            missing = sorted(MEMBERS - set(archive.namelist()))
    except zipfile.BadZipFile:
        return "it is cut: the table at its end is missing"
    except Exception as error:  # noqa: BLE001 - zipfile has no bound on what it raises
        return f"it cannot be read: {error!r}"
    return f"it has no {missing[0]}" if missing else ""


def hdf5_damage(path: Path) -> str:
    """What is wrong with an HDF5 file, by the end that its first bytes promise."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return "it is empty"
            for at in USER_BLOCKS:
                file.seek(at)
                head = file.read(HDF5_HEAD_BYTES)
                if head.startswith(HDF5_SIGNATURE):
                    return _hdf5_end(head, size)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return "it is no HDF5 file"


def _hdf5_end(head: bytes, size: int) -> str:
    """The superblock says where the file ends, counted from its base address."""
    whole = head.ljust(HDF5_HEAD_BYTES, b"\0")
    version = whole[8]
    if version < _VERSION_WITHOUT_LENGTHS:
        width, start = whole[13], 24 + 4 * version
    else:
        width, start = whole[9], 12
    if width not in _WIDTHS or len(head) < start + 3 * width:
        return "it is cut in its first bytes"
    base = int.from_bytes(head[start : start + width], "little")
    end = int.from_bytes(head[start + 2 * width : start + 3 * width], "little")
    return "" if base + end <= size else f"it is cut: {size} of {base + end} bytes are there"


def backup_epoch(path: Path) -> int | None:
    """The epoch that a Keras backup goes on with; None: its file cannot be used."""
    try:
        with path.open("rb") as file:
            told = json.loads(file.read(METADATA_BYTES_MAX))
        return int(told["epoch"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
