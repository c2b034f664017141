"""Whether a process was started with the guard of HDF5 files."""

from pathlib import Path

ENVIRON_BYTES_MAX = 1 << 20
_GUARD = b"HOLDFAST_GUARD_HDF5=1"


def is_guarded(pid: int) -> bool:
    """By what it was given at its start; what it has set itself since is not seen."""
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return _GUARD in file.read(ENVIRON_BYTES_MAX).split(b"\0")
    except OSError:
        return False
