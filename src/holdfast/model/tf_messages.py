"""The two answers that TensorFlow servers give about their devices, read with bounds.

Only what is needed of tensorflow/core/protobuf: GetStatusResponse, ListDevicesResponse and
DeviceAttributes. Whoever answers is a stranger, so that anything else raises BadInput.
"""

import string
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.model.cluster import INDEX_DIGITS_MAX
from holdfast.model.errors import BadInput

ANSWER_BYTES_MAX = 1 << 20
DEVICES_MAX = 20_000
_WORD_LENGTH_MAX = 63
_WORD_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-.")
_VARINT_BYTES_MAX = 10
_UINT64_MAX = (1 << 64) - 1
_INT64_MAX = (1 << 63) - 1

# The wire types of protobuf; groups (3 and 4) are of a past that TensorFlow never saw.
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_LENGTH = {_FIXED64: 8, _FIXED32: 4}

# Of DeviceAttributes:
_NAME, _MEMORY_LIMIT, _INCARNATION = 1, 4, 6


@dataclass(frozen=True, slots=True)
class Device:
    """What one device of a task says of itself."""

    job: str  # the role in the cluster: worker
    index: int
    kind: str  # CPU:0
    memory_bytes: int
    incarnation: int  # drawn anew by every server that starts

    @property
    def task(self) -> str:
        return f"{self.job}:{self.index}"


def status_devices(answer: bytes) -> tuple[Device, ...]:
    """The devices in an answer to WorkerService.GetStatus: those of the server itself."""
    return _devices(answer, fields=(1,))


def listed_devices(answer: bytes) -> tuple[Device, ...]:
    """The devices in an answer to MasterService.ListDevices: its own, and those of its peers."""
    return _devices(answer, fields=(1, 2))


def _devices(answer: bytes, *, fields: tuple[int, ...]) -> tuple[Device, ...]:
    if len(answer) > ANSWER_BYTES_MAX:
        raise _not_devices(f"it has {len(answer)} bytes, and {ANSWER_BYTES_MAX} are the bound")
    devices: list[Device] = []
    for number, value in _fields(answer):
        if number in fields and isinstance(value, bytes):
            if len(devices) == DEVICES_MAX:
                raise _not_devices(f"it lists more than {DEVICES_MAX} devices")
            devices.append(_device(value))
    return tuple(devices)


def _device(message: bytes) -> Device:
    name, memory_bytes, incarnation = b"", 0, 0
    for number, value in _fields(message):
        if number == _NAME and isinstance(value, bytes):
            name = value
        elif number == _MEMORY_LIMIT and isinstance(value, int):
            memory_bytes = value if value <= _INT64_MAX else 0  # negative: it does not know
        elif number == _INCARNATION and isinstance(value, int):
            incarnation = value
    job, index, kind = _names(name)
    return Device(job, index, kind, memory_bytes, incarnation)


def _names(name: bytes) -> tuple[str, int, str]:
    """The parts of /job:worker/replica:0/task:1/device:CPU:0."""
    text = name[: 4 * _WORD_LENGTH_MAX].decode("ascii", "replace")
    parts = dict(part.partition(":")[::2] for part in text.split("/"))
    job, index, device = (parts.get(key, "") for key in ("job", "task", "device"))
    kind, _, number = device.partition(":")
    if not (_is_word(job) and _is_word(kind) and _is_index(index) and _is_index(number)):
        raise _not_devices(f"{text!r} is not the name of a device")
    return job, int(index), device


def _is_word(text: str) -> bool:
    return 0 < len(text) <= _WORD_LENGTH_MAX and _WORD_CHARACTERS.issuperset(text)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= INDEX_DIGITS_MAX


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Every field's number and value; fixed numbers and varints alike are unsigned."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise _not_devices("a field has the number 0")
        if wire == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if wire == _BYTES:
            length, place = _varint(message, place)
        elif wire in _FIXED_LENGTH:
            length = _FIXED_LENGTH[wire]
        else:
            raise _not_devices(f"a field has the wire type {wire}")
        if length > len(message) - place:
            raise _not_devices(f"a field of {length} bytes is cut off")
        raw = message[place : place + length]
        place += length
        yield number, raw if wire == _BYTES else int.from_bytes(raw, "little")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place after it."""
    value = 0
    for count, byte in enumerate(message[place : place + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says: more to come
            return value & _UINT64_MAX, place + count + 1
    raise _not_devices("a number in it does not end")


def _not_devices(why: str) -> BadInput:
    return BadInput(
        f"the answer is not a list of TensorFlow devices: {why}",
        do="see what listens there: it is not a TensorFlow server of a known version",
    )
