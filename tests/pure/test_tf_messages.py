"""A stranger's bytes become devices or BadInput, and never anything else."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.model.errors import BadInput
from holdfast.model.tf_messages import (
    ANSWER_BYTES_MAX,
    DEVICES_MAX,
    Device,
    listed_devices,
    status_devices,
)

# What a server of TensorFlow 2.21 really answered.
REAL = (
    b"\nL\n)/job:worker/replica:0/task:0/device:CPU:0\x12\x03CPU \x80\x80\x80\x80\x01*\x00"
    b"1\xd1\xf8\xb0\x10\x15\xc3\x91|@\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
)
NAME = b"/job:worker/replica:0/task:1/device:GPU:2"


def varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low | 0x80]) + varint(number >> 7) if number > 0x7F else bytes([low])


def block(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def device(name: bytes = NAME, *, rest: bytes = b"", field: int = 1) -> bytes:
    return block(field, block(1, name) + rest)


def test_reads_what_tensorflow_answers() -> None:
    assert status_devices(REAL) == (
        Device(
            "worker",
            0,
            "CPU:0",
            1 << 28,
            int.from_bytes(b"\xd1\xf8\xb0\x10\x15\xc3\x91|", "little"),
        ),
    )
    assert status_devices(REAL)[0].task == "worker:0"


def test_a_list_holds_the_server_and_its_peers() -> None:
    answer = REAL + device(field=2)
    assert [found.task for found in listed_devices(answer)] == ["worker:0", "worker:1"]
    assert [found.task for found in status_devices(answer)] == ["worker:0"]


def test_an_empty_answer_lists_nothing() -> None:
    assert status_devices(b"") == listed_devices(b"") == ()


@pytest.mark.parametrize(
    "unknown",
    [
        block(9, b"a later field"),
        varint(9 << 3) + varint(1 << 63),
        varint(9 << 3 | 1) + bytes(8),
        varint(9 << 3 | 5) + bytes(4),
        varint(1 << 3) + b"\x05",  # the field of the name, but a number
        block(4, b"the field of the memory, but text"),
        block(6, b"the field of the incarnation, but text"),
    ],
)
def test_fields_it_does_not_know_are_passed_over(unknown: bytes) -> None:
    expected = (Device("worker", 1, "GPU:2", 0, 0),)
    assert status_devices(device(rest=unknown)) == expected
    assert status_devices(varint(1 << 3) + b"\x05" + device()) == expected


def test_memory_that_is_negative_is_unknown() -> None:
    (found,) = status_devices(device(rest=varint(4 << 3) + b"\xff" * 9 + b"\x01"))
    assert found.memory_bytes == 0


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (b"\x80" * 11, "does not end"),
        (b"\x80", "does not end"),
        (b"\x08", "does not end"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "18446744073709551615 bytes is cut off"),
        (REAL[:-1], "cut off"),
        (b"\x09\x00", "8 bytes is cut off"),
        (b"\x0b", "wire type 3"),
        (b"\x0c", "wire type 4"),
        (b"\x0f", "wire type 7"),
        (b"\x02\x00", "number 0"),
        (b"HTTP/1.1 404 Not Found", "is"),
        (device(b""), "'' is not the name"),
        (device(b"\xff\xfe"), "not the name"),
        (device(b"/job:wor ker/task:1/device:CPU:0"), "not the name"),
        (device(b"/job:worker/task:-1/device:CPU:0"), "not the name"),
        (device(b"/job:worker/task:1234567/device:CPU:0"), "not the name"),
        (device(b"/job:worker/task:\xb2/device:CPU:0"), "not the name"),
        (device(b"/job:worker/task:1/device:CPU"), "not the name"),
        (device(b"/job:worker/task:1/device:\x1b[2J:0"), "not the name"),
        (device(b"/job:" + b"w" * 64 + b"/task:1/device:CPU:0"), "not the name"),
        (device(b"/job:worker/task:1/device:CPU:0/" * 1000), "not the name"),
        (bytes(ANSWER_BYTES_MAX + 1), "are the bound"),
    ],
)
def test_garbage_is_bad_input(answer: bytes, word: str) -> None:
    with pytest.raises(BadInput, match="not a list of TensorFlow devices") as caught:
        status_devices(answer)
    assert word in caught.value.message
    assert len(caught.value.message) < 600


def test_the_number_of_devices_has_a_bound() -> None:
    one = device(b"/job:w/task:1/device:CPU:0")
    assert len(one) * (DEVICES_MAX + 1) < ANSWER_BYTES_MAX
    assert len(status_devices(one * DEVICES_MAX)) == DEVICES_MAX
    with pytest.raises(BadInput, match="more than 20000 devices"):
        status_devices(one * (DEVICES_MAX + 1))


@given(st.binary(max_size=300))
@example(b"\n\x00")
def test_any_bytes_are_devices_or_bad_input(answer: bytes) -> None:
    for read in (status_devices, listed_devices):
        try:
            found = read(answer)
        except BadInput:
            continue
        assert all(isinstance(one, Device) for one in found)


@given(st.integers(0, len(REAL) - 1), st.binary(min_size=1, max_size=3))
def test_a_damaged_answer_is_devices_or_bad_input(place: int, damage: bytes) -> None:
    try:
        found = listed_devices(REAL[:place] + damage + REAL[place + len(damage) :])
    except BadInput:
        return
    assert all(0 <= one.index < 10**6 and one.memory_bytes >= 0 for one in found)


@given(
    st.integers(0, 999_999),
    st.integers(0, (1 << 63) - 1),
    st.integers(0, (1 << 64) - 1),
)
def test_what_was_written_is_read(index: int, memory_bytes: int, incarnation: int) -> None:
    name = f"/job:ps/replica:0/task:{index}/device:CPU:0".encode()
    rest = varint(4 << 3) + varint(memory_bytes) + b"\x31" + incarnation.to_bytes(8, "little")
    (found,) = status_devices(device(name, rest=rest))
    assert found == Device("ps", index, "CPU:0", memory_bytes, incarnation)
