"""What must be true after a strike and a new start, of logs, segments, index and merged files."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from bench.rows.told import DATASETS, judge, read_file
from bench.rows.warm import Tell

from holdfast import rows
from holdfast.rows.merging import Layout, merge
from holdfast.rows.sealing import seal_folder
from holdfast.rows.verifying import verify_merged

MERGED = "all.h5"
LOCKED = "locked.h5"
SEGMENT_BYTES = 4096  # of the central way: several, of few rows

Found = dict[str, npt.NDArray[Any]]
Acknowledged = Mapping[str, list[int]]


def judge_shards(root: Path, acknowledged: Acknowledged, tell: Tell) -> None:
    """The logs, the segments, the index and a merged file hold every acknowledged row once."""
    job = root / "job"
    tell_wrong(tell, "logs", logged(job), acknowledged)
    for error in seal_folder(job)[1]:
        tell({"wrong": f"not sealed: {error}"})
    tell_wrong(tell, "segments", logged(job), acknowledged)
    rows.index(job)
    tell_wrong(tell, "index", read_file(job / "rows/index.h5"), acknowledged)
    judge_merged(root, acknowledged, tell)


def judge_merged(
    root: Path, acknowledged: Acknowledged, tell: Tell, *, order: str = "task",
    layout: Layout = "append",
) -> None:  # fmt: skip
    """A second call goes on, or finds the file whole; nothing but the file is left."""
    merged = root / "out" / MERGED
    was_there = merged.exists()
    try:
        merge(root / "job", merged, order=order, layout=layout)
    except rows.Refused as error:
        if not was_there:
            tell({"wrong": f"the merge was refused: {error}"})
    found = read_file(merged) if layout == "append" else _grouped(merged)
    tell_wrong(tell, "merged file", found, acknowledged)
    verify_merged(merged)
    left = [*(root / "job").rglob("*.h5.*.tmp"), *(set((root / "out").iterdir()) - {merged})]
    if left:
        tell({"wrong": f"left over: {', '.join(str(path.relative_to(root)) for path in left)}"})


def judge_central(root: Path, acknowledged: Acknowledged, tell: Tell) -> None:
    """The central segments, one after the other, hold every acknowledged row once."""
    tell_wrong(tell, "central segments", centred(root / "job"), acknowledged)
    logs = list((root / "job").rglob("*.log"))
    if logs:
        tell({"wrong": f"{len(logs)} logs are left although all is in central segments"})


def judge_locked(root: Path, acknowledged: Acknowledged, tell: Tell) -> None:
    """The one file holds every acknowledged row once."""
    tell_wrong(tell, "locked file", read_file(root / "out" / LOCKED), acknowledged)


def logged(logdir: Path) -> Found:
    """All rows by our own reader, source after source: logs and segments alike."""
    pieces: dict[str, list[npt.NDArray[Any]]] = {}
    for source in rows.sources(logdir):
        for part in rows.parts(source):
            with rows.read_part(part) as content:
                for block in content.blocks:
                    # A view of a mapped log does not outlive the part.
                    pieces.setdefault(block.dataset.name, []).append(content.rows_of(block).copy())
    return _joined(pieces)


def centred(logdir: Path) -> Found:
    """All rows of the central way in the order of arrival, by plain h5py."""
    pieces: dict[str, list[npt.NDArray[Any]]] = {}
    with suppress(FileNotFoundError):
        for path in sorted((logdir / "rows/central").glob("[0-9]*.h5")):
            for name, some in read_file(path).items():
                pieces.setdefault(name, []).append(some)
    return _joined(pieces)


def tell_wrong(tell: Tell, where: str, found: Found, acknowledged: Acknowledged) -> None:
    verdict = judge(found, acknowledged)
    if verdict:
        tell({"wrong": f"{where}: {verdict}"})


def _grouped(path: Path) -> Found:
    """The told datasets of all groups of a merged file, group after group."""
    pieces: dict[str, list[npt.NDArray[Any]]] = {}
    with h5py.File(path, "r") as file:
        for group in (file[name] for name in file if name.startswith("worker")):
            for name in DATASETS:
                pieces.setdefault(name, []).append(group[name][()])
    return _joined(pieces)


def _joined(pieces: dict[str, list[npt.NDArray[Any]]]) -> Found:
    return {name: np.concatenate(some) for name, some in pieces.items()}
