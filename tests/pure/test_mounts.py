"""The mount that holds a path, as the kernel lists them."""

import pytest

from holdfast.model.mounts import Mount, mount_in, mounts_below

MOUNTINFO = r"""27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
43 27 0:40 / /data rw shared:1 - autofs systemd-1 rw
44 27 0:41 / /data rw shared:2 - nfs4 files:/export/data rw,vers=4.2
45 27 0:42 / /mnt/my\040disk rw - ext4 /dev/my\134disk rw
46 27 0:43 / /odd\9 rw - tmpfs
a line that is cut
short - ext4 /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/", Mount("/", "ext4", "/dev/vda")),
        ("/database", Mount("/", "ext4", "/dev/vda")),
        ("/data", Mount("/data", "nfs4", "files:/export/data")),
        ("/data/run-1", Mount("/data", "nfs4", "files:/export/data")),
        ("/mnt/my disk/x", Mount("/mnt/my disk", "ext4", "/dev/my\\disk")),
        ("/odd\\9/x", Mount("/odd\\9", "tmpfs", "")),
    ],
)
def test_the_deepest_and_latest_mount_holds_a_path(path: str, mount: Mount) -> None:
    assert mount_in(MOUNTINFO, path) == mount


def test_no_mount_is_known_without_a_list() -> None:
    assert mount_in("", "/data") is None


def test_mounts_below_a_folder_are_known() -> None:
    listed = "1 0 8:1 / / rw - ext4 /dev/a\n2 1 0:9 / /data/scratch rw - tmpfs scratch\nnonsense\n"
    assert mounts_below(listed, "/data") == [Mount("/data/scratch", "tmpfs", "scratch")]
    assert mounts_below(listed, "/data/scratch") == []
    assert mounts_below(listed, "/dat") == []
