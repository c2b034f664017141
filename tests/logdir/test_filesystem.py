"""Which file system holds a path, told from mountinfo, and which ones other hosts share."""

from pathlib import Path, PurePath

import pytest

from holdfast.logdir.filesystem import filesystem_in, filesystem_of, is_shared

MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw,relatime shared:2 master:7 - nfs4 filer:/home rw,vers=4.2
31 22 0:41 / /home\040page rw - xfs /dev/vdb rw
32 30 0:42 / /home/ada/scratch rw - lustre 10.0.0.1@tcp:/scratch rw
33 22 0:43 / /mnt/a\134b\011c rw - fuse.sshfs ada@far:/ rw
34 22 0:44 / /data rw - autofs systemd-1 rw
35 34 0:45 / /data rw - nfs filer:/data rw
not a mount at all
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/log", "ext4"),
        ("/home", "nfs4"),
        ("/home/ada/runs", "nfs4"),
        ("/homes/ada", "ext4"),
        ("/home page/ada", "xfs"),
        ("/home/ada/scratch/runs/1", "lustre"),
        ("/mnt/a\\b\tc/d", "fuse.sshfs"),
        ("/data/set", "nfs"),
    ],
)
def test_the_deepest_mount_above_a_path_tells_its_file_system(path: str, kind: str) -> None:
    assert filesystem_in(MOUNTINFO, PurePath(path)) == kind


def test_no_mount_at_all_is_told_as_unknown() -> None:
    assert filesystem_in("", PurePath("/home")) == ""


def test_the_real_mounts_of_this_machine_are_understood(tmp_path: Path) -> None:
    assert filesystem_of(Path("/proc/self")) == "proc"
    assert filesystem_of(tmp_path / "not" / "there" / "yet") == filesystem_of(tmp_path) != ""


def test_a_symbolic_link_is_followed_to_where_the_files_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc")
    assert filesystem_of(tmp_path / "link") == "proc"


@pytest.mark.parametrize(
    "kind",
    [
        *("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "9p"),
        *("afs", "autofs", "fuse", "fuse.sshfs", "fuse.glusterfs", "fuse.never-heard-of", ""),
    ],
)
def test_what_other_hosts_may_write_or_we_do_not_know_counts_as_shared(kind: str) -> None:
    assert is_shared(kind)


@pytest.mark.parametrize(
    "kind",
    ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs"],
)
def test_local_disks_do_not_count_as_shared(kind: str) -> None:
    assert not is_shared(kind)
