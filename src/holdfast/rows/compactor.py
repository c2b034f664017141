"""The compactor: takes over the rows of all central writers' logs into central segments.

Workers acknowledge into their own logs and never wait for it. Each segment says up to where it
contains each source, so that whoever goes on, after whatever end, goes on exactly there.
"""

import heapq
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from holdfast.rows import publishing, reading, storage
from holdfast.rows.central_segment import Buffers, Differs, Plan, write_central
from holdfast.rows.central_state import State, central_folder, published
from holdfast.rows.central_tail import Group, LogFile, Piece, Tail, remove_contained
from holdfast.rows.compacting_lease import take_compacting
from holdfast.rows.direct import DirectFile
from holdfast.rows.errors import Held, RowsError, unwritable
from holdfast.rows.frames import HEADER_BYTES
from holdfast.rows.layout import (
    CENTRAL,
    prepare,
    read_source,
    segment_name,
    task_of_folder,
    temporary_name,
)
from holdfast.rows.schema import Dataset
from holdfast.rows.serve_settings import AGE_S, SEGMENT_BYTES

PIECES_MAX = 1 << 18  # in one segment, whatever their size
UNPUBLISHED_MAX = 2
DIFFERS_MAX = 5  # looks at a checksum that differs, before it is believed
LEFT_AFTER_S = 5.0
RENEW_S = 60.0


@dataclass
class _Unpublished:
    """A segment that is on its way to the disk, and the logs that it makes superfluous."""

    future: Future[None]
    logs: list[LogFile]
    number: int


class Compactor:
    """One at a time for a log directory: the second one is told who holds it (Held)."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        age_s: float = AGE_S,
        warn: Callable[[str], None],
    ) -> None:
        self._logdir = logdir
        self._rows = prepare(logdir)
        self._folder = central_folder(logdir)
        self._folder.mkdir(exist_ok=True)
        self._segment_bytes = segment_bytes
        self._age_s = age_s
        self._warn = warn
        self._warned: set[str] = set()
        self._lease = take_compacting(self._folder)
        self._renew_at_s = time.monotonic() + RENEW_S
        storage.hdf5()  # if it is missing, this is the time to say so
        self._buffers = Buffers()
        self._bad: dict[Path, int] = {}
        self._differs: dict[tuple[Path, int], int] = {}
        self._tails: dict[str, Tail] = {}
        self._others: set[str] = set()
        self._unpublished: deque[_Unpublished] = deque()
        self._publisher = ThreadPoolExecutor(1, thread_name_prefix="holdfast-rows-publish")
        self._look_for_left_at_s = 0.0
        self._begun = 0
        for left in self._folder.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        self._state = State()
        self._plan = Plan(0, 0.0)
        self._begin()

    def tick(self) -> bool:
        """Looks once at all logs, publishes what is due; says whether there was something new."""
        self._collect(wait=False)
        if time.monotonic() > self._renew_at_s:
            self._renew()
        self._find_sources()
        is_new = False
        for tail in self._tails.values():
            if not tail.is_aside:
                tail.look(nbytes_max=self._segment_bytes)
        is_new = self._take()
        while self._is_full():
            self._cut()
            self._take()
        if self._plan.is_changed and time.monotonic() - self._plan.since_s >= self._age_s:
            self._cut()
        if not self._plan.is_changed and not self._unpublished:
            self._look_for_left()
            self._remove(self._released())
        return is_new

    def drain(self) -> None:
        """Returns when all that was in the logs when it was called is published."""
        while True:
            begun = self._begun
            self._find_sources()
            left = set(self._tails)
            while left:
                self.tick()
                left = {name for name in left if self._is_behind(name)}
            if self._plan.is_changed:
                self._cut()
            self._collect(wait=True)
            if begun == self._begun:
                break
        self._look_for_left_at_s = 0.0
        self.tick()
        if self._take():  # logs without rows, whose writers are gone, want to be passed, too
            self._cut()
            self._collect(wait=True)

    def _is_behind(self, name: str) -> bool:
        tail = self._tails.get(name)
        return tail is not None and not tail.is_at_end and not tail.is_aside

    def close(self) -> None:
        self._publisher.shutdown(wait=True)
        self._buffers.close()
        for tail in self._tails.values():
            tail.close()
        for item in self._unpublished:
            for log in item.logs:
                log.close()
        self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        """From what is published."""
        self._begun += 1
        for tail in self._tails.values():
            tail.close()
        self._tails = {}
        self._state = published(self._logdir)
        self._plan = self._new_plan()

    def _new_plan(self) -> Plan:
        return Plan(self._state.segment + 1, time.monotonic())

    def _find_sources(self) -> None:
        for folder in list(self._rows.iterdir()):
            name = folder.name
            if name in self._tails or name in self._others or not task_of_folder(name):
                continue
            about = read_source(folder)
            way = about.get("way")
            if way == CENTRAL:
                remove_contained(folder, self._state.position(name).log)
                self._tails[name] = Tail(
                    folder,
                    self._state.position(name),
                    may_come_back=bool(about.get("is_remote")),
                    bad=self._bad,
                    warn=self._warn_once,
                )
            elif way is not None:  # else its writer is about to say it
                self._others.add(name)

    def _take(self) -> bool:
        """Moves what waits into the plan, in the order of time, until it is full."""
        tails = [tail for tail in self._tails.values() if tail.waiting]
        taken = dict.fromkeys(range(len(tails)), 0)
        lists = [
            [(group.time_ns, number, place) for place, group in enumerate(tail.waiting)]
            for number, tail in enumerate(tails)
        ]
        # Within a source the order of its log holds, whatever its clock does.
        for _, number, place in heapq.merge(*lists, key=lambda item: item[0]):
            tail = tails[number]
            if tail.is_aside:
                continue
            if self._is_full():
                break
            self._add(tail, tail.waiting[place])
            taken[number] += 1
        for number, tail in enumerate(tails):
            del tail.waiting[: taken[number]]
            if tail.is_aside:
                tail.waiting.clear()
        return any(taken.values())

    def _is_full(self) -> bool:
        return self._plan.nbytes >= self._segment_bytes or len(self._plan.blocks) >= PIECES_MAX

    def _add(self, tail: Tail, group: Group) -> None:
        """All of a group goes into one segment."""
        state, position = self._state, tail.position
        fresh = self._fresh(tail, group)
        known = [piece.dataset for piece in fresh] + [dataset for dataset, _ in group.attrs]
        if tail.is_aside or not all(self._fits(tail, dataset) for dataset in known):
            return
        if not self._plan.is_changed:
            self._plan = self._new_plan()
            self._plan.is_changed = True
        for dataset, attrs in group.attrs:
            self._set_attrs(self._known(dataset), attrs)
        for piece in fresh:
            dataset = self._known(piece.dataset)
            name = dataset.name
            first_row = state.rows[name]
            self._plan.pieces.setdefault(name, []).append(piece)
            self._plan.origins.setdefault(name, []).append(
                (position.number, piece.first_row, piece.rows, piece.time_ns)
            )
            self._plan.blocks.append((dataset.id, first_row, piece.rows, piece.time_ns))
            self._plan.nbytes += piece.nbytes
            state.rows[name] = first_row + piece.rows
            position.rows[name] = piece.first_row + piece.rows
        position.log = group.log.number
        position.offset = group.end

    def _fresh(self, tail: Tail, group: Group) -> list[Piece]:
        """Those whose rows are not contained yet; a row is known by its number."""
        next_rows = dict(tail.position.rows)
        fresh = []
        for piece in group.pieces:
            if self._is_fresh(tail, piece, next_rows.get(piece.dataset.name, 0)):
                fresh.append(piece)
                next_rows[piece.dataset.name] = piece.first_row + piece.rows
        return fresh

    def _is_fresh(self, tail: Tail, piece: Piece, next_row: int) -> bool:
        if piece.first_row > next_row:
            self._warn_once(
                f"{piece.log.path}: {piece.dataset.name} goes on with row {piece.first_row}, not "
                f"{next_row}: rows between are missing; `holdfast rescue` looks for them",
                about=f"gap {tail.folder}",
            )
        elif piece.first_row < next_row < piece.first_row + piece.rows:
            self._set_aside(tail, f"{piece.dataset.name} has row {next_row} twice")
        return piece.first_row >= next_row

    def _fits(self, tail: Tail, dataset: Dataset) -> bool:
        known = self._state.datasets.get(dataset.name)
        if known is not None and known.is_like(dataset):
            return True
        if known is not None:
            self._set_aside(
                tail,
                f"its rows of {dataset.name} are {dataset.dtype} {dataset.row_shape}, those of "
                f"others {known.dtype} {known.row_shape}",
            )
            return False
        for other in self._state.datasets:
            if other.startswith(f"{dataset.name}/") or dataset.name.startswith(f"{other}/"):
                self._set_aside(tail, f"{dataset.name} and {other} cannot lie below each other")
                return False
        return True

    def _set_aside(self, tail: Tail, why: str) -> None:
        tail.is_aside = True
        self._warn_once(
            f"{tail.folder} is left out of the central segments: {why}; its logs stay as they are"
        )

    def _known(self, dataset: Dataset) -> Dataset:
        state = self._state
        if dataset.name not in state.datasets:
            state.datasets[dataset.name] = replace(dataset, id=len(state.datasets))
            state.rows[dataset.name] = 0
        known = state.datasets[dataset.name]
        if known.name not in self._plan.datasets:
            self._plan.datasets[known.name] = known
            self._plan.first_rows[known.name] = state.rows[known.name]
        return known

    def _set_attrs(self, dataset: Dataset, attrs: dict[str, object]) -> None:
        try:
            changed = dataset.with_attrs(attrs)
        except RowsError as error:
            self._warn_once(str(error))
            return
        self._state.datasets[dataset.name] = self._plan.datasets[dataset.name] = changed

    def _cut(self) -> None:
        """Writes the planned segment; on its way to the disk, the next one is begun."""
        plan, self._plan = self._plan, Plan(0, 0.0)
        self._state.segment = plan.number
        target = self._folder / segment_name(plan.number)
        private = target.with_name(temporary_name(target.name))
        try:
            begun = write_central(private, plan, self._state.to_json(), self._buffers)
        except Differs as error:
            publishing.discard(private)
            self._look_again(error)
            return
        except OSError as error:
            publishing.discard(private)
            raise unwritable(private, error) from error
        except RowsError:
            publishing.discard(private)
            raise
        if len(self._unpublished) >= UNPUBLISHED_MAX:
            self._collect_first()
        before = self._unpublished[-1].future if self._unpublished else None
        logs = self._released()
        future = self._publisher.submit(self._publish, private, target, before, begun, logs)
        self._unpublished.append(_Unpublished(future, logs, plan.number))

    def _publish(
        self, private: Path, target: Path, before: Future[None] | None,
        begun: DirectFile, logs: list[LogFile],
    ) -> None:  # fmt: skip
        try:
            begun.finish()
            if before is not None:
                before.result()  # it says that all before it is there, so that must be
            publishing.sync_file(private)
            if not self._lease.is_ours():
                raise Held(f"{self._folder} has another compactor", do="let one of them run")
            publishing.publish_new(private, target)
            self._remove(logs)
        except FileExistsError as error:
            raise Held(f"{target} was made by another compactor", do="let one run") from error
        finally:
            publishing.discard(private)

    def _released(self) -> list[LogFile]:
        return [log for tail in self._tails.values() for log in tail.released()]

    def _collect(self, *, wait: bool) -> None:
        while self._unpublished and (wait or self._unpublished[0].future.done()):
            self._collect_first()

    def _collect_first(self) -> None:
        item = self._unpublished[0]
        try:
            item.future.result()
        except OSError as error:
            raise unwritable(self._folder, error) from error
        self._unpublished.popleft()

    def _remove(self, logs: list[LogFile]) -> None:
        for log in logs:
            log.close()
            if not log.is_kept:
                publishing.discard(log.path)

    def _look_again(self, error: Differs) -> None:
        """Over a network file system the bytes may come late: believe it when it stays so."""
        path, at = error.piece.log.path, error.piece.offset
        self._collect(wait=True)
        count = self._differs[path, at] = self._differs.get((path, at), 0) + 1
        if count >= DIFFERS_MAX:
            self._bad[path] = at - HEADER_BYTES
            self._warn_once(str(error))
        else:
            time.sleep(0.1 * count)
        self._begin()

    def _look_for_left(self) -> None:
        """Logs whose writers are gone without an end, once nothing of theirs waits."""
        now_s = time.monotonic()
        if now_s < self._look_for_left_at_s:
            return
        self._look_for_left_at_s = now_s + LEFT_AFTER_S
        for tail in self._tails.values():
            if not tail.is_read or tail.is_aside:
                continue
            parts = reading.parts(reading.source_in(tail.folder))
            if parts and parts[-1].is_over and not parts[-1].is_segment:
                tail.look(nbytes_max=self._segment_bytes)  # what came before it was over
                if tail.is_read:
                    tail.finish()

    def _renew(self) -> None:
        self._lease.renew()
        self._renew_at_s = time.monotonic() + RENEW_S

    def _warn_once(self, text: str, *, about: str = "") -> None:
        if (about or text) not in self._warned:
            self._warned.add(about or text)
            self._warn(text)
