"""The lease's own code in every order of its system calls, killed before each of them."""

import contextlib

import pytest
from tests.rows.lease_states import REPLACED, Explorer, Process, Stage

from holdfast.rows import lease

STATES_MAX = 200_000


def take(process: Process) -> None:
    process.take(lambda owner: bool(process.call("counts", owner)))


def take_from_anybody(process: Process) -> None:
    """Whoever holds it, its time has run out."""
    process.take(lambda owner: False)


def open_file(process: Process) -> None:
    process.call("open_file")


def note_inode(process: Process) -> None:
    assert process.held is not None
    process.held.renew(inode=1)


def close_file(process: Process) -> None:
    process.call("close_file")


def publish(process: Process) -> None:
    assert process.held is not None
    with process.held.only_us():
        process.call("publish", process.held.token)


def release(process: Process) -> None:
    assert process.held is not None
    process.held.release()
    process.held = None


# As the guard: the lease, the file, the file's inode; closed first, let go of then.
WRITER: tuple[Stage, ...] = (take, open_file, note_inode, close_file, release)
# As the locked way: what it publishes must be the newest, though its time may run out.
PUBLISHER: tuple[Stage, ...] = (take_from_anybody, publish, release)


@pytest.mark.parametrize(
    ("programs", "stays", "kills_max"),
    [
        ([WRITER, WRITER, WRITER], False, 1),
        ([WRITER * 2, WRITER * 2], False, 0),
        ([WRITER, WRITER], False, 2),
        ([WRITER, WRITER, WRITER], True, 0),
        ([WRITER, WRITER], True, 2),
        ([PUBLISHER, PUBLISHER, PUBLISHER], True, 0),
        ([PUBLISHER, PUBLISHER, PUBLISHER], False, 0),
        ([PUBLISHER, PUBLISHER], True, 1),
    ],
    ids=[
        "three write and remove the side file, one is killed",
        "two write twice and remove the side file",
        "two write and remove the side file, both are killed",
        "three write and leave the side file",
        "two write and leave the side file, both are killed",
        "three publish and leave the side file",
        "three publish and remove the side file",
        "two publish and leave the side file, one is killed",
    ],
)
def test_no_state_has_two_writers_and_nobody_ends_anothers_lease(
    monkeypatch: pytest.MonkeyPatch,
    programs: list[tuple[Stage, ...]],
    kills_max: int,
    *,
    stays: bool,
) -> None:
    for name in REPLACED:
        monkeypatch.setattr(lease, name, getattr(lease, name))  # put back in the end
    # Those who are played here are processes, not threads of one.
    monkeypatch.setattr(lease, "_no_fork", contextlib.nullcontext())
    explorer = Explorer(programs, stays=stays, kills_max=kills_max)
    assert explorer.visit_all(states_max=STATES_MAX) > 1_000
