"""Which file system a folder lies on, by the system's own word."""

from __future__ import annotations

from pathlib import Path


def mount_of(place: Path) -> tuple[str, str]:
    """The type and the options of the mount that holds a folder."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return "an unknown file system", ""
    found, best = ("an unknown file system", ""), -1
    for line in lines:
        # id parent major:minor root mount-point options optional... - kind source super-options
        front, dash, back = line.partition(" - ")
        fields, after = front.split(" "), back.split(" ")
        if not dash or len(fields) < 6 or len(after) < 3:  # noqa: PLR2004
            continue
        point = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        # Of two mounts on one place, the later one hides the earlier.
        if Path(point) in (place, *place.parents) and len(point) >= best:
            found, best = (after[0], f"{fields[5]},{after[2]}"), len(point)
    return found
