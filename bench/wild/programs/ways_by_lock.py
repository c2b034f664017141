"""Ways to stand still because of a lock, or of something that is made of locks."""

import ctypes
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from way import Grammar

WAYS = Grammar()
MUTEX_BYTES = 64  # more than any pthread_mutex_t


@WAYS.way(cannot_end=True)
def lock_taken_twice(folder: Path, for_s: float) -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@WAYS.way(cannot_end=True)
def two_locks(folder: Path, for_s: float) -> None:
    cache, index = threading.Lock(), threading.Lock()

    def backwards() -> None:
        with index:
            time.sleep(0.2)
            with cache:
                pass

    with cache:
        thread = threading.Thread(target=backwards)
        thread.start()
        time.sleep(0.1)
        with index:
            thread.join()


@WAYS.way(cannot_end=True)
def joins_who_waits_for_it(folder: Path, for_s: float) -> None:
    """The thread wants the lock that its joiner holds."""
    lock = threading.RLock()

    def wanting() -> None:
        with lock:
            pass

    with lock:
        thread = threading.Thread(target=wanting)
        thread.start()
        thread.join()


@WAYS.way(cannot_end=True)
def condition_that_nobody_notifies(folder: Path, for_s: float) -> None:
    with (condition := threading.Condition()):
        condition.wait()


@WAYS.way(cannot_end=True)
def event_that_nobody_sets(folder: Path, for_s: float) -> None:
    threading.Event().wait()


@WAYS.way()
def event_in_slices(folder: Path, for_s: float) -> None:
    event = threading.Event()
    while not event.wait(0.5):
        pass


@WAYS.way(cannot_end=True)
def semaphore_without_permits(folder: Path, for_s: float) -> None:
    threading.Semaphore(0).acquire()


@WAYS.way(cannot_end=True)
def barrier_of_two(folder: Path, for_s: float) -> None:
    threading.Barrier(2).wait()


@WAYS.way(cannot_end=True)
def result_that_nobody_sets(folder: Path, for_s: float) -> None:
    Future[int]().result()


@WAYS.way(cannot_end=True)
def exhausted_thread_pool(folder: Path, for_s: float) -> None:
    """Its only thread waits for work that it would have to do itself."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: pool.submit(int).result()).result()


@WAYS.way()
def thread_pool_that_sleeps(folder: Path, for_s: float) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(time.sleep, [100_000.0] * 2))


@WAYS.way()
def thread_that_holds_the_lock_sleeps(folder: Path, for_s: float) -> None:
    lock = threading.Lock()
    held = threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            time.sleep(100_000)

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    lock.acquire()


@WAYS.way(cannot_end=True)
def native_mutex_taken_twice(folder: Path, for_s: float) -> None:
    library = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(MUTEX_BYTES)
    library.pthread_mutex_init(mutex, None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
