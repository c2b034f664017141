"""What is appended is read back: all dtypes and shapes, over any number of logs."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import rows
from holdfast.rows.errors import Refused
from holdfast.rows.frames import FRAME_PAYLOAD_BYTES
from holdfast.rows.layout import task_of_folder
from holdfast.rows.reading import parts, read_part, sources
from holdfast.rows.writer import Writer

Look = Callable[[Path], dict[str, Any]]
COMPOUND = np.dtype([("step", "<i8"), ("at", "<f4", (2,)), ("in", [("deep", "?")])])


def writer(logdir: Path, **settings: Any) -> Writer:
    return Writer(logdir, task="worker:3", seal="never", **settings)


@pytest.mark.parametrize(
    "batch",
    [
        *(np.arange(6).reshape(3, 2).astype(kind) for kind in "?bBhHiIqQefdFD"),
        np.arange(6, dtype=">f4"),
        np.arange(24, dtype="f4").reshape(4, 6)[::2, ::3],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((2, 3), COMPOUND),
        np.array([b"ab", b"c"]),
        np.ones((1, 2, 3, 4), "f2"),
    ],
    ids=lambda batch: batch.dtype.str if batch.dtype.fields is None else "compound",
)
def test_reads_back_what_was_appended(tmp_path: Path, batch: Any, rows_in: Look) -> None:
    with writer(tmp_path) as one:
        one.append("a/b", batch)
        one.append("a/b", batch[:0])
        one.append("a/b", batch)
    found = rows_in(tmp_path)["a/b"]
    np.testing.assert_array_equal(found, np.concatenate([batch, batch]))
    assert found.dtype == batch.dtype.newbyteorder("<")


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("f4", [0.1, 1, float("inf"), np.float32(0.3)]),
        ("f8", [0.1, 2**53, float("-inf"), np.float64(0.3)]),
        ("i4", [-(2**31), 2**31 - 1, np.int32(7)]),
        ("i8", [-(2**63), 2**63 - 1, np.int64(7)]),
        ("?", [True, False, np.True_]),
        ("u1", [0, 255, np.uint8(7)]),
        ("c8", [1j, 1, np.complex64(7)]),
    ],
)
def test_single_values_are_rows(
    tmp_path: Path, rows_in: Look, dtype: str, values: list[Any]
) -> None:
    with writer(tmp_path) as one:
        one.dataset("x", dtype=dtype)
        for value in values:
            one.append("x", value)
    np.testing.assert_array_equal(rows_in(tmp_path)["x"], np.array(values, dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("f4", 1e39), ("f4", True), ("f4", np.float64(1)), ("i4", 2**31), ("i8", 2**63), ("i8", True),
     ("i8", 1.0), ("i4", np.int64(1)), ("?", 1), ("?", 1.0), ("f8", "1"), ("f8", np.float32(1))],
)  # fmt: skip
def test_single_values_that_do_not_fit_are_refused(tmp_path: Path, dtype: str, value: Any) -> None:
    with writer(tmp_path) as one:
        one.dataset("x", dtype=dtype)
        with pytest.raises(Refused, match='dataset "x"'):
            one.append("x", value)
        one.dataset("wide", dtype=dtype, shape=(1,))
        with pytest.raises(Refused, match='dataset "wide"'):
            one.append("wide", np.zeros(1, dtype)[0])


def test_keeps_text_of_any_length_and_shape(tmp_path: Path, rows_in: Look) -> None:
    pairs = np.array([["ä", ""], ["日本", "x" * 100_000]], object)
    with writer(tmp_path) as one:
        one.append("names", "first")
        one.append("names", ["second", ""])
        one.append("names", np.array(["third"]))
        one.append("pairs", pairs)
        one.append("many", ["x"] * 50_000)
    found = rows_in(tmp_path)
    assert found["names"].tolist() == ["first", "second", "", "third"]
    assert found["pairs"].tolist() == pairs.tolist()
    assert found["many"].tolist() == ["x"] * 50_000


def test_a_batch_larger_than_a_frame_is_whole(tmp_path: Path, rows_in: Look) -> None:
    large = np.arange(FRAME_PAYLOAD_BYTES // 4 * 2 + 17, dtype="<u4")
    one_row = np.ones((1, FRAME_PAYLOAD_BYTES + 1), "u1")
    with writer(tmp_path) as one:
        one.append("large", large)
        one.append("row", one_row)
    found = rows_in(tmp_path)
    assert np.array_equal(found["large"], large)
    assert np.array_equal(found["row"], one_row)


def test_goes_on_in_a_new_log_when_one_is_full(tmp_path: Path, rows_in: Look) -> None:
    with writer(tmp_path, log_bytes_max=1000) as one:
        one.dataset("unused", dtype="f4")
        for step in range(50):
            one.append("step", step)
            one.append_many({"step": [step], "name": [str(step)]})
    (source,) = sources(tmp_path)
    found = parts(source)
    assert len(found) > 5
    assert [part.number for part in found] == list(range(1, len(found) + 1))
    assert all(part.is_over for part in found)
    for part in found:
        with read_part(part) as content:
            assert content.tail is None
            assert "unused" in content.datasets  # each log is readable alone
    assert rows_in(tmp_path)["step"].tolist() == [step for step in range(50) for _ in range(2)]
    assert rows_in(tmp_path)["name"].tolist() == [str(step) for step in range(50)]


def test_sealed_rows_read_back_as_they_did_from_the_logs(tmp_path: Path, rows_in: Look) -> None:
    batches: dict[str, Any] = {
        **{f"n/{ord(kind)}": np.arange(6).reshape(3, 2).astype(kind) for kind in "?bHiQefdFD"},
        "compound": np.ones(2, COMPOUND),
        "bytes": np.array([b"ab", b"c"]),
        "text": np.array([["ä", ""], ["b", "日本"]], object),
        "packed": np.ones((5, 2)),
        "none": np.ones((0, 3)),
    }
    with Writer(tmp_path, task="chief", seal="close", log_bytes_max=3000) as one:
        one.dataset("packed", dtype="f8", shape=(2,), compression="gzip", chunk_rows=4)
        for _ in range(5):
            one.append_many(batches)
        one.attrs("text", unit="words")
        before = rows_in(tmp_path)
    (source,) = sources(tmp_path)
    found = parts(source)
    assert len(found) > 1
    assert all(part.is_segment and part.is_over for part in found)
    after = rows_in(tmp_path)
    assert after.keys() == before.keys() == batches.keys()
    for name, rows_before in before.items():
        np.testing.assert_array_equal(after[name], rows_before)
        assert after[name].dtype == rows_before.dtype
    with read_part(found[-1]) as content:
        assert content.datasets["text"].attrs == {"unit": "words"}


def test_many_at_once_is_all_or_nothing(tmp_path: Path, rows_in: Look) -> None:
    with writer(tmp_path) as one:
        one.append_many({"a": [1], "b": [1.0]})
        with pytest.raises(Refused):
            one.append_many({"a": [2], "new": [1], "b": ["text"]})
        with pytest.raises(Refused):
            one.append_many({"a": [2], "names": ["\0"]})
        one.append_many({})
        one.append_many({"a": [3], "b": [3.0]})
    found = rows_in(tmp_path)
    assert found["a"].tolist() == [1, 3]
    assert found["b"].tolist() == [1.0, 3.0]
    assert set(found) == {"a", "b"}


def test_the_same_declaration_again_is_fine_and_another_is_not(tmp_path: Path) -> None:
    with writer(tmp_path) as one:
        one.dataset("x", dtype="f4", shape=(2,), compression="gzip", chunk_rows=8)
        one.dataset("x", dtype=">f4", shape=[2], attrs={"unit": "m"})
        for wrong in ({"dtype": "f8", "shape": 2}, {"dtype": "f4"}):
            with pytest.raises(Refused, match='dataset "x"'):
                one.dataset("x", **wrong)
        one.attrs("x", unit="km", scale=[1.0, 2.0])
        with pytest.raises(Refused, match="no dataset"):
            one.attrs("y", unit="km")
    (source,) = sources(tmp_path)
    with read_part(parts(source)[0]) as content:
        kept = content.datasets["x"]
    assert kept.attrs == {"unit": "km", "scale": [1.0, 2.0]}
    assert (kept.compression, kept.chunk_rows) == ("gzip", 8)


@pytest.mark.parametrize(
    "name", ["", "/", "a//b", "../x", "a/..", "a/.", "_holdfast/x", "a/_holdfast2", "a b", "ä",
             "a\n", "x" * 65, "/".join("abcdefghi"), None, 3],
)  # fmt: skip
def test_refuses_names_that_are_no_datasets(tmp_path: Path, name: Any) -> None:
    with writer(tmp_path) as one, pytest.raises(Refused):
        one.append(name, 1.0)


def test_refuses_a_dataset_below_another(tmp_path: Path) -> None:
    with writer(tmp_path) as one:
        one.append("a/b", 1.0)
        for name in ("a", "a/b/c"):
            with pytest.raises(Refused, match="below"):
                one.append(name, 1.0)
        with pytest.raises(Refused, match="below"):
            one.append_many({"c": 1.0, "c/d": 1.0})
        one.append("a/bc", 1.0)


@pytest.mark.parametrize(
    "task", ["", "worker:", ":1", "worker:01", "worker:-1", "worker:1000000", "../up", "a/b", "a.b",
             "a-b", "worker:1:2", "1role:3", "x" * 65, "worker:1\n", "wörker"],
)  # fmt: skip
def test_refuses_tasks_that_are_no_names_and_makes_no_folder(tmp_path: Path, task: str) -> None:
    with pytest.raises(Refused):
        Writer(tmp_path / "logs", task=task)
    assert not (tmp_path / "logs").exists()


def test_each_writer_is_an_incarnation_of_its_own(tmp_path: Path) -> None:
    for task in ("worker:10", "worker:2", "chief", "worker:2"):
        Writer(tmp_path, task=task, seal="never").close()
    found = [(one.task, one.incarnation, one.folder.name) for one in sources(tmp_path)]
    assert found == [
        ("chief", 1, "chief.0001"),
        ("worker:2", 1, "worker-2.0001"),
        ("worker:2", 2, "worker-2.0002"),
        ("worker:10", 1, "worker-10.0001"),
    ]
    assert all(task_of_folder(folder) == (task, number) for task, number, folder in found)


def test_a_log_is_over_when_its_writer_is_not_there_any_more(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.append("x", 1.0)
    (source,) = sources(tmp_path)
    assert [part.is_over for part in parts(source)] == [False]
    one.close()
    assert [part.is_over for part in parts(source)] == [True]
    one.close()
    with pytest.raises(Refused, match="closed"):
        one.append("x", 1.0)


def test_reads_a_log_that_is_being_written(tmp_path: Path, rows_in: Look) -> None:
    with writer(tmp_path) as one:
        for step in range(5):
            one.append("step", step)
            assert rows_in(tmp_path)["step"].tolist() == list(range(step + 1))


def test_refuses_a_folder_of_another_format(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "format.json").write_text('{"format": "holdfast-rows/2"}')
    for act in (lambda: writer(tmp_path), lambda: sources(tmp_path)):
        with pytest.raises(rows.RowsError, match="holdfast-rows/2"):
            act()


def test_what_is_written_is_what_was_there_when_append_was_called(
    tmp_path: Path, rows_in: Look
) -> None:
    batch = np.zeros((3, 4))
    with writer(tmp_path) as one:
        for step in range(10):
            batch[:] = step
            one.append("x", batch)
    assert rows_in(tmp_path)["x"][:, 0].tolist() == [s for s in range(10) for _ in range(3)]


def test_a_batch_that_another_thread_changes_meanwhile_damages_no_log(
    tmp_path: Path, rows_in: Look
) -> None:
    batch = np.zeros((4, 1 << 16))
    is_over = threading.Event()

    def change() -> None:
        while not is_over.is_set():
            batch[:] += 1

    with ThreadPoolExecutor(1) as beside, writer(tmp_path) as one:
        changing = beside.submit(change)
        for _ in range(50):
            one.append("x", batch)
        is_over.set()
        changing.result()
    assert len(rows_in(tmp_path)["x"]) == 200


def test_names_the_package_of_checksums_where_it_is_missing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['xxhash'] = None\n"
        "from holdfast import rows\n"
        "try: rows.open(sys.argv[1], task='a')\n"
        "except rows.RowsError as error: print(error)\n"
    )
    told = subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True)
    assert told == "xxhash is not installed; pip install 'holdfast[rows]'\n"


def test_importing_costs_neither_numpy_nor_h5py() -> None:
    code = "import sys, holdfast.rows; sys.exit(bool({'numpy', 'h5py'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_writing_needs_no_h5py(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['h5py'] = None\n"
        "from holdfast import rows\n"
        "with rows.open(sys.argv[1], task='a', seal='never') as w: w.append('x', 1.0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
