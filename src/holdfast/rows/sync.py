"""Group commit: one fdatasync answers all who wrote before it began."""

import os
import threading
from collections.abc import Callable


class GroupSync:
    """Puts one log on disk, for any number of threads that wait for it.

    `written` tells how many bytes of the log are whole.
    """

    def __init__(self, fd: int, written: Callable[[], int]) -> None:
        self._fd = fd
        self._written = written
        self._turn = threading.Condition(threading.Lock())
        self._is_busy = False
        self._failure: OSError | None = None
        self.synced_bytes = 0

    def wait(self, upto_bytes: int) -> bool:
        """Returns when that many bytes are on disk; raises the OSError that prevented it.

        False: the log was closed before, and must be opened again to be synced.
        """
        is_leader = False
        try:
            with self._turn:
                while self._is_busy and self.synced_bytes < upto_bytes:
                    self._turn.wait()
                if self.synced_bytes >= upto_bytes:
                    return True
                self._raise_failure()
                if self._fd < 0:
                    return False
                is_leader = self._is_busy = True
            seen = self._written()
            os.fdatasync(self._fd)
            self.synced_bytes = seen
        except OSError as error:
            self._failure = error
            raise
        finally:
            if is_leader:
                with self._turn:
                    self._is_busy = False
                    self._turn.notify_all()
        return True

    def _raise_failure(self) -> None:
        """After a failed fsync the kernel may call lost pages clean: it is never tried again."""
        if self._failure is not None:
            raise OSError(*self._failure.args)

    def retire(self) -> None:
        """Waits for the fdatasync that is under way: the descriptor is about to be closed."""
        with self._turn:
            while self._is_busy:
                self._turn.wait()
            self._fd = -1
