"""Ways in which a task stands still for ever: a grammar to which one function adds one way.

Left out: uninterruptible sleep (D state). It takes a file system that can be frozen, which
bench/strikes/frozen_disk.py already has.
"""

import hashlib
import itertools
import os
import queue
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import ways_by_lock
import ways_by_process
from way import Grammar

FOREVER_S = 100_000
WAYS = Grammar({**ways_by_process.WAYS, **ways_by_lock.WAYS})


@WAYS.way()
def sleeps(folder: Path, for_s: float) -> None:
    time.sleep(FOREVER_S)


@WAYS.way()
def polls_for_a_file(folder: Path, for_s: float) -> None:
    while not (folder / "never-written").exists():
        time.sleep(1)


@WAYS.way()
def polls_often(folder: Path, for_s: float) -> None:
    while not (folder / "never-written").exists():
        time.sleep(0.05)


@WAYS.way()
def retries_for_ever(folder: Path, for_s: float) -> None:
    """Each time a little later, as clients do."""
    pause_s = 0.1
    while True:
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=1).close()
        except OSError:
            time.sleep(pause_s)
            pause_s = min(5.0, 2 * pause_s)


@WAYS.way()
def empty_pipe(folder: Path, for_s: float) -> None:
    reading, _writing = os.pipe()
    os.read(reading, 1)


@WAYS.way()
def fifo_without_writer(folder: Path, for_s: float) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "fifo").open().read()


@WAYS.way()
def stdin_that_says_nothing(folder: Path, for_s: float) -> None:
    reading, _writing = os.pipe()
    os.dup2(reading, 0)
    sys.stdin = os.fdopen(0)
    input("continue? ")


@WAYS.way()
def silent_server(folder: Path, for_s: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(listening.getsockname()).recv(1)


@WAYS.way()
def silent_web_server(folder: Path, for_s: float) -> None:
    port = (listening := socket.create_server(("127.0.0.1", 0))).getsockname()[1]
    urllib.request.urlopen(f"http://127.0.0.1:{port}/weights")
    listening.close()


@WAYS.way()
def nobody_connects(folder: Path, for_s: float) -> None:
    socket.create_server(("127.0.0.1", 0)).accept()


@WAYS.way()
def peer_that_does_not_read(folder: Path, for_s: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(listening.getsockname()).sendall(bytes(64 << 20))


@WAYS.way()
def full_backlog(folder: Path, for_s: float) -> None:
    """A connect to who never accepts: the handshake is not even answered."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(0)
    held = []
    while True:
        caller = socket.socket()
        held.append(caller)
        caller.connect(listening.getsockname())


@WAYS.way()
def datagram_without_answer(folder: Path, for_s: float) -> None:
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answering.bind(("127.0.0.1", 0))
    asking.sendto(b"where is storage.example?", answering.getsockname())
    asking.recvfrom(512)


@WAYS.way()
def selects(folder: Path, for_s: float) -> None:
    reading, _writing = os.pipe()
    select.select([reading], [], [])


@WAYS.way()
def polls_a_descriptor(folder: Path, for_s: float) -> None:
    reading, _writing = os.pipe()
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    while True:
        poll.poll(500)


@WAYS.way()
def pauses_for_a_signal(folder: Path, for_s: float) -> None:
    while True:
        signal.pause()


@WAYS.way()
def waits_for_a_signal(folder: Path, for_s: float) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    signal.sigwait({signal.SIGUSR2})


@WAYS.way()
def locked_database(folder: Path, for_s: float) -> None:
    place = folder / "experiments.sqlite"
    holding = sqlite3.connect(place, isolation_level=None)
    holding.execute("BEGIN EXCLUSIVE")
    sqlite3.connect(place, timeout=FOREVER_S).execute("CREATE TABLE runs (name)")


@WAYS.way()
def awaits_for_ever(folder: Path, for_s: float) -> None:
    import asyncio  # noqa: PLC0415 - its frames are what this is about

    async def never() -> None:
        await asyncio.Event().wait()

    asyncio.run(never())


@WAYS.way()
def endless_loop(folder: Path, for_s: float) -> None:
    number = 1
    while number:
        number = number * 1103515245 % 2147483648 + 1


@WAYS.way(needs="numpy")
def endless_numpy(folder: Path, for_s: float) -> None:
    import numpy as np  # noqa: PLC0415 - not every environment has it

    matrix = np.eye(300)
    while matrix[0, 0]:
        matrix = matrix @ matrix


@WAYS.way()
def endless_threads(folder: Path, for_s: float) -> None:
    """Computing in other threads than the one that trains, which waits for them."""
    threads = [threading.Thread(target=endless_loop, args=(folder, for_s)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@WAYS.way()
def endless_regular_expression(folder: Path, for_s: float) -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


@WAYS.way()
def endless_sum(folder: Path, for_s: float) -> None:
    """In C, with the interpreter lock in hand."""
    sum(itertools.repeat(0))


@WAYS.way()
def endless_hash(folder: Path, for_s: float) -> None:
    """In C, without the interpreter lock."""
    hashlib.pbkdf2_hmac("sha512", b"a", b"b", 2**31 - 1)


@WAYS.way()
def file_read_again_and_again(folder: Path, for_s: float) -> None:
    """Looks for a line at the end that nobody writes."""
    log = folder / "events.log"
    log.write_bytes(bytes(1 << 20))
    while b"ready" not in log.read_bytes():
        time.sleep(0.02)


@WAYS.way(cannot_end=True)
def queue_that_nobody_fills(folder: Path, for_s: float) -> None:
    queue.Queue[int]().get()


@WAYS.way(cannot_end=True)
def queue_that_nobody_empties(folder: Path, for_s: float) -> None:
    full: queue.Queue[int] = queue.Queue(1)
    for number in range(2):
        full.put(number)


@WAYS.way(cannot_end=True)
def producer_died(folder: Path, for_s: float) -> None:
    """The thread that fills the queue has ended by an exception."""
    rows: queue.Queue[int] = queue.Queue()
    source = threading.Thread(target=lambda: rows.put(int("not a number")))
    source.start()
    rows.get()


@WAYS.way()
def hung_pipe_of_shell(folder: Path, for_s: float) -> None:
    subprocess.run("sleep 100000 | sort", shell=True, check=True)
