"""Writers without the shared folder: acknowledged elsewhere, sent again, and written once."""

import json
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import rows
from holdfast.probes.process import stat_of
from holdfast.rows import frames, lease, protocol
from holdfast.rows.central_state import central_folder, published
from holdfast.rows.compactor import Compactor
from holdfast.rows.protocol import Address
from holdfast.rows.receiver import Receiver
from holdfast.rows.remote_source import RemoteSource
from holdfast.rows.schema import declared
from holdfast.rows.writer import Ack

TOKEN = "a token of at least sixteen characters"
WAIT_S = 60.0


def until(is_so: Callable[[], object]) -> None:
    end_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.01)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return tmp_path / "logdir"


class Wire:
    """Lies between a sender and a receiver: keeps what it carries, and can be cut."""

    def __init__(self, target: Address) -> None:
        self.carried = bytearray()
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def cut(self) -> None:
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in [*self._ends, self._listener]:
            end.close()

    def _start(self, act: Callable[..., None], *args: socket.socket) -> None:
        self._threads.append(threading.Thread(target=act, args=args))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                near = self._listener.accept()[0]
            except OSError:
                return
            far = self._target.connect(wait_s=WAIT_S)
            far.settimeout(None)
            self._ends += (near, far)
            self._start(self._carry, near, far)
            self._start(self._carry, far, near)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while got := source.recv(1 << 14):
                self.carried += got
                target.sendall(got)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(address: str) -> Iterator[Wire]:
    wire = Wire(Address.parse(address))
    try:
        yield wire
    finally:
        wire.close()


def test_rows_over_a_socket_arrive_as_those_of_local_writers(
    tmp_path: Path, logdir: Path, arrived: Callable[..., Any]
) -> None:
    listen = ["tcp://127.0.0.1:0", f"unix://{tmp_path}/socket"]
    with rows.central(logdir, listen=listen, token=TOKEN) as center:
        for number, address in enumerate(center.addresses):
            ack: Ack = "disk" if number else "process"
            with rows.open(address, task=f"worker:{number}", token=TOKEN, ack=ack) as writer:
                writer.dataset("x", dtype="<f4", shape=(3,), attrs={"unit": "m"})
                writer.append("x", np.full((4, 3), number, "<f4"))
                writer.append_many({"x": np.zeros((2, 3), "<f4"), "t": ["a", "ü"]})
                with pytest.raises(rows.Refused, match="takes batches"):
                    writer.append("x", np.zeros((2, 4), "<f4"))
                writer.attrs("x", by="me")
                writer.append("x", np.zeros((3_000_000, 3), "<f4"))  # more than one frame
                writer.flush()
        center.flush()
        with rows.open(logdir, task="worker:7", way="central") as local:
            local.append("x", np.ones((1, 3), "<f4"))
    found = arrived(logdir)
    for number in range(2):
        mine = found[f"worker-{number}.0001"]
        assert len(mine["x"]) == 3_000_006
        assert (mine["x"][:4] == number).all()
        assert [text.decode() for text in mine["t"]] == ["a", "ü"]
    assert len(found["worker-7.0001"]["x"]) == 1
    assert not list(logdir.glob("rows/worker-*/*.log"))
    assert published(logdir).datasets["x"].attrs == {"unit": "m", "by": "me"}


def test_who_does_not_know_the_token_is_refused_and_it_never_travels(logdir: Path) -> None:
    with (
        rows.central(logdir, listen=["tcp://127.0.0.1:0"], token=TOKEN) as center,
        wired(center.addresses[0]) as wire,
    ):
        with pytest.raises(rows.Refused, match="token"):
            rows.open(wire.address, task="worker:0", token="another token of enough characters")
        with pytest.raises(rows.Refused, match="token"):
            rows.open(wire.address, task="worker:0")
        with rows.open(wire.address, task="worker:0", token=TOKEN) as writer:
            writer.append("x", [1.0, 2.0])
        assert TOKEN.encode() not in wire.carried
        # A receiver that only pretends to know the token is found out.
        with socket.create_server(("127.0.0.1", 0)) as impostor:
            thread = threading.Thread(target=_pretend, args=(impostor,))
            thread.start()
            address = f"tcp://127.0.0.1:{impostor.getsockname()[1]}"
            with pytest.raises(rows.Refused, match="not our receiver"):
                rows.open(address, task="worker:0", token=TOKEN)
            thread.join()
    assert published(logdir).rows == {"x": 2}


def _pretend(listener: socket.socket) -> None:
    connection = listener.accept()[0]
    with connection:
        protocol.say(connection, protocol.CHALLENGE, version=1, nonce="n", wants_token=True)
        protocol.hear(connection)
        protocol.say(connection, protocol.WELCOME, proof="p", folder="f", incarnation=1)


def test_what_nobody_understands_ends_only_its_own_connection(logdir: Path) -> None:
    with rows.central(logdir, listen=["tcp://127.0.0.1:0"], token=TOKEN) as center:
        address = Address.parse(center.addresses[0])
        chance = random.Random(1)
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"", chance.randbytes(1000),
                        protocol._HEADER.pack(b"HFT1", protocol.HELLO, 0, 1 << 62)):  # fmt: skip
            with address.connect(wait_s=WAIT_S) as connection:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):
                    while connection.recv(1000):
                        pass
        with rows.open(center.addresses[0], task="worker:0", token=TOKEN) as writer:
            link: Any = vars(writer)["_link"]
            writer.append("x", [1])
            number = link.put(protocol.FRAMES, [b"no frame at all"])
            with pytest.raises(rows.Refused, match="damaged"):
                link.wait(number)
        with rows.open(center.addresses[0], task="worker:0", token=TOKEN) as writer:
            writer.append("x", [2])
    assert published(logdir).rows == {"x": 2}


def test_whatever_breaks_rows_are_sent_again_and_written_once(
    logdir: Path, feed: Callable[..., Any], judge: Callable[..., Any]
) -> None:
    chance = random.Random(7)
    settings: dict[str, Any] = {"token": TOKEN, "age_s": 0.05, "segment_bytes": 1 << 18}
    with (
        rows.central(logdir, listen=["tcp://127.0.0.1:0"], **settings) as center,
        wired(center.addresses[0]) as wire,
    ):
        ready = ["--token", TOKEN, "--rows", "30000"]
        workers = [
            feed(wire.address, "worker:0", *ready),
            feed(wire.address, "worker:1", *ready, "--ack", "disk"),
        ]
        doomed = feed(wire.address, "worker:2", "--token", TOKEN)
        for turn in range(12):
            time.sleep(chance.uniform(0, 0.2))
            if turn % 4 == 3:
                owner = lease.owner_of(central_folder(logdir) / "compactor")
                if owner is not None:
                    os.kill(owner.pid, signal.SIGKILL)
            else:
                wire.cut()
        doomed.kill()
        assert [worker.wait(WAIT_S) for worker in workers] == [0, 0]
        center.flush()
    found = judge(logdir)
    for number in range(2):
        # Not always the first: a kill may leave a folder that was never told to anybody.
        mine = [name for name in found if name.startswith(f"worker-{number}.")]
        assert len(mine) == 1, "a session went on in another source"
        assert len(found[mine[0]]["x"]) >= 30_000


def test_a_source_whose_only_log_had_no_rows_is_still_taken_over_after_a_kill(
    logdir: Path, arrived: Callable[..., Any]
) -> None:
    with rows.central(logdir, listen=["tcp://127.0.0.1:0"], token=TOKEN) as center:
        with rows.open(center.addresses[0], task="worker:0", token=TOKEN) as writer:
            writer.dataset("x", dtype="<i8")
            os.kill(center.pid, signal.SIGKILL)
            center.flush()  # by the next one, which finds a log without rows and without a writer
            writer.append("x", np.arange(10))
        center.flush()
        assert published(logdir).rows == {"x": 10}
    assert (arrived(logdir)["worker-0.0001"]["x"] == np.arange(10)).all()
    assert not list(logdir.glob("rows/worker-*/*.log"))


def test_no_two_logs_of_a_session_have_the_same_number(
    logdir: Path, arrived: Callable[..., Any]
) -> None:
    about = {"task": "worker:0", "session": "0" * 32, "ack": "process"}
    said: list[str] = []
    with Compactor(logdir, warn=said.append) as compactor:
        for first_row in (None, 0, 10):  # a session that was idle for long, and came back twice
            source = RemoteSource.opened(logdir, about)
            source.take(memoryview(_declaration()))
            if first_row is not None:
                source.take(memoryview(_ten_rows(first_row)))
            source.end()
            if first_row is None:
                compactor.drain()
        compactor.drain()
    with Compactor(logdir, warn=said.append) as compactor:
        compactor.drain()
    assert not said
    assert (arrived(logdir)["worker-0.0001"]["x"] == np.arange(20)).all()


def _declaration() -> bytes:
    content = json.dumps(declared(0, "x", dtype="<i8").to_json()).encode()
    return frames.header_of(frames.DECLARATION, content, time_ns=1) + content


def _ten_rows(first_row: int) -> bytes:
    content = np.arange(first_row, first_row + 10).tobytes()
    return frames.header_of(frames.ROWS, content, time_ns=2, rows=10, first_row=first_row) + content


def test_a_log_that_was_given_up_is_written_by_nobody_who_waited_for_it(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    receiver = Receiver(logdir, [listener], token=TOKEN, warn=lambda _: None)
    sources: dict[str, RemoteSource] = vars(receiver)["_sources"]
    stop, takes, goes_on = threading.Event(), threading.Event(), threading.Event()
    take = RemoteSource.take

    def fails_once(source: RemoteSource, content: memoryview) -> None:
        if goes_on.is_set():
            take(source, content)
            return
        takes.set()
        goes_on.wait(WAIT_S)
        raise rows.Unwritable("the disk is full", do="make room")

    monkeypatch.setattr(RemoteSource, "take", fails_once)
    receiving = threading.Thread(target=receiver.run, args=(stop,))
    receiving.start()
    try:
        with (
            wired(f"tcp://127.0.0.1:{listener.getsockname()[1]}") as wire,
            rows.open(wire.address, task="worker:0", token=TOKEN) as writer,
        ):
            (first,) = sources.values()
            appending = threading.Thread(target=writer.append, args=("x", np.arange(10)))
            appending.start()
            assert takes.wait(WAIT_S)
            seen_s = first.seen_s
            wire.cut()
            until(lambda: first.seen_s > seen_s)  # the next connection waits for its turn
            goes_on.set()
            appending.join()
            (second,) = sources.values()
            assert second is not first
            assert second.turn.locked()
    finally:
        goes_on.set()
        stop.set()
        receiving.join()
        listener.close()
    with Compactor(logdir, warn=lambda _: None) as compactor:
        compactor.drain()
    assert published(logdir).rows == {"x": 10}


def test_a_stopped_receiver_makes_append_wait_and_say_so(
    logdir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with rows.central(logdir, listen=["tcp://127.0.0.1:0"], token=TOKEN) as center:
        patient = rows.open(center.addresses[0], task="worker:0", token=TOKEN)
        hasty = rows.open(center.addresses[0], task="worker:1", token=TOKEN, patience_s=0.5)
        patient.append("x", np.zeros(10))
        hasty.append("x", np.zeros(10))
        os.kill(center.pid, signal.SIGSTOP)
        until(lambda: (seen := stat_of(center.pid)) and seen.state == "T")
        try:
            waiting = [
                threading.Thread(target=patient.append, args=("x", np.full(10, float(turn))))
                for turn in range(4)
            ]
            for thread in waiting:
                thread.start()
            with pytest.raises(rows.Unwritable, match="acknowledged nothing"):
                hasty.append("x", np.zeros(10))
            until(lambda: any("append blocks" in text for text in caplog.messages))
            assert all(thread.is_alive() for thread in waiting)
        finally:
            os.kill(center.pid, signal.SIGCONT)
        for thread in waiting:
            thread.join()
        assert any("acknowledges again, after" in text for text in caplog.messages)
        with pytest.raises(rows.Unwritable, match="acknowledged nothing"):
            hasty.append("x", np.zeros(10))
        patient.close()
    counts = {name: one.rows["x"] for name, one in published(logdir).positions.items()}
    assert counts["worker-0.0001"] == 50
    assert counts["worker-1.0001"] in (10, 20)
