"""Which mount holds a path, read from the text of a mountinfo file."""

from collections.abc import Iterator
from dataclasses import dataclass

_FIELDS_MIN = 5  # the mount point is the fifth
_OCTAL_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Mount:
    point: str
    kind: str  # as mount(8) spells it: ext4, nfs4, tmpfs
    source: str = ""  # a device, or server:/export


def mount_in(mountinfo: str, path: str) -> Mount | None:
    """The mount that holds a resolved, absolute path."""
    found: Mount | None = None
    for mount in _mounts(mountinfo):
        # Of two mounts on one place, the later one hides the earlier.
        if _holds(mount.point, path) and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def mounts_below(mountinfo: str, path: str) -> list[Mount]:
    """Other mounts whose places are below a folder."""
    return [one for one in _mounts(mountinfo) if one.point != path and _holds(path, one.point)]


def _mounts(mountinfo: str) -> Iterator[Mount]:
    for line in mountinfo.split("\n"):
        # id parent major:minor root mount-point options optional... - kind source super-options
        front, dash, back = line.partition(" - ")
        fields, after = front.split(" "), back.split(" ")
        if dash and len(fields) >= _FIELDS_MIN:
            source = _without_octal_escapes(after[1]) if len(after) > 1 else ""
            yield Mount(_without_octal_escapes(fields[4]), after[0], source)


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def _without_octal_escapes(text: str) -> str:
    """The kernel writes space, tab, line end and backslash as \\040, \\011, \\012 and \\134."""
    first, *rest = text.split("\\")
    return first + "".join(
        chr(int(part[:3], 8)) + part[3:] if _is_octal(part[:3]) else "\\" + part for part in rest
    )


def _is_octal(digits: str) -> bool:
    return len(digits) == _OCTAL_DIGITS and set(digits) <= set("01234567")
