"""Ways to stand still because of another process."""

import ctypes
import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from way import Grammar

WAYS = Grammar()
FOREVER = "100000"
SLEEPS = "import time; time.sleep(100000)"
HOLDS_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(100000)
"""
LOCKS_TWICE = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
_forks = multiprocessing.get_context("fork")


@WAYS.way()
def child_that_sleeps(folder: Path, for_s: float) -> None:
    subprocess.run(["sleep", FOREVER], check=True)


@WAYS.way()
def child_of_a_child(folder: Path, for_s: float) -> None:
    script = "import subprocess; subprocess.run(['sleep', '100000'])"
    subprocess.run([sys.executable, "-c", script], check=True)


@WAYS.way()
def child_in_a_shell(folder: Path, for_s: float) -> None:
    subprocess.run("sleep 100000; echo done", shell=True, check=True)


@WAYS.way()
def child_that_computes(folder: Path, for_s: float) -> None:
    subprocess.run([sys.executable, "-c", "while True: pass"], check=True)


@WAYS.way(cannot_end=True)
def child_that_deadlocks(folder: Path, for_s: float) -> None:
    subprocess.run([sys.executable, "-c", LOCKS_TWICE], check=True)


@WAYS.way(cannot_end=True)
def stopped_child(folder: Path, for_s: float) -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEPS])
    time.sleep(0.2)
    child.send_signal(signal.SIGSTOP)
    child.wait()


@WAYS.way(cannot_end=True, by_thread=True)
def stopped(folder: Path, for_s: float) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(60)


@WAYS.way()
def waits_by_pid(folder: Path, for_s: float) -> None:
    os.waitpid(os.posix_spawn("/bin/sleep", ["sleep", FOREVER], os.environ), 0)


@WAYS.way()
def polls_a_child(folder: Path, for_s: float) -> None:
    child = subprocess.Popen(["sleep", FOREVER])
    while child.poll() is None:
        time.sleep(0.2)


@WAYS.way(cannot_end=True)
def child_with_a_full_pipe(folder: Path, for_s: float) -> None:
    """It writes more than a pipe holds, and its parent does not read but waits for its end."""
    script = "import sys; sys.stdout.write('x' * 1000000)"
    subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE).wait()


@WAYS.way()
def child_says_nothing(folder: Path, for_s: float) -> None:
    subprocess.run(["sleep", FOREVER], check=True, stdout=subprocess.PIPE, text=True)


@WAYS.way()
def one_line_from_a_child(folder: Path, for_s: float) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        if child.stdout:
            child.stdout.readline()


@WAYS.way()
def file_lock_held_by_another(folder: Path, for_s: float) -> None:
    place = folder / "cache.lock"
    holder = [sys.executable, "-c", HOLDS_LOCK, str(place)]
    with subprocess.Popen(holder, stdout=subprocess.PIPE) as child:
        if child.stdout:
            child.stdout.readline()
        with place.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


@WAYS.way()
def process_that_never_joins(folder: Path, for_s: float) -> None:
    child = _forks.Process(target=time.sleep, args=(float(FOREVER),))
    child.start()
    child.join()


@WAYS.way(cannot_end=True)
def pool_whose_worker_was_killed(folder: Path, for_s: float) -> None:
    with _forks.Pool(1) as pool:
        pool.apply(_dies)


def _dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@WAYS.way()
def pool_that_sleeps(folder: Path, for_s: float) -> None:
    with _forks.Pool(2) as pool:
        pool.map(time.sleep, [float(FOREVER)] * 2)


@WAYS.way()
def queue_between_processes(folder: Path, for_s: float) -> None:
    _forks.Queue().get()


@WAYS.way(cannot_end=True)
def lock_between_processes(folder: Path, for_s: float) -> None:
    """Its holder has died with it."""
    lock = _forks.Lock()
    child = _forks.Process(target=lock.acquire)
    child.start()
    child.join()
    lock.acquire()


@WAYS.way()
def interpreter_lock_in_c(folder: Path, for_s: float) -> None:
    """A native call that does not give it back."""
    ctypes.PyDLL(None).sleep(int(FOREVER))


@WAYS.way()
def native_sleep(folder: Path, for_s: float) -> None:
    ctypes.CDLL(None).sleep(int(FOREVER))
