"""Merges rows of many tasks into one plain HDF5 file: exact, resumable, whole or not."""

import contextlib
import errno
import mmap
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from holdfast.rows import layout as layout_of_rows
from holdfast.rows.errors import Refused, RowsError, Unwritable, unwritable
from holdfast.rows.merge_fill import Filling, opened, sum_at
from holdfast.rows.merge_journal import Journal, Mark
from holdfast.rows.merge_segments import SegmentsKind
from holdfast.rows.merge_sources import taken_parts
from holdfast.rows.merge_steps import CHECK, Meter, Progress
from holdfast.rows.merge_work import AnyStep, Copies, Merged, MergeKind, MergeWork, Places
from holdfast.rows.publishing import publish, publish_new
from holdfast.rows.reading import parts, sources

__all__ = ["Layout", "Merged", "merge"]

Layout = Literal["append", "group"]
_PARTIAL: Final = "partial.h5"
_WENT_ON: Final = "went on with an earlier try: rows that came after its start are not in it"
_BY_TASK: Final = "task"


def merge(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    order: str = _BY_TASK,
    layout: Layout = "append",
    force: bool = False,
    fresh: bool = False,
    skip_damaged: bool = False,
    remove_sources: bool = False,
    progress: Progress | None = None,
) -> Merged:
    """Writes all rows of a log directory, or of plain HDF5 files, into one new HDF5 file.

    source: a log directory, a folder with plain HDF5 files, one such file, or many. The new file
    appears when it is whole. Killed at any point and called again, it goes on where it was, with
    what was there when it began; fresh=True begins anew.
    order: of a log directory, "task", "time" (of appending), or the name of a dataset of numbers,
    by whose values the datasets of its group are sorted.
    layout: of plain files, "append" (the same datasets one after the other, and beside each of
    them, as NAME.task, whose rows they are) or "group" (a group for each file).
    """
    target = Path(os.path.abspath(output))  # noqa: PTH100 - no symlink is followed
    _check_output(target, force=force)
    kind = _kind(source, target, order=order, layout=layout, skip_damaged=skip_damaged)
    if remove_sources and not isinstance(kind, SegmentsKind):
        raise Refused("plain HDF5 files are never removed", do="leave out --remove-sources")
    try:
        with Journal(target) as journal, _distrusting_the_disk(journal):
            merging = _Merging(kind, target, journal)
            if _was_published(target, journal) and not force and not fresh:
                made = merging.finished()
            else:
                made = merging.run(fresh=fresh, force=force, progress=progress)
            journal.remove()
    except OSError as error:
        raise unwritable(target, error, do="make room, then merge again: it goes on") from error
    if remove_sources and isinstance(kind, SegmentsKind):
        return replace(made, removed=_remove_sources(kind.logdir, made))
    return made


def _kind(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: Path,
    *,
    order: str,
    layout: Layout,
    skip_damaged: bool,
) -> MergeKind:
    """Plain files, unless it is one folder without any, or one in which rows.open() has written."""
    from holdfast.rows.plain_files.kind import FilesKind, files_of  # noqa: PLC0415 - brings h5py

    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    places = [Path(os.path.abspath(one)) for one in given]  # noqa: PTH100
    files = files_of(places, target)
    if not files:
        if layout != "append":
            raise Refused(
                f"layout={layout!r:.40} is for plain HDF5 files, not for a log directory",
                do="leave it out, or name HDF5 files",
            )
        return SegmentsKind(places[0], order, skip_damaged)
    if order != _BY_TASK:
        raise Refused(
            f"plain HDF5 files are merged file after file, not by {order!r:.80}",
            do="leave out --order",
        )
    return FilesKind(tuple(files), layout, target, skip_damaged)


@contextlib.contextmanager
def _distrusting_the_disk(journal: Journal) -> Iterator[None]:
    """After an I/O error nobody knows what of the work so far is on disk: it begins anew."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EIO:
            journal.restart()
        raise


class _Merging:
    """One merge, from what is there to the file that appears."""

    def __init__(self, kind: MergeKind, target: Path, journal: Journal) -> None:
        self._kind = kind
        self._target = target
        self._journal = journal
        self._partial = journal.folder / _PARTIAL

    def finished(self) -> Merged:
        """An earlier try was killed when only the tidying up was left."""
        told = self._journal.past.plan or {}
        return Merged(
            output=self._target,
            rows=told["rows"],
            nbytes=told["nbytes"],
            parts=len(told["segments"]),
            is_resumed=True,
            files=tuple(told.get("files", ())),
            tasks=tuple(told.get("tasks", ())),
            open_logs=tuple(told["open_logs"]),
            left_out=tuple(told["left_out"]),
            notes=(*told["waiting"], "an earlier try had made it already"),
            taken=taken_parts(told),
        )

    def run(self, *, fresh: bool, force: bool, progress: Progress | None) -> Merged:
        resumed = None if fresh else self._resumed()
        work = resumed or self._begun()
        if self._target.exists() and not force:
            raise _exists(self._target)
        meter = Meter(work.nbytes, progress)
        places = self._framed(work, meter)
        self._fill(work, places, meter)
        work.check(self._partial)
        self._journal.publishing(Mark.of(self._partial, places.checks, _bytes(work.steps)))
        try:
            (publish if force else publish_new)(self._partial, self._target)
        except FileExistsError:
            raise _exists(self._target) from None
        made = work.merged(self._target, is_resumed=resumed is not None)
        return replace(made, notes=(*made.notes, _WENT_ON)) if resumed else made

    def _resumed(self) -> MergeWork | None:
        """What an earlier try began, if the same is asked for now."""
        told = self._journal.past.plan
        if told is None or not self._kind.asked().items() <= told.items():
            return None
        if self._journal.past.places is not None and not self._partial.exists():
            return None
        return self._kind.again(told)

    def _begun(self) -> MergeWork:
        self._journal.restart()
        try:
            return self._planned()
        except RowsError:
            self._journal.remove()
            raise

    def _planned(self) -> MergeWork:
        work = self._kind.begin(self._journal.folder)
        free = shutil.disk_usage(self._target.parent).free
        if work.needed_bytes > free:
            raise Unwritable(
                f"{self._target} may need {work.needed_bytes:,} bytes, and {free:,} are free",
                do="make room, or choose another place",
            )
        self._journal.plan(work.to_json() | self._kind.asked())
        return work

    def _framed(self, work: MergeWork, meter: Meter) -> Places:
        past = self._journal.past
        if past.places is not None and self._partial.exists():
            meter.add(sum(step.nbytes for step in work.steps if step.is_packed))
            return Places.from_json(past.places)
        places = work.make_frame(self._partial, meter)
        self._journal.framed(places.to_json())
        return places

    def _fill(self, work: MergeWork, places: Places, meter: Meter) -> None:
        copies = work.copies(places)
        plain = [step for step in work.steps if not step.is_packed]
        past = self._journal.past
        done = past.done if past.places is not None else 0
        if done and not past.is_of_this_boot:
            done = _still_good(self._partial, work.steps, copies, places.checks, done)
        meter.add(sum(step.nbytes for step in plain if step.number < done))
        filling = Filling(self._partial, places.checks, copies, self._journal, meter)
        filling.fill([step for step in plain if step.number >= done and step.nbytes])


def _still_good(
    path: Path, steps: Sequence[AnyStep], copies: Copies, checks_at: int, done: int
) -> int:
    """After a power cut, what was noted as done may not have reached the disk."""
    with opened(path, os.O_RDONLY) as fd, mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as view:
        table = np.frombuffer(view[checks_at : checks_at + _bytes(steps)], dtype=CHECK)
        for step in steps:
            if step.number >= done:
                break
            if step.is_packed or not step.nbytes:
                continue
            if sum_at(view, copies.place_of(step), step.nbytes) != int(table[step.number]["xxh3"]):
                return step.number
    return done


def _bytes(steps: Sequence[AnyStep]) -> int:
    return (steps[-1].number + 1) * CHECK.itemsize if steps else 0


def _check_output(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {target.parent}", do="make it, or choose another")
    if target.is_dir():
        raise Refused(f"{target} is a folder", do="name a file")
    if target.exists() and not force:
        journal = Journal(target)
        if not journal.folder.exists():
            raise _exists(target)
        with journal:
            if not _was_published(target, journal):
                if journal.past.plan is None:  # killed when only the folder itself was left
                    journal.remove()
                raise _exists(target)


def _was_published(target: Path, journal: Journal) -> bool:
    """Whether an earlier try was killed when only the tidying up was left."""
    mark = journal.past.published
    if mark is None or not target.exists():
        return False
    return Mark.of(target, mark.at, mark.nbytes) == mark


def _exists(target: Path) -> Refused:
    return Refused(
        f"{target} exists already", do="choose another output, or replace it with --force"
    )


def _remove_sources(logdir: Path, made: Merged) -> tuple[str, ...]:
    """Removes parts of sources that are over and whole in the merged file; folders stay.

    A folder's number is never used again. Central segments say what was taken over: they stay.
    """
    removed: list[str] = []
    for source in sources(logdir):
        found = parts(source)
        names = {(source.folder.name, part.number) for part in found}
        if names <= made.taken and all(part.is_over for part in found):
            for part in found:
                part.path.with_name(layout_of_rows.log_name(part.number)).unlink(missing_ok=True)
                part.path.unlink(missing_ok=True)
                removed.append(str(part.path))
    return tuple(removed)
