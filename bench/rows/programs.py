"""What is struck, and what comes after: a writer, the sealer, the central way, a merge, recovery.

Each runs in a child of the warm interpreter. The folder they get is `root`: the log directory is
`root/job`, merged files lie in `root/out`; both are made before the strike is armed.
"""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.rows.told import BATCHES_MAX, DATASETS, told
from bench.rows.warm import Tell
from holdfast import rows

STEPS = 24
LOG_BYTES_MAX = 8192
ROWS_MAX = 40
MERGED = "all.h5"


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
    try:
        writer = rows.open(
            root / "job",
            task=f"worker:{options.get('task', number)}",
            ack=options.get("ack", "process"),
            log_bytes_max=LOG_BYTES_MAX,
            seal=options.get("seal", "close"),
        )
    except rows.RowsError as error:
        tell({"refused": [-1, *_words(error)]})
        return
    try:
        for name, shape in DATASETS.items():
            writer.dataset(
                name, dtype=shape.dtype, shape=shape.row_shape, compression=shape.compression
            )
    except rows.RowsError as error:
        tell({"refused": [-1, *_words(error)]})
    for step in steps(options.get("seed", 0), number, options.get("steps", STEPS)):
        batches = {name: told(name, step.batch, count) for name, count in step.rows.items()}
        try:
            if len(batches) == 1:
                for name, batch in batches.items():
                    writer.append(name, batch)
            else:
                writer.append_many(batches)
        except rows.RowsError as error:
            tell({"refused": [step.batch, *_words(error)]})
        else:
            tell({"ack": [step.batch, sorted(step.rows)]})
    try:
        writer.close()
    except rows.RowsError as error:
        tell({"refused": [-1, *_words(error)]})


def _words(error: rows.RowsError) -> tuple[str, str, str]:
    return type(error).__name__, str(error), error.do
