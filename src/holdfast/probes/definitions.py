"""Which processes of this host were given a cluster definition."""

import os
from pathlib import Path

ENVIRONMENT_BYTES_MAX = 1 << 20
PROCESSES_MAX = 4_096
_BEGINS = b"TF_CONFIG="


def definitions_here() -> dict[int, str]:
    """TF_CONFIG of every process that we may look into, and which has one, by pid."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each costs more than the look
        if not name.isdigit() or len(found) >= PROCESSES_MAX:
            continue
        try:
            with Path(f"/proc/{name}/environ").open("rb") as file:
                pairs = file.read(ENVIRONMENT_BYTES_MAX).split(b"\0")
        except OSError:
            continue
        for pair in pairs:
            if pair.startswith(_BEGINS):
                found[int(name)] = pair[len(_BEGINS) :].decode(errors="replace")
    return found
