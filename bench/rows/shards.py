"""Log directories of a wanted size: many shards, or many small segments."""

from pathlib import Path

import numpy as np
from bench.rows.ways import COLUMNS, ROW_BYTES

from holdfast import rows

BATCH_ROWS = 4096
SMALL_ROWS = 8


def make_shards(logdir: Path, shards: int, shard_bytes: int) -> int:
    """So many workers, each with one sealed segment of this size; returns all rows' bytes."""
    batch = np.random.default_rng(0).standard_normal((BATCH_ROWS, COLUMNS), dtype=np.float32)
    rows_each = shard_bytes // ROW_BYTES
    for worker in range(shards):
        with rows.open(
            logdir, task=f"worker:{worker}", seal="close", log_bytes_max=2 * shard_bytes
        ) as writer:
            writer.dataset("x", dtype="<f4", shape=(COLUMNS,))
            for start in range(0, rows_each, BATCH_ROWS):
                batch[0, 0] = worker * 1000 + start // BATCH_ROWS
                writer.append("x", batch[: min(BATCH_ROWS, rows_each - start)])
    return shards * rows_each * ROW_BYTES


def add_segments(logdir: Path, segments: int) -> None:
    """So many more segments of a few rows: every append fills a log."""
    batch = np.zeros((SMALL_ROWS, COLUMNS), dtype=np.float32)
    with rows.open(logdir, task="worker:0", seal="close", log_bytes_max=1) as writer:
        for _ in range(segments):
            writer.append("x", batch)
