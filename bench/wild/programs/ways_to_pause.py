"""Ways in which a healthy task pauses, and goes on: nothing of it may be called an error."""

import atexit
import gc
import os
import random
import socket
import threading
import time
from pathlib import Path

from way import Grammar

WAYS = Grammar()
CHUNK = 1 << 20
SAVE_BYTES_MAX = 1 << 30


def compute(for_s: float) -> None:
    """Keeps one core busy, in numpy where there is one."""
    until_s = time.monotonic() + for_s
    try:
        import numpy as np  # noqa: PLC0415 - not every environment has it
    except ImportError:
        while time.monotonic() < until_s:
            sum(number * number for number in range(10_000))
        return
    matrix = np.random.default_rng(1).normal(size=(64, 64))
    while time.monotonic() < until_s:
        np.linalg.svd(matrix)


@WAYS.way(phases="evaluation")
def first_evaluation(folder: Path, for_s: float) -> None:
    compute(for_s)


@WAYS.way(phases="evaluation")
def evaluation_of_large_matrices(folder: Path, for_s: float) -> None:
    """Long native calls, in which Python has nothing to say."""
    until_s = time.monotonic() + for_s
    try:
        import numpy as np  # noqa: PLC0415
    except ImportError:
        compute(for_s)
        return
    matrix = np.random.default_rng(1).normal(size=(900, 900))
    while time.monotonic() < until_s:
        np.linalg.svd(matrix)


@WAYS.way(phases="save")
def large_save(folder: Path, for_s: float) -> None:
    """So many bytes as the disk takes in that time, each chunk forced to it."""
    until_s = time.monotonic() + for_s
    written = 0
    with (folder / "large.bin").open("wb") as file:
        while time.monotonic() < until_s:
            if written >= SAVE_BYTES_MAX:
                file.seek(0)
                written = 0
            written += file.write(os.urandom(CHUNK))
            file.flush()
            os.fsync(file.fileno())
    (folder / "large.bin").unlink()


@WAYS.way(phases="start first")
def compile_long(folder: Path, for_s: float) -> None:
    compute(for_s)


@WAYS.way(phases="start first middle")
def slow_download(folder: Path, for_s: float) -> None:
    """From a server that sends a little at a time."""
    listening = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        peer, _ = listening.accept()
        with peer:
            until_s = time.monotonic() + for_s
            while time.monotonic() < until_s:
                peer.sendall(bytes(1000))
                time.sleep(0.2)

    threading.Thread(target=send, daemon=True).start()
    with socket.create_connection(listening.getsockname()) as mirror:
        while mirror.recv(65536):
            pass


@WAYS.way(phases="first")
def shuffle_buffer(folder: Path, for_s: float) -> None:
    """Filled row by row from a slow source."""
    until_s = time.monotonic() + for_s
    rows: list[bytes] = []
    while time.monotonic() < until_s:
        time.sleep(0.02)
        rows.append(bytes(1000))
    random.shuffle(rows)


@WAYS.way(phases="first middle")
def one_slow_read(folder: Path, for_s: float) -> None:
    """A network drive that thinks for a while."""
    time.sleep(for_s)


@WAYS.way(phases="first middle", for_steps=8)
def uneven_input(folder: Path, for_s: float) -> None:
    time.sleep(random.uniform(0, 2 * for_s))


@WAYS.way(phases="middle", for_steps=20)
def slow_peer_that_catches_up(folder: Path, for_s: float) -> None:
    compute(for_s)


@WAYS.way(phases="middle")
def garbage_collection(folder: Path, for_s: float) -> None:
    until_s = time.monotonic() + for_s
    cells: list[list[object]] = [[] for _ in range(500_000)]
    for cell in cells:
        cell.append(cells)
    while time.monotonic() < until_s:
        gc.collect()


@WAYS.way(phases="middle first")
def retries_that_succeed(folder: Path, for_s: float) -> None:
    """Nobody answers at first; the third time somebody does."""
    for _ in range(3):
        time.sleep(for_s / 3)


@WAYS.way(phases="middle")
def child_that_ends(folder: Path, for_s: float) -> None:
    """A program started for something useful, such as the packing of a file."""
    import subprocess  # noqa: PLC0415

    script = "import time, zlib; end = time.time() + %f\nwhile time.time() < end: zlib.crc32(b'x')"
    subprocess.run(["python3", "-c", script % for_s], check=True)


@WAYS.way(phases="end")
def long_farewell(folder: Path, for_s: float) -> None:
    atexit.register(time.sleep, min(for_s, 15.0))


@WAYS.way(phases="end")
def last_save(folder: Path, for_s: float) -> None:
    large_save(folder, min(for_s, 12.0))


@WAYS.way(phases="end")
def early_end_by_agreement(folder: Path, for_s: float) -> None:
    """Of all tasks, after the same step, long before the one that was announced."""
    print("early stopping: the validation loss no longer improves", flush=True)
