"""The locked way: many writers, one HDF5 file that is never half-written.

An append is acknowledged in the writer's own log, in the side folder `.all.h5.rows` (an ordinary
log directory). flush, close and every `bring_bytes` take the lease and bring all rows that are not
yet contained, those of the other writers too, into the file: a copy is made, appended to, put on
disk and renamed over the file, as long as the lease is still ours. The file itself says up to
which row it contains each source, so that a kill at any moment loses and doubles nothing.

A bring-in copies the whole file: this way is for small files that programs insist on.
"""

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.rows import lease, publishing, storage
from holdfast.rows.blocks import Block
from holdfast.rows.errors import Damaged, Held, Refused, RowsError, unwritable
from holdfast.rows.layout import sync_folder
from holdfast.rows.lock_test import locks_work
from holdfast.rows.reading import Part, PartContent, parts, read_part, sources
from holdfast.rows.schema import Dataset
from holdfast.rows.writer import Ack, Writer

BRING_BYTES = 64 << 20
WAIT_S = 120.0  # for others who bring rows in
LOOK_AGAIN_S = 0.02
GROUP = "_holdfast"
CONTAINED, TOKEN = "contained", "token"
Contained = dict[str, dict[str, int]]  # rows, by source folder and dataset
Found = tuple[str, Block, PartContent]  # with its source's folder


def side_folder(path: Path) -> Path:
    """The log directory of the writers of one file."""
    return path.with_name(f".{path.name}.rows")


def open_locked(
    path: str | os.PathLike[str],
    *,
    task: str,
    ack: Ack = "process",
    bring_bytes: int = BRING_BYTES,
    wait_s: float = WAIT_S,
) -> "LockedWriter":
    """Refused, with the reason, where locks were not seen to work."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise Refused(f"{target} is a folder", do='name the HDF5 file, as in "…/all.h5"')
    tried = locks_work(target.parent)
    if not tried.works:
        raise Refused(
            f"no locks that hold: {tried.why}",
            do="use way='shards', which needs none, and merge at the end",
        )
    if target.exists():
        _contained(target)
    return LockedWriter(target, task=task, ack=ack, bring_bytes=bring_bytes, wait_s=wait_s)


class LockedWriter(Writer):
    """As any writer; flush and close return when all rows so far are in the file."""

    def __init__(self, path: Path, *, task: str, ack: Ack, bring_bytes: int, wait_s: float) -> None:
        self.path = path
        self._bring_bytes = bring_bytes
        self._wait_s = wait_s
        self._brought_bytes = 0
        self._appended_bytes = 0
        self._bringing = threading.Lock()
        super().__init__(side_folder(path), task=task, ack=ack, seal="never", way="locked")

    def append(self, name: str, batch: Any) -> None:
        self.append_many({name: batch})

    def append_many(self, batches: Mapping[str, Any]) -> None:
        super().append_many(batches)
        self._count(sum(getattr(batch, "nbytes", 8) for batch in batches.values()))

    def flush(self) -> None:
        super().flush()
        self._bring(self._wait_s)

    def close(self) -> None:
        is_first = not self._is_closed and self._pid == os.getpid()
        super().close()
        if is_first:
            self._bring(self._wait_s)

    def _count(self, nbytes: int) -> None:
        self._appended_bytes += nbytes
        if self._appended_bytes - self._brought_bytes >= self._bring_bytes:
            self._brought_bytes = self._appended_bytes
            # Whoever holds it brings our rows in as well, or the next one does.
            with contextlib.suppress(Held):
                self._bring(0.0)

    def _bring(self, wait_s: float) -> None:
        with self._bringing:
            bring_in(self.path, task=self.task, wait_s=wait_s)


def bring_in(path: Path, *, task: str, wait_s: float = WAIT_S) -> int:
    """Rows of all writers that the file does not contain yet, into it; returns how many."""
    until_s = time.monotonic() + wait_s
    while True:
        try:
            held = lease.take(path, task=task, token_min=_token(path))
        except Held:
            if time.monotonic() >= until_s:
                raise
            time.sleep(LOOK_AGAIN_S)
        except OSError as error:
            raise unwritable(path, error) from error
        else:
            break
    try:
        with held:
            return _Bringing(path, held).go()
    except OSError as error:
        raise unwritable(path, error) from error


@dataclass
class _Bringing:
    path: Path
    lease: lease.Lease

    def go(self) -> int:
        contained = _contained(self.path) if self.path.exists() else {}
        found = [part for source in sources(side_folder(self.path)) for part in parts(source)]
        with contextlib.ExitStack() as stack:
            new = self._new(found, contained, stack)
            if new:
                self._publish(new, contained)
        self._tidy(found, contained)
        return sum(block.rows for _, block, _ in new)

    def _new(
        self, found: list[Part], contained: Contained, stack: contextlib.ExitStack
    ) -> list[Found]:
        """Blocks that the file does not have, in the order in which they were appended."""
        new: list[Found] = []
        for part in found:
            content = read_part(part)
            stack.callback(content.close)
            name = part.source.folder.name
            had = contained.get(name, {})
            new += [
                (name, block, content)
                for block in content.blocks
                if block.first_row >= had.get(block.dataset.name, 0)
            ]
        # One writer's rows keep their order: its clock may have been set back.
        new.sort(key=lambda one: one[1].time_ns)
        order: dict[tuple[str, str], list[Found]] = {}
        for one in new:
            order.setdefault((one[0], one[1].dataset.name), []).append(one)
        waiting = {
            key: iter(sorted(some, key=lambda one: one[1].first_row)) for key, some in order.items()
        }
        return [next(waiting[one[0], one[1].dataset.name]) for one in new]

    def _publish(self, new: list[Found], contained: Contained) -> None:
        self._sweep()
        with publishing.private_path(self.path) as private:
            if self.path.exists():
                shutil.copyfile(self.path, private)
                shutil.copymode(self.path, private)
            self._append(private, new, contained)
            publishing.sync_file(private)
            with self.lease.only_us():
                private.replace(self.path)
                sync_folder(self.path.parent)

    def _append(self, private: Path, new: list[Found], contained: Contained) -> None:
        h5py = storage.hdf5()
        with storage.writing(private), h5py.File(private, "a", locking=False) as file:
            for name in dict.fromkeys(block.dataset.name for _, block, _ in new):
                mine = [one for one in new if one[1].dataset.name == name]
                target = _dataset(file, mine[0][1].dataset, self.path)
                _check_alike([block.dataset for _, block, _ in mine], self.path)
                at = target.shape[0]
                target.resize(at + sum(block.rows for _, block, _ in mine), axis=0)
                for some in _slabs(mine):
                    self.lease.renew()
                    together = [content.rows_of(block) for _, block, content in some]
                    rows = np.concatenate(together) if len(together) > 1 else together[0]
                    target[at : at + len(rows)] = rows
                    at += len(rows)
                # A chunk that finds no room when the dataset is closed is gone, and h5py is silent.
                target.flush()
                for source, block, _ in mine:
                    contained.setdefault(source, {})[name] = block.first_row + block.rows
            group = file.require_group(GROUP)
            group.attrs[TOKEN] = self.lease.token
            group.pop(CONTAINED, None)
            group.create_dataset(CONTAINED, data=json.dumps(contained).encode())

    def _sweep(self) -> None:
        """What bringers-in who were killed have left: only the owner makes such files."""
        start, end = f".{self.path.name}.", ".tmp"
        for name in [entry.name for entry in os.scandir(self.path.parent)]:
            if name.startswith(start) and name.endswith(end) and len(name) == len(start + end) + 16:
                (self.path.parent / name).unlink(missing_ok=True)

    def _tidy(self, found: list[Part], contained: Contained) -> None:
        """Logs that are over and wholly contained go, so that the side folder stays small."""
        for part in found:
            had = contained.get(part.source.folder.name, {})
            if not part.is_over:
                continue
            with read_part(part) as content:
                if content.tail is None and all(
                    block.first_row < had.get(block.dataset.name, 0) for block in content.blocks
                ):
                    part.path.unlink(missing_ok=True)


def _slabs(blocks: list[Found]) -> Iterator[list[Found]]:
    """As many at once as are worth one write."""
    some: list[Found] = []
    nbytes = 0
    for one in blocks:
        some.append(one)
        nbytes += one[1].nbytes
        if nbytes >= storage.WRITE_BYTES:
            yield some
            some, nbytes = [], 0
    if some:
        yield some


def _check_alike(datasets: list[Dataset], path: Path) -> None:
    """Two writers may have declared one name differently."""
    for one in datasets:
        if not one.is_like(datasets[0]):
            raise Refused(
                f'dataset "{one.name}" of {path} is {datasets[0].dtype} {datasets[0].row_shape}'
                f" for one writer, and {one.dtype} {one.row_shape} for another",
                do="give one of the two another name; the rows stay in the logs beside the file",
            )


def _dataset(file: Any, dataset: Dataset, path: Path) -> Any:
    """The growing dataset in the file; Refused where something else has its name."""
    h5py = storage.hdf5()
    kind = h5py.string_dtype() if dataset.is_text else dataset.numpy
    found = file.get(dataset.name)
    if found is None:
        made = file.create_dataset(
            dataset.name,
            shape=(0, *dataset.row_shape),
            maxshape=(None, *dataset.row_shape),
            chunks=(storage.chunk_rows_of(dataset), *dataset.row_shape),
            dtype=kind,
            compression=dataset.compression,
            shuffle=dataset.compression is not None,
            fletcher32=not dataset.is_text,
        )
        storage.set_attrs(made, dataset)
        return made
    fits = (
        isinstance(found, h5py.Dataset)
        and found.shape is not None
        and found.shape[1:] == dataset.row_shape
        and bool(found.maxshape)
        and found.maxshape[0] is None
        and (found.dtype == kind)
    )
    if not fits:
        raise Refused(
            f'dataset "{dataset.name}" of {path} cannot take rows of {dataset.dtype}'
            f" {dataset.row_shape}: it is {found}",
            do="give one of the two another name; the rows stay in the log beside the file",
        )
    return found


def _contained(path: Path) -> Contained:
    """What the file says; nothing for one that somebody else made. Damaged if it does not open."""
    with storage.open_finished(path) as file:
        try:
            group = file.get(GROUP)
            if group is None or CONTAINED not in group:
                return {}
            found = json.loads(bytes(group[CONTAINED][()]))
            return {
                str(key): {str(k): int(v) for k, v in some.items()} for key, some in found.items()
            }
        except (ValueError, AttributeError, TypeError, OSError) as error:
            raise Damaged(
                f"{path} does not say what it contains: {error}", do="holdfast rescue it"
            ) from error


def _token(path: Path) -> int:
    """The highest token that the file knows: it outlives the side file."""
    if not path.exists():
        return 0
    try:
        with storage.open_finished(path) as file:
            group = file.get(GROUP)
            return int(group.attrs.get(TOKEN, 0)) if group is not None else 0
    except (RowsError, OSError, ValueError, TypeError, KeyError):
        return 0
