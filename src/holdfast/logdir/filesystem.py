"""On which kind of file system a path lies, and whether other hosts may write there too."""

from pathlib import Path, PurePath

from holdfast.model.mounts import mount_in

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
    mount = mount_in(mountinfo, str(path))
    return mount.kind if mount else ""


def is_shared(kind: str) -> bool:
    """Whether other hosts may see this file system; unknown FUSE counts as shared."""
    if kind.startswith("fuse"):
        return kind not in _LOCAL_FUSE
    return kind in _SHARED or not kind
