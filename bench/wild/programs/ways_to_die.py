"""Ways in which a task dies."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from way import Do, Grammar

WAYS = Grammar()


def by_signal(number: signal.Signals) -> Do:
    def die(folder: Path, for_s: float) -> None:
        ctypes.CDLL(None).signal(number, 0)  # signal.signal is for the main thread only
        os.kill(os.getpid(), number)
        time.sleep(60)

    die.__name__ = f"killed_by_{number.name.lower()}"
    return die


def by_exit(code: int) -> Callable[[Path, float], None]:
    def die(folder: Path, for_s: float) -> None:
        sys.stdout.flush()
        os._exit(code)

    die.__name__ = f"leaves_with_{code}"
    return die


for _signal in (
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS),
    *(signal.SIGFPE, signal.SIGILL, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM),
):
    WAYS.way(cannot_end=True, by_thread=True)(by_signal(_signal))
for _code in (1, 3, 42, 137):
    WAYS.way(cannot_end=True, by_thread=True)(by_exit(_code))
WAYS.way(
    cannot_end=True, needs="others", by_thread=True, phases="start first middle evaluation save"
)(by_exit(0))


@WAYS.way(cannot_end=True)
def raises_value_error(folder: Path, for_s: float) -> None:
    raise ValueError("cannot reshape array of size 12 into shape (5,)")


@WAYS.way(cannot_end=True)
def raises_key_error(folder: Path, for_s: float) -> None:
    settings: dict[str, float] = {}
    print(settings["learning_rate"])


@WAYS.way(cannot_end=True)
def file_is_missing(folder: Path, for_s: float) -> None:
    (folder / "shard-00017").read_bytes()


@WAYS.way(cannot_end=True, needs="loop")
def says_sys_exit(folder: Path, for_s: float) -> None:
    sys.exit("the learning rate must be positive")


@WAYS.way(cannot_end=True, by_thread=True)
def dies_by_a_thread(folder: Path, for_s: float) -> None:
    """As loops in threads do whose author wanted to be sure."""

    def loop() -> None:
        try:
            int("the prefetch thread lost its connection")
        except ValueError:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()


@WAYS.way(cannot_end=True)
def out_of_address_space(folder: Path, for_s: float) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    hoard = []
    while True:
        hoard.append(bytearray(8 << 20))


@WAYS.way(cannot_end=True)
def too_many_open_files(folder: Path, for_s: float) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    hoard = []
    while True:
        hoard.append((folder / "plan.json").open())


@WAYS.way(cannot_end=True, needs="small-disk")
def disk_is_full(folder: Path, for_s: float) -> None:
    with (folder / "small-disk" / "checkpoint").open("wb") as file:
        while True:
            file.write(bytes(1 << 16))


@WAYS.way(cannot_end=True)
def child_fails(folder: Path, for_s: float) -> None:
    subprocess.run([sys.executable, "-c", "raise SystemExit(5)"], check=True)


@WAYS.way(cannot_end=True, by_thread=True)
def reads_address_zero(folder: Path, for_s: float) -> None:
    ctypes.string_at(0)


@WAYS.way(cannot_end=True, by_thread=True)
def aborts_in_native_code(folder: Path, for_s: float) -> None:
    ctypes.CDLL(None).abort()


@WAYS.way(cannot_end=True)
def recurses_too_deep(folder: Path, for_s: float) -> None:
    def deeper(level: int) -> int:
        return 1 + deeper(level + 1)

    deeper(0)
