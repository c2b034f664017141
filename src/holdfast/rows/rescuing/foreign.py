"""Rescues one HDF5 file, whoever wrote it: looks, walks, and writes what still reads anew."""

import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.rows import publishing
from holdfast.rows.rescuing.carving import PLACE
from holdfast.rows.rescuing.look import DAMAGED, DIRTY, SIGNATURE, WHOLE, Look, look
from holdfast.rows.rescuing.reader import Reader
from holdfast.rows.rescuing.report import (
    DOUBTFUL,
    LOST,
    PART,
    LostObject,
    LostRows,
    Rescued,
    RescuedDataset,
)
from holdfast.rows.rescuing.report import WHOLE as ALL

CRASHES_MAX = 40
CRASHED = "the HDF5 library crashed or hung over it"
UNCHECKED = (
    "HDF5 keeps no checksum of the rows marked unchecked: what reads may still differ"
    " from what was written"
)
NAMELESS = (
    f"what is below {PLACE} was found without its name; datasets that were deleted earlier"
    " may be among it"
)
UNDESCRIBED = (
    "the format of this file keeps no checksum of names, types and shapes: damage to them"
    " may go unseen"
)


@dataclass
class Told:
    """What the walks told, put together."""

    plan: list[dict[str, Any]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: str = ""
    attributes_lost: dict[str, list[str]] = field(default_factory=dict)


def rescue_file(path: Path, to: Path, reader: Reader) -> Rescued:
    """Everything that reads goes into `to`, which must not exist; `path` is only read."""
    seen = look(path)
    if not seen.is_hdf5:
        return Rescued(path, seen.kind, seen.says)
    with ExitStack() as stack:
        try:
            readable = _readable(path, seen, to, reader, stack)
        except OSError as error:
            return Rescued(path, seen.kind, f"{seen.says}; {error}")
        told = walked(readable, seen, reader)
        if told.failed:
            return Rescued(path, _kind(seen, whole=False), f"{seen.says}; {told.failed}")
        private = stack.enter_context(publishing.private_path(to))
        if any("dataset" in one and _good(one) for one in told.plan) or _is_bare(told):
            _copied(readable, private, told, reader)
        datasets = datasets_of(told)
        lost = tuple(LostObject(name, why) for name, why in sorted(told.lost.items()))
        is_written = private.exists()
        if is_written:
            publishing.publish_new(private, to)
    notes = _notes(datasets)
    found = Rescued(path, seen.kind, seen.says, to if is_written else None, datasets, lost, notes)
    kind = _kind(seen, whole=found.is_whole)
    says = seen.says if kind == seen.kind else "it opens, and not all of it reads"
    return replace(found, kind=kind, says=says)


def _notes(datasets: tuple[RescuedDataset, ...]) -> tuple[str, ...]:
    rows = any(not one.checked_by for one in datasets)
    descriptions = any(not one.description_checked for one in datasets)
    nameless = any(one.name.startswith(f"{PLACE}/") for one in datasets)
    told = ((rows, UNCHECKED), (descriptions, UNDESCRIBED), (nameless, NAMELESS))
    return tuple(note for applies, note in told if applies)


def _readable(path: Path, seen: Look, to: Path, reader: Reader, stack: ExitStack) -> Path:
    """The file itself, which is only read, or a copy where it must be changed to be read."""
    is_near = seen.kind == DAMAGED and seen.version < 0
    if seen.kind != DIRTY and not is_near:
        return path
    copy = stack.enter_context(publishing.private_path(to.with_name(f"{to.name}.copy")))
    shutil.copyfile(path, copy)
    copy.chmod(0o600)
    if is_near:
        with copy.open("r+b") as file:
            file.write(SIGNATURE)
        return copy
    said = list(reader.ask({"job": "clear", "path": str(copy)}))
    why = next((one["failed"] for one in said if "failed" in one), "")
    if said[-1]["ended"]:
        raise OSError(f"its mark could not be taken off a copy: {why or CRASHED}")
    return copy


def walked(path: Path, seen: Look, reader: Reader) -> Told:
    """Walk until a walk ends well; what killed one is skipped by the next."""
    told = Told()
    skip: list[list[Any]] = []
    job = {
        "job": "walk",
        "path": os.fspath(path),
        "limit": seen.size_bytes - (seen.at if seen.base else 0),
        "base": seen.base,
        "skip": skip,
    }
    for _ in range(CRASHES_MAX):
        at: list[Any] = []
        done = [one[kind] for one in told.plan for kind in ("dataset", "type") if kind in one]
        for said in reader.ask({**job, "done": [*done, *told.lost]}):
            at = said.get("begin", at)
            _add(told, said)
            if said.get("ended") == 0:
                return told
        if told.failed:
            return told
        if at and at[1] == "walk":
            told.failed = f"{CRASHED} when it opened the file"
            return told
        skip.append(at)
        if at and at[1] in ("open", "describe", "names"):
            told.lost[at[0] or "/"] = CRASHED
    told.lost["/"] = f"the HDF5 library crashed more than {CRASHES_MAX} times: the rest is left"
    return told


def _add(told: Told, said: dict[str, Any]) -> None:
    if "failed" in said:
        told.failed = said["failed"]
    elif "declared" in said and isinstance(said["declared"], list):
        told.declared = {
            "/" + str(one.get("name")): one for one in said["declared"] if isinstance(one, dict)
        }
    elif "why" in said:
        told.lost[said["lost"]] = said["why"]
    elif any(kind in said for kind in ("group", "dataset", "soft", "external", "same", "type")):
        before = [one for one in told.plan if "group" in one]
        if "group" not in said or all(one["group"] != said["group"] for one in before):
            told.plan.append(said)


def _copied(path: Path, private: Path, told: Told, reader: Reader) -> None:
    """Write it; what kills the writing is left out of the next try."""
    for _ in range(CRASHES_MAX):
        at: list[Any] = []
        plan = [one for one in told.plan if "dataset" not in one or _good(one)]
        job = {"job": "copy", "path": os.fspath(path), "to": os.fspath(private), "plan": plan}
        for said in reader.ask(job):
            at = said.get("begin", at)
            if "not_copied" in said:
                _forget(told, said["not_copied"], said["why"])
            elif "attribute_lost" in said:
                told.attributes_lost.setdefault(said["attribute_lost"], []).append(said["key"])
            elif said.get("ended") == 0:
                return
            elif "failed" in said:
                told.lost["/"] = f"it could not be written: {said['failed']}"
        private.unlink(missing_ok=True)
        if "/" in told.lost or not at or not at[0]:
            told.lost.setdefault("/", CRASHED)
            return
        _forget(told, at[0], CRASHED)


def _forget(told: Told, name: str, why: str) -> None:
    told.plan = [one for one in told.plan if name not in (one.get("dataset"), one.get("type"))]
    told.lost[name or "/"] = why


def _good(one: dict[str, Any]) -> bool:
    return not one["lost"] or bool(one["good"] or one["pieces"])


def _is_bare(told: Told) -> bool:
    """Whole, and without any dataset: groups and attributes are worth keeping."""
    return not told.lost and not any("dataset" in one for one in told.plan)


def datasets_of(told: Told) -> tuple[RescuedDataset, ...]:
    found = [_dataset(one, told) for one in told.plan if "dataset" in one]
    return tuple(sorted(found, key=lambda one: one.name))


def _dataset(one: dict[str, Any], told: Told) -> RescuedDataset:
    name = one["dataset"]
    attributes = [key for key, why in one["attrs"].items() if why]
    attributes += told.attributes_lost.get(name, [])
    recovered = sum(stop - start for start, stop in one["good"])
    state = ALL if not one["lost"] else PART if _good(one) else LOST
    found = RescuedDataset(
        name=name,
        state=state,
        rows=one["rows"],
        rows_recovered=recovered,
        lost=tuple(LostRows(first, behind - 1, why) for first, behind, why in one["lost"]),
        unstored=tuple((first, behind - 1) for first, behind in one["unstored"]),
        checked_by=one["checked_by"],
        description_checked=one["description_checked"],
        dtype=one["dtype"],
        shape=tuple(one["shape"] or ()),
        attributes_lost=tuple(attributes),
    )
    declared = told.declared.get(name)
    return found if declared is None else _compared(found, one["xxh3"], declared)


def _compared(found: RescuedDataset, xxh3: int | None, declared: dict[str, Any]) -> RescuedDataset:
    """A segment of ours keeps a checksum of all rows of a dataset: it settles the matter."""
    if found.state != ALL or declared.get("rows") == 0:
        return found
    if xxh3 == declared.get("xxh3") and found.rows == declared.get("rows"):
        return replace(found, checked_by="the segment's checksum", description_checked=True)
    why = "the segment's checksum of this dataset differs: any of its rows may be wrong"
    lost = (LostRows(0, max(0, found.rows - 1), why),)
    return replace(found, state=DOUBTFUL, rows_recovered=0, lost=lost, why=why)


def _kind(seen: Look, *, whole: bool) -> str:
    return DAMAGED if seen.kind == WHOLE and not whole else seen.kind
