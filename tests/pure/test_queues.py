"""What looks at the queues of a connection amount to."""

import pytest

from holdfast.model.queues import Queues, next_queues
from holdfast.model.tcp_table import ESTABLISHED, TcpRow, address_in, rows_in

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:08AE 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41 1 0
   1: 0E1CE40A:C1F2 0A1CE40A:08AE 01 000000C8:00000003 01:00000014 00000004  1000        0 42 1 0
   2: cut
"""
MAPPED = "0000000000000000FFFF00000100007F:08AE"
V6 = "00000000000000000000000001000000:08AE"


def test_a_table_is_read_into_the_rows_that_are_asked_for() -> None:
    (row,) = rows_in(TABLE, {"42", "43"})
    assert row == TcpRow(
        state=ESTABLISHED,
        local="10.228.28.14:49650",
        remote="10.228.28.10:2222",
        send_bytes=200,
        recv_bytes=3,
        timer=1,
        retransmits=4,
        inode="42",
    )
    assert row.port == 49_650
    assert list(rows_in("", {"42"})) == []


def test_addresses_of_both_families_are_written_as_people_do() -> None:
    assert address_in(MAPPED) == "127.0.0.1:2222"
    assert address_in(V6) == "[::1]:2222"


def looks(*rows: tuple[int, int, int, int], every_s: float = 1.0) -> Queues:
    """Of send and receive bytes, retransmits and timer, one look after the other."""
    queues = None
    for number, (send, recv, again, timer) in enumerate(rows):
        row = TcpRow(ESTABLISHED, "a:1", "b:2", send, recv, timer, again, "7")
        queues = next_queues(queues, row, number * every_s)
    assert queues is not None
    return queues


def stuck(*rows: tuple[int, int, int, int], every_s: float = 1.0) -> tuple[float, float]:
    queues = looks(*rows, every_s=every_s)
    return queues.send_stuck_s, queues.recv_stuck_s


@pytest.mark.parametrize(
    ("rows", "send_s"),
    [
        ([(0, 0, 0, 0)], 0),
        ([(200, 0, 1, 1), (200, 0, 2, 1)], 0),  # too early
        ([(200, 0, 1, 1), (200, 0, 2, 1), (200, 0, 3, 1)], 2),
        ([(200, 0, 1, 1), (260, 0, 2, 1), (300, 0, 3, 1)], 2),  # more is written meanwhile
        ([(200, 0, 0, 1), (200, 0, 1, 1), (200, 0, 2, 1), (200, 0, 3, 1)], 2),  # since the first
        ([(200, 0, 1, 1), (200, 0, 1, 1), (200, 0, 1, 1)], 0),  # a single lost packet
        ([(200, 0, 3, 1), (200, 0, 0, 1), (200, 0, 1, 1)], 0),  # acknowledged in between
        ([(200, 0, 2, 1), (100, 0, 2, 1), (100, 0, 2, 1)], 0),  # some of it was
        ([(200, 0, 0, 1)] * 5, 0),  # always something on its way, and answered
        ([(200, 0, 0, 4)] * 3, 2),  # no room at the other end
        ([(200, 0, 0, 1), (200, 0, 0, 4), (200, 0, 0, 4)], 0),
        ([(200, 0, 0, 4), (300, 0, 0, 4), (300, 0, 0, 4)], 0),
    ],
)
def test_unacknowledged_data_is_stuck_when_it_is_sent_again_or_has_no_room(
    rows: list[tuple[int, int, int, int]], send_s: float
) -> None:
    assert stuck(*rows) == (send_s, 0)


@pytest.mark.parametrize(
    ("rows", "recv_s"),
    [
        ([(0, 9, 0, 0)] * 3, 0),
        ([(0, 9, 0, 0)] * 4, 3),
        ([(0, 9, 0, 0), (0, 5, 0, 0), (0, 5, 0, 0), (0, 5, 0, 0)], 0),  # somebody read
        ([(0, count, 0, 0) for count in (5, 6, 7, 8)], 0),  # maybe somebody did
        ([(0, count, 0, 0) for count in (5, 6, 7, 7, 9, 9)], 5),
    ],
)
def test_unread_data_is_stuck_when_it_stays(
    rows: list[tuple[int, int, int, int]], recv_s: float
) -> None:
    assert stuck(*rows) == (0, recv_s)


def test_two_looks_far_apart_prove_nothing() -> None:
    assert stuck(*[(0, 9, 0, 0)] * 2, every_s=4.0) == (0, 0)


def test_what_is_not_quite_right_is_worth_another_look() -> None:
    assert not looks((200, 0, 0, 1)).is_suspect
    assert looks((200, 0, 1, 1)).is_suspect
    assert looks((200, 0, 0, 4)).is_suspect
    assert looks((0, 1, 0, 0)).is_suspect


def test_data_that_got_through_in_the_end_is_a_path_that_loses() -> None:
    assert looks((200, 0, 2, 1), (0, 0, 0, 0)).recovered
    assert not looks((200, 0, 2, 1), (200, 0, 3, 1)).recovered
