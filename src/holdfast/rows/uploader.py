"""Uploads the closed logs of one writer beside it, again and again until each is confirmed."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from holdfast.rows.errors import RowsError, Unwritable
from holdfast.rows.spool import uploading
from holdfast.rows.store import Store
from holdfast.rows.uploading import Sent, remove_if_done, upload_leftovers, upload_source

AGAIN_S_FIRST = 0.5
AGAIN_S_MAX = 60.0
ENDS_S_MAX = 10.0
log = logging.getLogger("holdfast.rows")


class Uploader:
    """A thread that belongs to one writer, and its hold on the writer's folder in the spool."""

    def __init__(
        self, folder: Path, spool: Path, store: Store, *, end_log: Callable[[], None],
        every_s: float, wait_s: float,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._store = store
        self._leftovers = upload_leftovers(spool, store)
        self._is_tidy = False
        self._end_log = end_log
        self._every_s = every_s
        self._wait_s = wait_s
        self._changed = threading.Condition()
        self._asked = 0
        self._done = 0
        self._ending = False
        self._error: RowsError | None = None
        self._hold = contextlib.ExitStack()
        self._hold.enter_context(uploading(folder))
        # A daemon, because a store that never answers must not keep a program from ending: every
        # writer is closed at Python's end, and what is not uploaded then lies in the spool.
        self._thread = threading.Thread(target=self._run, name="holdfast-rows-upload", daemon=True)
        self._thread.start()

    def ask(self) -> int:
        """A log was closed. The number is for `wait`."""
        with self._changed:
            self._asked += 1
            self._changed.notify_all()
            return self._asked

    def wait(self, number: int, *, wait_s: float) -> bool:
        """Whether what was closed before `ask` gave this number is confirmed by now."""
        with self._changed:
            self._changed.wait_for(lambda: self._done >= number or self._ending, wait_s)
            return self._done >= number

    def end(self) -> None:
        """Finishes what earlier writers left, in bounded time, then begins nothing new."""
        with self._changed:
            if self._error is None:
                self._changed.wait_for(lambda: self._is_tidy or self._error, self._wait_s)
            self._ending = True
            self._changed.notify_all()
        self._thread.join(ENDS_S_MAX)

    def forget_in_fork(self) -> None:
        """A child that lives longer must not hold the folder."""
        self._hold.close()

    @property
    def trouble(self) -> str:
        """What is wrong at the moment; empty: nothing is known to be."""
        return self._error.message if self._error else ""

    def _run(self) -> None:
        again_s = AGAIN_S_FIRST
        try:
            while not self._ending:
                with self._changed:
                    number = self._asked
                if not self._try(lambda: deque(upload_source(self._folder, self._store), 0)):
                    self._wait(again_s, lambda: False)
                    again_s = min(2 * again_s, AGAIN_S_MAX)
                    continue
                again_s = AGAIN_S_FIRST
                self._confirm(number)
                if not self._finish_one_leftover():
                    self._wait_for_more(number)
        finally:
            self._leftovers.close()
            remove_if_done(self._folder)
            self._hold.close()

    def _finish_one_leftover(self) -> bool:
        """Whether an earlier writer left something that was waiting."""
        if self._is_tidy:
            return False
        for sent in self._leftovers:
            if isinstance(sent, Sent):
                log.info("uploaded %s, which an earlier writer left", sent.name)
            else:
                log.warning("%s", sent)
            return True
        with self._changed:
            self._is_tidy = True
            self._changed.notify_all()
        return False

    def _try(self, act: Callable[[], object]) -> bool:
        """Whether it worked; what did not is remembered, and told once."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - the thread must live; all is told and repeated
            known = error if isinstance(error, RowsError) else Unwritable(repr(error))
            if self._error is None:
                log.warning("%s; rows wait in %s, and it is tried again", known, self._folder)
            self._error = known
            return False
        self._error = None
        return True

    def _confirm(self, number: int) -> None:
        with self._changed:
            self._done = max(self._done, number)
            self._changed.notify_all()

    def _wait_for_more(self, number: int) -> None:
        """Until a log is closed; one that is open for long is closed by us."""
        if not self._wait(self._every_s, lambda: self._asked > number):
            self._end_log()

    def _wait(self, seconds: float, until: Callable[[], bool]) -> bool:
        """Whether something is to be done before the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ending or until(), seconds)
