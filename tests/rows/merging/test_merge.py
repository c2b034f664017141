"""One file of all rows: exact, in the order asked for, and never in anybody's place."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast import rows
from holdfast.rows import sealing
from holdfast.rows.errors import Damaged, Held, Refused
from holdfast.rows.merge_journal import Journal
from holdfast.rows.merging import merge
from holdfast.rows.verifying import verify_merged

Call = Callable[..., Any]
NAMES = ("metrics/step", "metrics/loss", "metrics/packed", "points", "said")


def content_of(path: Path) -> dict[str, Any]:
    with h5py.File(path) as file:
        return {
            name: file[name].asstr()[()] if name == "said" else file[name][()] for name in NAMES
        }


@pytest.mark.parametrize("is_sealed", [True, False], ids=["segments", "logs"])
def test_all_rows_are_there_task_after_task(
    logdir: Path, tmp_path: Path, write: Call, by_task: Call, *, is_sealed: bool
) -> None:
    written = write(logdir)
    if is_sealed:
        sealing.seal_folder(logdir)
    before = sorted(logdir.rglob("*"))
    made = merge(logdir, tmp_path / "all.h5")
    found = content_of(made.output)
    for name in NAMES:
        assert np.array_equal(found[name], by_task(written, name)), name
        assert made.rows[name] == len(found[name])
    with h5py.File(made.output) as file:
        assert file["points"].attrs["unit"] == "m"
        assert file["metrics/loss"].chunks is None
        assert file["metrics/packed"].compression == "gzip"
    assert verify_merged(made.output) == sum(made.rows.values())
    assert sorted(logdir.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir() if path != logdir] == ["all.h5"]


def test_by_time_batches_of_all_tasks_are_in_the_order_of_appending(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    written = write(logdir)
    found = content_of(merge(logdir, tmp_path / "all.h5", order="time").output)
    for name in NAMES:
        expected = np.concatenate(
            [
                written[task][name][number * 5 : number * 5 + 5]
                for number in range(12)
                for task in written
            ]
        )
        assert np.array_equal(found[name], expected), name
    assert verify_merged(tmp_path / "all.h5") > 0


def test_by_a_column_its_group_is_sorted_and_equal_values_stay_in_order(
    logdir: Path, tmp_path: Path, write: Call, by_task: Call
) -> None:
    written = write(logdir)
    made = merge(logdir, tmp_path / "all.h5", order="metrics/step")
    found = content_of(made.output)
    expected = np.argsort(by_task(written, "metrics/step"), kind="stable")
    for name in NAMES:
        values = by_task(written, name)
        is_sorted = name.startswith("metrics/")
        assert np.array_equal(found[name], values[expected] if is_sorted else values), name
    assert any(note.startswith("points is in the order of tasks") for note in made.notes)
    assert verify_merged(made.output) > 0


@pytest.mark.parametrize("order", ["nothing", "metrics/loss", "said"])
def test_an_order_that_cannot_be_is_refused(
    logdir: Path, tmp_path: Path, write: Call, order: str
) -> None:
    write(logdir, batches=1)
    with pytest.raises(Refused):
        merge(logdir, tmp_path / "all.h5", order=order)
    assert not (tmp_path / "all.h5").exists()


def test_chunks_that_fit_are_copied_as_they_are(logdir: Path, tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    expected = []
    for task in range(3):
        with rows.open(logdir, task=f"worker:{task}", seal="close") as writer:
            writer.dataset("x", dtype="<f4", shape=(8,), compression="gzip", chunk_rows=50)
            expected.append(chance.random((100 if task < 2 else 70, 8), dtype=np.float32))
            writer.append("x", expected[-1])
    made = merge(logdir, tmp_path / "all.h5")
    with h5py.File(made.output) as file:
        assert np.array_equal(file["x"], np.concatenate(expected))
        merged = [file["x"].id.read_direct_chunk((row, 0))[1] for row in range(0, 270, 50)]
    sources = []
    for path in sorted(logdir.rglob("0*.h5")):
        with h5py.File(path) as file:
            dataset = file["x"]
            sources += [
                dataset.id.read_direct_chunk((row, 0))[1] for row in range(0, len(dataset), 50)
            ]
    assert merged == sources


@pytest.mark.parametrize("order", ["task", "time", "x"])
@pytest.mark.parametrize("packed", ["worker:0", "worker:1"])
def test_tasks_that_compress_the_same_rows_differently_are_merged(
    logdir: Path, tmp_path: Path, packed: str, order: str
) -> None:
    for task in ("worker:0", "worker:1"):
        with rows.open(logdir, task=task, seal="close") as writer:
            how = "gzip" if task == packed else None
            writer.dataset("x", dtype="<i8", compression=how, attrs={"of": task})
            writer.append("x", np.arange(100) + 1000 * int(task[-1]))
    merged = merge(logdir, tmp_path / "all.h5", order=order)
    index = rows.index(logdir)
    for path in (merged.output, index.path):
        with h5py.File(path) as file:
            assert file["x"][()].tolist() == [*range(100), *range(1000, 1100)]
    with h5py.File(merged.output) as file:
        assert file["x"].compression == "gzip"
        assert file["x"].attrs["of"] == "worker:0"
    assert verify_merged(merged.output) == 200


def test_an_existing_output_is_never_touched_without_force(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    write(logdir, batches=1)
    output = tmp_path / "all.h5"
    output.write_text("mine")
    with pytest.raises(Refused, match="exists already"):
        merge(logdir, output)
    assert output.read_text() == "mine"
    assert not Journal(output).folder.exists()
    merge(logdir, output, force=True)
    assert verify_merged(output) > 0


def test_a_log_that_is_still_written_is_in_it_as_it_is_now(logdir: Path, tmp_path: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append("x", np.arange(10))
        made = merge(logdir, tmp_path / "one.h5")
        assert len(made.open_logs) == 1
        writer.append("x", np.arange(10))
        assert merge(logdir, tmp_path / "two.h5").rows == {"x": 20}
    assert made.rows == {"x": 10}


def test_a_damaged_segment_stops_the_merge_or_is_left_out_if_asked(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    write(logdir)
    made, _ = sealing.seal_folder(logdir)
    damaged = made[1]
    content = bytearray(damaged.read_bytes())
    with h5py.File(damaged) as file:
        content[file["metrics/loss"].id.get_offset()] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(Damaged, match=str(damaged)):
        merge(logdir, tmp_path / "all.h5")
    assert not (tmp_path / "all.h5").exists()
    done = merge(logdir, tmp_path / "all.h5", skip_damaged=True)
    assert [str(damaged) in line for line in done.left_out] == [True]
    assert done.parts == len(made) - 1
    assert done.rows["metrics/loss"] < 180
    assert verify_merged(done.output) > 0


def test_a_segment_that_is_gone_is_missed(logdir: Path, tmp_path: Path, write: Call) -> None:
    write(logdir)
    made, _ = sealing.seal_folder(logdir)
    made[0].unlink()
    with pytest.raises(Damaged, match="goes on with row"):
        merge(logdir, tmp_path / "all.h5")


def test_rows_that_are_not_alike_are_refused_by_name(logdir: Path, tmp_path: Path) -> None:
    for task, dtype in ((0, "<f4"), (1, "<f8")):
        with rows.open(logdir, task=f"worker:{task}", seal="never") as writer:
            writer.append("x", np.zeros(3, dtype))
    with pytest.raises(Refused, match=r"x has rows of <f8 in worker:1, but of <f4 in worker:0"):
        merge(logdir, tmp_path / "all.h5")


def test_a_dataset_of_one_task_that_is_a_group_of_another_is_refused(
    logdir: Path, tmp_path: Path
) -> None:
    for task, name in ((0, "x"), (1, "x/y")):
        with rows.open(logdir, task=f"worker:{task}", seal="never") as writer:
            writer.append(name, 1.0)
    with pytest.raises(Refused, match="x is a dataset in worker:0, and a group"):
        merge(logdir, tmp_path / "all.h5")


def test_two_merges_of_the_same_output_do_not_meet(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    write(logdir, batches=1)
    output = tmp_path / "all.h5"
    with Journal(output), pytest.raises(Held):
        merge(logdir, output)


def test_sources_go_only_if_asked_and_only_those_that_are_over(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    write(logdir)
    with rows.open(logdir, task="worker:5", seal="never") as writer:
        writer.append("said", ["still here"])
        made = merge(logdir, tmp_path / "all.h5", remove_sources=True)
        left = [path for path in logdir.rglob("0*") if path.is_file()]
        assert [path.parent.name for path in left] == ["worker-5.0001"]
        assert len(made.removed) == made.parts - 1
    with rows.open(logdir, task="worker:2", seal="never") as again:
        again.append("said", ["a new incarnation"])
    assert (logdir / "rows" / "worker-2.0002").is_dir()


def test_the_tools_of_debian_read_it_and_find_no_difference(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    if shutil.which("h5diff") is None:
        pytest.skip("hdf5-tools is not installed: apt-get install hdf5-tools")
    write(logdir)
    sealing.seal_folder(logdir)
    one, two = tmp_path / "one.h5", tmp_path / "two.h5"
    merge(logdir, one)
    merge(logdir, two)
    index = rows.index(logdir).path
    segment = next(logdir.rglob("000001.h5"))
    for path in (one, index, segment):
        listed = subprocess.run(["h5ls", "-r", path], capture_output=True, text=True, check=True)
        assert "/metrics/loss" in listed.stdout
        dumped = subprocess.run(["h5dump", path], capture_output=True, text=True, check=True)
        assert 'DATASET "said"' in dumped.stdout
        assert "error" not in dumped.stderr.lower()
    assert subprocess.run(["h5diff", one, two], check=False).returncode == 0
    assert one.read_bytes() == two.read_bytes()
    for name in ("metrics/loss", "metrics/packed", "metrics/step", "points"):
        assert subprocess.run(["h5diff", one, index, name], check=False).returncode == 0
