"""Rows leave as Parquet, Arrow, pandas, Polars and tf.data exactly as they came."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast import rows
from holdfast.rows.errors import Damaged, Refused, RowsError

POINT = np.dtype([("at", "<i4"), ("where", "<f4", (2,))])


def write(logdir: Path, *, seal: Any = "close") -> None:
    """Two tasks; the second has one epoch more, and its last log is still open."""
    for index in range(2):
        with rows.open(logdir, task=f"worker:{index}", seal=seal, log_bytes_max=4000) as writer:
            for step in range(50 + index):
                values = {"loss": float(step), "step": step, "text": f"s{step}"}
                writer.append_many({f"train/{key}": value for key, value in values.items()})
            writer.append("emb", np.full((3, 2, 4), index, "f4"))
            writer.append("odd/points", np.zeros(2, POINT))
            writer.append("odd/waves", np.array([1 + 2j], "c8"))
            writer.append("odd/flags", np.array([True, False, True]))
            writer.append("odd/names", np.array([b"ab", b"c"], "S4"))


def test_a_group_of_equal_length_is_one_parquet_file(tmp_path: Path) -> None:
    write(tmp_path / "run")
    made = rows.export(tmp_path / "run", tmp_path / "out")
    assert {one.path.name: one.rows for one in made if one.path.parent == tmp_path / "out"} == {
        "train.parquet": 101,
        "emb.parquet": 6,
    }
    table = pq.read_table(tmp_path / "out" / "train.parquet").to_pydict()
    assert table["step"] == [*range(50), *range(51)]
    assert table["loss"] == [float(step) for step in table["step"]]
    assert table["text"] == [f"s{step}" for step in table["step"]]
    assert table["task"] == ["worker:0"] * 50 + ["worker:1"] * 51
    assert table["row"] == table["step"]
    assert table["time_ns"][:50] == sorted(table["time_ns"][:50])


def test_datasets_that_do_not_fit_have_files_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "run")
    rows.export(tmp_path / "run", tmp_path / "out", format="arrow")
    read = {
        path.stem: pa.ipc.open_file(path.read_bytes()).read_all().column(4).to_pylist()
        for path in (tmp_path / "out" / "odd").iterdir()
    }
    assert read["points"] == [{"at": 0, "where": [0.0, 0.0]}] * 4
    assert read["waves"] == [{"real": 1.0, "imag": 2.0}] * 2
    assert read["flags"] == [True, False, True] * 2
    assert read["names"] == [b"ab", b"c"] * 2


def test_rows_that_are_still_in_logs_are_exported_too(tmp_path: Path) -> None:
    write(tmp_path / "run", seal="never")
    with rows.open(tmp_path / "run", task="worker:0", seal="never") as writer:
        writer.append_many({"train/loss": 7.0, "train/step": 7, "train/text": "now"})
        rows.export(tmp_path / "run", tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "train.parquet")
    assert table.num_rows == 102
    assert table.filter(pa.compute.equal(table["incarnation"], 2))["text"].to_pylist() == ["now"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "run")
    rows.export(tmp_path / "run", tmp_path / "out")
    with pytest.raises(Refused, match="is there already"):
        rows.export(tmp_path / "run", tmp_path / "out")


def test_memory_stays_bounded_however_many_rows_there_are(tmp_path: Path) -> None:
    batch = np.zeros((10_000, 100), "f4")
    with rows.open(tmp_path / "run", task="worker:0", seal="never") as writer:
        for _ in range(40):
            writer.append("x", batch)
    tracemalloc.start()
    rows.export(tmp_path / "run", tmp_path / "out", format="arrow")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    peak_bytes += pa.default_memory_pool().max_memory()
    assert peak_bytes < 80 << 20 < 40 * batch.nbytes


def test_arrays_come_in_the_pieces_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "run")
    read = list(rows.arrays(tmp_path / "run", "train/step", rows_max=40))
    assert [len(one) for one in read] == [40, 10, 40, 11]
    assert np.concatenate(read).tolist() == [*range(50), *range(51)]
    assert [one.shape for one in rows.arrays(tmp_path / "run", "emb")] == [(3, 2, 4)] * 2


def test_pandas_and_polars_have_a_column_for_each_dataset(tmp_path: Path) -> None:
    write(tmp_path / "run")
    frame = rows.pandas(tmp_path / "run", "train")
    assert frame.groupby("task")["loss"].max().to_dict() == {"worker:0": 49.0, "worker:1": 50.0}
    other = rows.polars(tmp_path / "run", "train")
    assert other.filter(pl.col("step") == 3)["text"].to_list() == ["s3", "s3"]
    assert rows.polars(tmp_path / "run", "emb")["emb"].to_numpy().shape == (6, 2, 4)


def test_what_is_missing_or_damaged_is_never_left_out_in_silence(tmp_path: Path) -> None:
    ways: dict[str, Any] = {"gone": "close", "flipped": "never"}
    for name, seal in ways.items():
        with rows.open(tmp_path / name, task="worker:0", seal=seal, log_bytes_max=900) as writer:
            for number in range(10):
                writer.append("x", np.full(100, number, "f4"))
    gone = next((tmp_path / "gone").rglob("000002.h5"))
    gone.unlink()
    with pytest.raises(Damaged, match="goes on with row"):
        rows.export(tmp_path / "gone", tmp_path / "out")
    flipped = next((tmp_path / "flipped").rglob("000001.log"))
    content = bytearray(flipped.read_bytes())
    content[len(content) // 3] ^= 1
    flipped.write_bytes(content)
    with pytest.raises(Damaged, match="is damaged at byte"):
        list(rows.arrays(tmp_path / "flipped", "x"))


def test_what_cannot_be_read_together_is_said(tmp_path: Path) -> None:
    write(tmp_path / "run")
    with pytest.raises(Refused, match=r"different numbers of rows.*odd/flags"):
        rows.pandas(tmp_path / "run", "odd")
    with pytest.raises(RowsError, match=r'no dataset "none".*train/loss'):
        rows.pandas(tmp_path / "run", "none")
    with pytest.raises(Refused, match="is a group"):
        next(iter(rows.arrays(tmp_path / "run", "train")))
    with pytest.raises(RowsError, match="there are no rows"):
        rows.export(tmp_path / "empty", tmp_path / "out")
