"""For how long the queues of a connection have not emptied, from one look to the next."""

from dataclasses import dataclass

from holdfast.model.tcp_table import TcpRow

STUCK_S = 1.9  # three looks, about a second apart
# Messages are often of one size, and a reader that is starved of a core leaves the next one
# lying as it left the one before: it takes more to say that nobody reads.
UNREAD_S, GROWING_S = 2.9, 5.0
LOOKS_MIN, UNREAD_LOOKS_MIN = 3, 4
AGAIN_MIN = 2  # a single lost packet is sent again once
NO_ROOM_TIMER = 4


@dataclass(frozen=True, slots=True)
class Queue:
    """Bytes that one look after the other found waiting."""

    bytes: int
    since_s: float
    looks: int = 1
    steady: bool = True  # always the same number
    sealed: bool = True  # always without room at the other end


@dataclass(frozen=True, slots=True)
class Queues:
    """Both queues of a task's end of a connection, when we last looked."""

    at_s: float
    retransmits: int
    send: Queue | None
    recv: Queue | None
    recovered: bool = False  # what was sent again has just got through

    @property
    def send_stuck_s(self) -> float:
        """How long nobody acknowledges; 0: it moves, or it is too early to say."""
        if self.send is None:
            return 0.0
        lasting_s = self.at_s - self.send.since_s
        sealed = self.send.sealed and self.send.steady and self.send.looks >= LOOKS_MIN
        stuck = self.retransmits >= AGAIN_MIN or sealed
        return lasting_s if stuck and lasting_s >= STUCK_S else 0.0

    @property
    def recv_stuck_s(self) -> float:
        """How long nobody reads; 0: somebody does, or it is too early to say."""
        if self.recv is None or self.recv.looks < UNREAD_LOOKS_MIN:
            return 0.0
        lasting_s = self.at_s - self.recv.since_s
        return lasting_s if lasting_s >= (UNREAD_S if self.recv.steady else GROWING_S) else 0.0

    @property
    def is_suspect(self) -> bool:
        """Whether it is worth another look soon."""
        sealed = self.send is not None and self.send.sealed
        return self.retransmits > 0 or sealed or self.recv is not None


def next_queues(before: Queues | None, row: TcpRow, at_s: float) -> Queues:
    """What a new look makes of the earlier ones at the same connection."""
    again = before.retransmits if before else 0
    fewer = row.retransmits < again  # an acknowledgement came
    first = row.retransmits > 0 and again == 0  # what was on its way before may have got through
    send = before.send if before and not (fewer or first) else None
    no_room = row.timer == NO_ROOM_TIMER
    return Queues(
        at_s=at_s,
        retransmits=row.retransmits,
        send=_next(send, row.send_bytes, at_s, sealed=no_room),
        recv=_next(before.recv if before else None, row.recv_bytes, at_s, sealed=True),
        recovered=fewer,
    )


def _next(before: Queue | None, count: int, at_s: float, *, sealed: bool) -> Queue | None:
    """A queue that has shrunk since is a new one: somebody took from it."""
    if not count:
        return None
    if before is None or count < before.bytes:
        return Queue(count, at_s, sealed=sealed)
    return Queue(
        count,
        before.since_s,
        before.looks + 1,
        steady=before.steady and count == before.bytes,
        sealed=before.sealed and sealed,
    )
