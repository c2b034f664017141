"""What is struck: a worker, the sealer, the compactor of the central way, merges.

Each runs in a child of the warm interpreter. The folder they get is `root`: the log directory is
`root/job`, merged files lie in `root/out`; both are made before the strike is armed.
"""

import itertools
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench.rows import recovering
from bench.rows.recovering import LOCKED, MERGED, SEGMENT_BYTES
from bench.rows.told import BATCHES_MAX, DATASETS, declare, told
from bench.rows.warm import Tell

from holdfast import rows
from holdfast.rows import ahead
from holdfast.rows.compactor import Compactor
from holdfast.rows.plain_files import plan
from holdfast.rows.sealing import seal_folder

STEPS = 18
LOG_BYTES_MAX = 2048
ROWS_MAX = 40
AGAIN = 900  # the writer number of a worker that was started again


class Step(NamedTuple):
    """One append: a batch number, and how many rows of it go into which dataset."""

    batch: int
    rows: Mapping[str, int]


def steps(seed: int, writer: int, count: int = STEPS) -> Iterator[Step]:
    """What a writer appends; the same for the same seed. One in four is a group."""
    chance = random.Random(f"{seed}/{writer}")
    for number in range(count):
        names = sorted(DATASETS)
        if chance.random() < 0.75:
            names = [chance.choice(names)]
        counts = {name: chance.choice((1, 2, 7, ROWS_MAX)) for name in names}
        yield Step(writer * BATCHES_MAX + number, counts)


def write(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """A worker: appends with rotation, seals as it is asked, and tells what was acknowledged."""
    number = options.get("writer", 1)
    way = options.get("way", "shards")
    if options.get("is_ahead"):
        ahead.pays_in = lambda folder: True  # in this process, which is about to end
    try:
        writer = rows.open(
            root / "out" / LOCKED if way == "locked" else root / "job",
            task=f"worker:{options.get('task', number)}",
            way=way,
            ack=options.get("ack", "process"),
            log_bytes_max=options.get("log_bytes_max", LOG_BYTES_MAX),
            seal=options.get("seal", "close"),
        )
    except rows.RowsError as error:
        tell_refused(tell, error)
        return
    try:
        declare(writer)
    except rows.RowsError as error:
        tell_refused(tell, error)
    for step in steps(options.get("seed", 0), number, options.get("steps", STEPS)):
        try:
            append(writer, step)
        except rows.RowsError as error:
            tell_refused(tell, error)
        else:
            tell({"ack": [step.batch, sorted(step.rows)]})
    try:
        writer.close()
    except rows.RowsError as error:
        tell_refused(tell, error)


def append(writer: rows.Writer, step: Step) -> None:
    """One dataset alone, or a group."""
    batches = {name: told(name, step.batch, count) for name, count in step.rows.items()}
    if len(batches) > 1:
        writer.append_many(batches)
        return
    for name, batch in batches.items():
        writer.append(name, batch)


def seal(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Turns everything that is over into segments."""
    for error in seal_folder(root / "job")[1]:
        tell_refused(tell, error)


def compact(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """The central way's own process, over what workers left in their logs."""
    try:
        with Compactor(
            root / "job", segment_bytes=SEGMENT_BYTES, warn=lambda text: tell({"warned": text})
        ) as compactor:
            compactor.drain()
    except rows.RowsError as error:
        tell_refused(tell, error)


def merge(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    try:
        rows.merge(root / "job", root / "out" / MERGED, order=options.get("order", "task"))
    except rows.RowsError as error:
        tell_refused(tell, error)


def write_file(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """A plain HDF5 file as a program without holdfast leaves it: plain, packed, growing, text."""
    import h5py  # noqa: PLC0415 - only these targets need it

    number = options["writer"]
    with h5py.File(root / "job" / f"worker_{number}.h5", "w") as file:
        for name, shape in DATASETS.items():
            batches = range(number * BATCHES_MAX, number * BATCHES_MAX + 5 + number)
            rows = [told(name, batch, 7 * number) for batch in batches]
            is_text = shape.dtype == "str"
            file.create_dataset(
                name,
                data=[*itertools.chain(*rows)] if is_text else np.concatenate(rows),
                dtype=h5py.string_dtype() if is_text else shape.dtype,
                chunks=(shape.chunk_rows, *shape.row_shape) if shape.chunk_rows else None,
                maxshape=(None, *shape.row_shape) if name == "samples" else None,
                compression=shape.compression,
            )
            for batch in batches:
                tell({"ack": [batch, [name]]})
        file.attrs["rank"] = number


def merge_files(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Plain files; however short the rows are, they go into the file step by step."""
    plan.SMALL_BYTES, plan.STEP_BYTES = 0, 256  # in this process, which is about to end
    try:
        rows.merge(root / "job", root / "out" / MERGED, layout=options["layout"])
    except rows.RowsError as error:
        tell_refused(tell, error)


def recover(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """The struck worker starts again, as the same task; then everything must be there."""
    acknowledged = _and_again(root, options, tell)
    recovering.judge_shards(root, acknowledged, tell)


def recover_central(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """A worker and the compactor start again."""
    acknowledged = _and_again(root, options, tell, way="central")
    compact(root, options, tell)
    recovering.judge_central(root, acknowledged, tell)


def recover_locked(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """A worker starts again, and brings in what the struck one left."""
    acknowledged = _and_again(root, options, tell, way="locked")
    recovering.judge_locked(root, acknowledged, tell)


def recover_merge(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """The merge is called again, and goes on."""
    order = options.get("order", "task")
    recovering.judge_merged(root, options["acknowledged"], tell, order=order)


def recover_merge_files(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    plan.SMALL_BYTES, plan.STEP_BYTES = 0, 256
    recovering.judge_merged(root, options["acknowledged"], tell, layout=options["layout"])


def _and_again(
    root: Path, options: Mapping[str, Any], tell: Tell, way: str = "shards"
) -> dict[str, list[int]]:
    acknowledged = {name: list(some) for name, some in options["acknowledged"].items()}

    def hear(line: Mapping[str, Any]) -> None:
        if "ack" in line:
            batch, names = line["ack"]
            for name in names:
                acknowledged.setdefault(name, []).append(batch)
        if "refused" in line:
            tell({"wrong": f"the restarted worker was refused: {line['refused']}"})

    again = {"task": 1, "writer": AGAIN, "steps": 3, "seed": options["seed"], "way": way}
    write(root, again, hear)
    return acknowledged


def tell_refused(tell: Tell, error: rows.RowsError) -> None:
    tell({"refused": [-1, type(error).__name__, str(error), error.do]})
