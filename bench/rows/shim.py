"""The shim that strikes at the Nth call that changes a folder: built on first use, then armed."""

import ctypes
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("strike_at.c")
BUILT = Path(__file__).parents[2] / ".envs"
BUILD_S_MAX = 120
CALLS_MAX = 1 << 16


class NoCompilerError(Exception):
    """The shim cannot be built here; the text says why."""


class How(IntEnum):
    """What the shim does; the numbers are those of `enum mode` in strike_at.c."""

    OFF = 0
    COUNT = 1
    KILL_BEFORE = 2
    KILL_WITHIN = 3  # half of a write is written; anything else is done, and then the kill
    FAIL = 4
    RECORD = 5


@dataclass(frozen=True)
class Strike:
    """At which call below the folder, and what happens there."""

    how: How
    at: int = 0
    errno: int = 0
    times: int = 1


NOTHING = Strike(How.OFF)


def built() -> Path:
    """The shared object, compiled once for each version of its source."""
    name = f"strike_at-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    made = BUILT / name
    if made.exists():
        return made
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise NoCompilerError(
            "strikes at single calls need a C compiler, and there is neither gcc nor cc here:"
            " install gcc, or run everything but the crash layer"
        )
    BUILT.mkdir(exist_ok=True)
    draft = made.with_suffix(f".{os.getpid()}.tmp")
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(draft), str(SOURCE), "-ldl"]
    done = subprocess.run(
        [*command, "-lpthread"], check=False, capture_output=True, text=True, timeout=BUILD_S_MAX
    )
    if done.returncode:
        draft.unlink(missing_ok=True)
        raise NoCompilerError(f"{compiler} does not compile {SOURCE}: {done.stderr.strip()}")
    draft.replace(made)
    return made


class Shim:
    """The shim as it is loaded into this process by LD_PRELOAD."""

    def __init__(self) -> None:
        # The process itself, not the file: a second copy would have counters of its own.
        self._loaded = ctypes.CDLL(None, use_errno=True)
        self._loaded.strike_kinds.restype = ctypes.c_char_p
        self._loaded.strike_seen.restype = ctypes.c_long

    def arm(self, folder: Path, strike: Strike, record_fd: int = -1) -> None:
        self._loaded.strike_arm(
            os.fsencode(folder.resolve()),
            int(strike.how),
            ctypes.c_long(strike.at),
            strike.errno,
            ctypes.c_long(strike.times),
            record_fd,
        )

    def boot(self, id_file: Path) -> None:
        """From now on, this file holds the id of the boot."""
        self._loaded.strike_boot(os.fsencode(id_file))

    def seen(self) -> int:
        """How many calls it counted since it was armed."""
        return int(self._loaded.strike_seen())

    def kinds(self) -> str:
        """One letter for each counted call; only while it counts."""
        return bytes(self._loaded.strike_kinds()).decode()

    def note(self, line: bytes) -> None:
        """Puts a line of the process itself between the recorded calls."""
        self._loaded.strike_note(line, ctypes.c_size_t(len(line)))
