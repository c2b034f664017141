"""What is struck at single calls, and what lies in the folder when the strike comes."""

from bench.rows.points import Target

_FIRST = ("write", {"writer": 1, "seal": "never"})
_TORN = [("write", {"writer": 2, "seal": "never"}, 33)]
_CENTRAL = {"way": "central"}

WORKER = Target("worker, process", "write", {"seal": "close"})
# Its logs go ahead of their rows: long enough, and made to, where it would not pay.
WORKER_AHEAD = Target(
    "worker, ahead", "write", {"seal": "close", "log_bytes_max": 1 << 20, "is_ahead": True}
)
WORKER_ON_DISK = Target("worker, disk", "write", {"ack": "disk", "seal": "close"}, power_safe=True)
SEALER = Target("sealer", "seal", before=[_FIRST], torn_before=_TORN, power_safe=True)
CENTRAL = Target(
    "central",
    "compact",
    before=[("write", {"writer": 1, **_CENTRAL}), ("write", {"writer": 2, **_CENTRAL})],
    torn_before=[("write", {"writer": 3, **_CENTRAL}, 33)],
    recover="recover_central",
    power_safe=True,
)
MERGE = Target(
    "merge",
    "merge",
    before=[("write", {"writer": 1}), ("write", {"writer": 2})],
    torn_before=_TORN[:0],
    recover="recover_merge",
    power_safe=True,
)
MERGE_BY_TIME = Target(
    "merge by time",
    "merge",
    {"order": "time"},
    before=[("write", {"writer": 1}), ("write", {"writer": 2})],
    torn_before=[("write", {"writer": 3}, 33)],
    recover="recover_merge",
    power_safe=True,
)
_FILES = [("write_file", {"writer": number}) for number in (1, 2, 3)]
MERGE_FILES = Target(
    "merge of plain files",
    "merge_files",
    {"layout": "append"},
    before=_FILES,
    recover="recover_merge_files",
    power_safe=True,
)
MERGE_FILES_BY_GROUP = Target(
    "merge of plain files by group",
    "merge_files",
    {"layout": "group"},
    before=_FILES,
    recover="recover_merge_files",
    power_safe=True,
)
LOCKED = Target(
    "locked",
    "write",
    {"way": "locked", "ack": "disk"},
    before=[("write", {"writer": 2, "way": "locked"})],
    recover="recover_locked",
    power_safe=True,
)
TARGETS = {
    "worker": (WORKER, WORKER_ON_DISK, WORKER_AHEAD),
    "sealer": (SEALER,),
    "central": (CENTRAL,),
    "merge": (MERGE, MERGE_BY_TIME),
    "files": (MERGE_FILES, MERGE_FILES_BY_GROUP),
    "locked": (LOCKED,),
}
