"""On which kind of file system a path lies, and whether other hosts may write there too."""

from pathlib import Path, PurePath

_MOUNTINFO = Path("/proc/self/mountinfo")

# SQLite's write-ahead log needs memory that all its users share, which no network file system
# gives. `autofs` stands for the network mount that will cover it once somebody looks inside.
_SHARED = frozenset(
    (  # noqa: SIM905 - thirty words read better than thirty strings
        "9p afs autofs beegfs ceph cifs coda davfs drvfs gfs2 glusterfs gpfs lustre mmfs ncpfs "
        "nfs nfs4 ocfs2 orangefs panfs prl_fs pvfs2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs"
    ).split()
)
_LOCAL_FUSE = frozenset(
    {"fuseblk", "fuse.exfat", "fuse.fuse-overlayfs", "fuse.fuse2fs", "fuse.ntfs-3g"}
)


def filesystem_of(path: Path) -> str:
    """The kind of file system that holds `path`, as mount(8) spells it; empty: cannot tell."""
    try:
        mountinfo = _MOUNTINFO.read_bytes().decode(errors="surrogateescape")
    except OSError:
        return ""
    return filesystem_in(mountinfo, path.resolve())


def filesystem_in(mountinfo: str, path: PurePath) -> str:
    """As `filesystem_of`, for a resolved path and the text of a mountinfo file."""
    deepest, kind = -1, ""
    for line in mountinfo.split("\n"):
        # id parent major:minor root mount-point options optional... - kind source super-options
        front, dash, back = line.partition(" - ")
        fields, after = front.split(" "), back.split(" ")
        if not dash or len(fields) < 5:  # noqa: PLR2004 - the mount point is the fifth
            continue
        mount_point = PurePath(_without_octal_escapes(fields[4]))
        depth = len(mount_point.parts)
        # Of two mounts on one place, the later one hides the earlier.
        if depth >= deepest and path.is_relative_to(mount_point):
            deepest, kind = depth, after[0]
    return kind


def is_shared(kind: str) -> bool:
    """Whether other hosts may see this file system; unknown FUSE counts as shared."""
    if kind.startswith("fuse"):
        return kind not in _LOCAL_FUSE
    return kind in _SHARED or not kind


def _without_octal_escapes(text: str) -> str:
    """The kernel writes space, tab, line end and backslash as \\040, \\011, \\012 and \\134."""
    first, *rest = text.split("\\")
    return first + "".join(
        chr(int(part[:3], 8)) + part[3:] if _is_octal(part[:3]) else "\\" + part for part in rest
    )


def _is_octal(digits: str) -> bool:
    return len(digits) == 3 and set(digits) <= set("01234567")  # noqa: PLR2004 - as the kernel does
