"""What a merge takes: all segments, and a snapshot of each log as it is now."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.layout import CENTRAL, read_source, rows_folder
from holdfast.rows.merge_plan import Plan, plan_merge
from holdfast.rows.reading import Part, Source, parts, source_in, sources
from holdfast.rows.sealing import write_snapshot
from holdfast.rows.segment import Segment, read_segment
from holdfast.rows.verifying import verify_segment


@dataclass
class Taken:
    """The segments of a merge, and what is to be said about them."""

    segments: list[Segment] = field(default_factory=list)
    open_logs: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    parts: list[tuple[str, int]] = field(default_factory=list)  # folder and number
    waiting: list[str] = field(default_factory=list)

    def to_json(self, plan: Plan) -> dict[str, Any]:
        return {
            "rows": {target.dataset.name: target.rows for target in plan.targets},
            "nbytes": plan.nbytes,
            "order": plan.order,
            "segments": [str(segment.path) for segment in self.segments],
            "open_logs": self.open_logs,
            "left_out": self.left_out,
            "parts": self.parts,
            "waiting": self.waiting,
            "fingerprint": plan.fingerprint,
        }


def take(logdir: Path, folder: Path, *, skip_damaged: bool) -> Taken:
    """Everything that is there now. Logs are copied as segments into the folder."""
    taken = Taken()
    found: list[Part] = []
    for source in readable(logdir):
        found += parts(source)
    for source in waiting(logdir):
        logs = len(parts(source))
        taken.waiting.append(
            f"{logs} logs of {source.task} wait for the central writer: not all of their rows are "
            f"in it"
        )
    if not found and taken.waiting:
        raise RowsError(taken.waiting[0], do=f"start it: holdfast rows serve {logdir}")
    if not found:
        raise RowsError(
            f"there are no rows in {logdir}",
            do="name the directory of rows.open(), HDF5 files, or a folder with them",
        )
    for part in found:
        try:
            segment = _as_segment(part, folder)
            if skip_damaged:
                verify_segment(segment)
        except Damaged as error:
            if not skip_damaged:
                raise Damaged(
                    error.message, do=f"{error.do}; or merge the rest with --skip-damaged"
                ) from error
            taken.left_out.append(error.message)
            continue
        taken.segments.append(segment)
        taken.parts.append((part.source.folder.name, part.number))
        if not part.is_over:
            taken.open_logs.append(str(part.path))
    return taken


def readable(logdir: Path) -> list[Source]:
    """All that together have each row once: the central writer's logs are not among them."""
    central = rows_folder(logdir) / CENTRAL
    found = [source for source in sources(logdir) if not _is_central(source)]
    return [source_in(central), *found] if central.is_dir() else found


def waiting(logdir: Path) -> list[Source]:
    """Those whose rows go through the central writer, and that have logs left."""
    return [source for source in sources(logdir) if _is_central(source) and parts(source)]


def _is_central(source: Source) -> bool:
    return bool(read_source(source.folder).get("way") == CENTRAL)


def retaken(told: dict[str, Any]) -> tuple[Taken, Plan] | None:
    """The same as an earlier try took; None if that is not there any more."""
    try:
        taken = Taken(
            [read_segment(Path(path)) for path in told["segments"]],
            list(told["open_logs"]),
            list(told["left_out"]),
            list(taken_parts(told)),
            list(told["waiting"]),
        )
        plan = plan_merge(taken.segments, order=told["order"], may_have_gaps=bool(taken.left_out))
    except (RowsError, KeyError, TypeError):
        return None
    return (taken, plan) if plan.fingerprint == told.get("fingerprint") else None


def taken_parts(told: dict[str, Any]) -> frozenset[tuple[str, int]]:
    return frozenset((str(folder), int(number)) for folder, number in told["parts"])


def _as_segment(part: Part, folder: Path) -> Segment:
    if part.is_segment:
        return read_segment(part.path)
    path = folder / f"{part.source.folder.name}-{part.number:06d}.h5"
    if not path.exists():
        write_snapshot(part, path)
    return read_segment(path)
