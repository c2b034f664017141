"""Plain HDF5 files of many workers become one: appended, or a group for each; or the difference."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from holdfast.cli import holdfast
from holdfast.rows.errors import Damaged, Held, Refused, RowsError
from holdfast.rows.merge_journal import Journal
from holdfast.rows.merging import merge
from holdfast.rows.plain_files import plan
from holdfast.rows.verifying import verify_merged

POINT = np.dtype([("x", "<i4"), ("y", "<f8", (2,))], align=True)
COLOUR = h5py.enum_dtype({"RED": 0, "BLUE": 1})
NOTED = np.dtype([("n", "<i4"), ("note", h5py.string_dtype())])
ROWS = {1: 4, 2: 3, 10: 5}  # of each worker
Change = Callable[[h5py.File], Any]


def write_worker(path: Path, number: int) -> None:
    """All kinds of datasets, as programs write them with h5py alone."""
    rows = ROWS[number]
    chance = np.random.default_rng(number)
    with h5py.File(path, "w") as file:
        file["big_endian"] = chance.random((rows, 3)).astype(">f4")
        file["points"] = np.array([(one, (one, -one)) for one in range(rows)], POINT)
        file["colours"] = np.array([one % 2 for one in range(rows)], COLOUR)
        file["fixed"] = np.array([b"ab", b"cde"] * rows)
        file["flags"] = np.array([True, False] * rows)
        file.create_dataset("said", data=[f"{number} ü" * one for one in range(rows)])
        file.create_dataset("noted", data=np.array([(7, "é" * number)] * rows, NOTED))
        lists = file.create_dataset("lists", (rows,), dtype=h5py.vlen_dtype("<i4"))
        for one in range(rows):
            lists[one] = np.arange(one)
        packed = {"compression": "gzip", "shuffle": True, "fletcher32": True, "fillvalue": -1}
        values = chance.integers(0, 9, (2 * rows, 4))
        file.create_dataset("a/packed", data=values, chunks=(3, 2), maxshape=(None, 4), **packed)
        file.create_dataset("a/lr", data=number / 10)
        file["a"].attrs["unit"] = "mV"
        file.attrs["rank"] = number
        file.attrs["same"] = ["yes", "no"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for number in ROWS:
        write_worker(made / f"worker_{number}.h5", number)
    return made


@pytest.fixture(autouse=True, params=[1 << 20, 0], ids=["in the frame", "step by step"])
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short datasets are written at once; here also as long ones are."""
    monkeypatch.setattr(plan, "SMALL_BYTES", request.param)


def same(one: Any, other: Any) -> bool:
    if one.dtype.kind == "O":
        return [np.asarray(item).tolist() for item in one] == [
            np.asarray(item).tolist() for item in other
        ]
    return bool(np.array_equal(one, other))


def test_the_same_datasets_are_appended_in_the_order_of_the_numbers_in_the_names(
    folder: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    made = merge(folder, tmp_path / "all.h5")
    assert made.tasks == ("worker_1", "worker_2", "worker_10")
    with h5py.File(made.output) as file, ExitStack() as stack:
        files = [stack.enter_context(h5py.File(path)) for path in made.files]
        for name in made.rows:
            assert same(file[name][()], np.concatenate([np.atleast_1d(f[name]) for f in files]))
            tasks = np.repeat(made.tasks, [np.atleast_1d(f[name]).shape[0] for f in files])
            assert file[f"{name}.task"].asstr()[()].tolist() == tasks.tolist()
            assert file[name].id.get_type().equal(files[0][name].id.get_type())
        packed = file["a/packed"]
        assert (packed.chunks, packed.maxshape, packed.fillvalue) == ((3, 2), (None, 4), -1)
        assert (packed.compression, packed.shuffle, packed.fletcher32) == ("gzip", True, True)
        assert file["a/lr"][()].tolist() == [0.1, 0.2, 1.0]
    assert verify_merged(made.output) == sum(made.rows.values())
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    assert [path.name for path in tmp_path.iterdir() if path != folder] == ["all.h5"]


def test_with_a_group_for_each_file_everything_is_as_it_was(folder: Path, tmp_path: Path) -> None:
    made = merge(folder, tmp_path / "all.h5", layout="group")
    for path in map(Path, made.files):
        with h5py.File(path) as file, h5py.File(made.output) as merged:
            group = merged[path.stem]
            assert group.attrs["rank"] == file.attrs["rank"]
            assert [*group] == [*file]
            for name in (*file, *(f"a/{short}" for short in file["a"])):
                if isinstance(file[name], h5py.Dataset):
                    assert same(np.atleast_1d(group[name]), np.atleast_1d(file[name])), name
        for name in [*made.rows] if shutil.which("h5diff") else []:
            task, _, short = name.partition("/")
            if task == path.stem:
                subprocess.run(["h5diff", path, made.output, f"/{short}", f"/{name}"], check=True)
    assert verify_merged(made.output) == sum(made.rows.values())


def test_attributes_that_differ_are_shown_and_all_of_them_kept(
    folder: Path, tmp_path: Path
) -> None:
    made = merge(folder, tmp_path / "all.h5")
    (note,) = made.notes
    assert note.startswith("/: attribute rank is 1 in worker_1.h5, 2 in worker_2.h5")
    with h5py.File(made.output) as file:
        assert (file.attrs["rank"], file["a"].attrs["unit"]) == (1, "mV")
        assert file.attrs["same"].tolist() == ["yes", "no"]
        assert file["_holdfast/attributes/worker_10"].attrs["rank"] == 10


def test_what_only_some_files_have_is_appended_from_those(folder: Path, tmp_path: Path) -> None:
    with h5py.File(folder / "worker_2.h5", "a") as file:
        file["only"] = [1, 2]
        file["nothing"] = h5py.Empty("f4")
    h5py.File(folder / "worker_3.h5", "w").close()
    made = merge(folder, tmp_path / "all.h5")
    assert "only is in 1 of 4 files" in made.notes
    with h5py.File(made.output) as file:
        assert file["only.task"].asstr()[()].tolist() == ["worker_2", "worker_2"]
        assert file["nothing"].shape is None


def replaced(name: str, **how: Any) -> Change:
    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, **how)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (replaced("big_endian", data=np.zeros((2, 3))),
         "big_endian is float32 (big-endian) in worker_1.h5, but float64 in worker_2.h5"),
        (replaced("flags", data=np.zeros((2, 2), bool)),
         "flags is of shape (n,) in worker_1.h5, but of shape (n, 2) in worker_2.h5"),
        (replaced("fixed", data=np.array([b"abcdef"])),
         "fixed is text of 3 bytes (ASCII) in worker_1.h5, but text of 6 bytes (ASCII) in"),
        (replaced("a/lr", data=[0.5]), "a/lr is one value in worker_1.h5, but of shape (n,) in"),
        (replaced("said", data=["a"], dtype="S3"),
         "said is text (UTF-8) in worker_1.h5, but text of 3 bytes (ASCII) in worker_2.h5"),
        (lambda file: (file.move("flags", "f"), file.create_group("flags")),
         "flags is a dataset in worker_1.h5, but a group in worker_2.h5"),
        (lambda file: file.create_dataset("flags.task", data=1), "flags.task is in worker_2.h5"),
        (lambda file: file.create_dataset("r", data=file["flags"].ref, dtype=h5py.ref_dtype),
         "r of worker_2.h5 has object references, which cannot be appended"),
        (lambda file: file.create_group("dense").attrs.create("weight_names", [b"kernel:0"]),
         "dense is the weights of a Keras model, which cannot be appended"),
        (lambda file: file.create_group("df").attrs.create("pandas_type", b"frame"),
         "format='fixed', which cannot be appended"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_refused_with_the_difference_before_anything_is_written(
    folder: Path, tmp_path: Path, change: Change, says: str
) -> None:
    with h5py.File(folder / "worker_2.h5", "a") as file:
        change(file)
    with pytest.raises(Refused) as refused:
        merge(folder, tmp_path / "all.h5")
    assert says in refused.value.message
    assert "--layout group" in refused.value.do
    assert list(tmp_path.iterdir()) == [folder]
    assert merge(folder, tmp_path / "all.h5", layout="group").parts == 3


def test_links_lead_where_they_led_and_references_too_in_groups(
    folder: Path, tmp_path: Path
) -> None:
    for number in ROWS:
        with h5py.File(folder / f"worker_{number}.h5", "a") as file:
            file["soft"] = h5py.SoftLink("/a/packed")
            file["twice"] = file["points"]
            file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    h5py.File(folder / "other.h5", "w").create_dataset("x", data=[5])
    paths = [folder / f"worker_{number}.h5" for number in ROWS]
    with h5py.File(merge(paths, tmp_path / "all.h5").output) as file:
        assert file.get("soft", getlink=True).path == "/a/packed"
        assert file["twice"] == file["points"]
        assert file["twice.task"] == file["points.task"]
        assert file["elsewhere"][()].tolist() == [5]
    with h5py.File(folder / "worker_1.h5", "a") as file:
        file["region"] = np.array([file["a/packed"].regionref[1:3, 2]], h5py.regionref_dtype)
        file.attrs["best"] = file["points"].ref
    made = merge(paths, tmp_path / "groups.h5", layout="group")
    with h5py.File(made.output) as file:
        group = file["worker_1"]
        assert group["soft"] == group["a/packed"]
        assert group["twice"] == group["points"] == file[group.attrs["best"]]
        region = group["region"][0]
        assert file[region] == group["a/packed"]
        assert np.array_equal(group["a/packed"][region], group["a/packed"][1:3, 2:3])
    assert verify_merged(made.output)


def test_dimension_scales_fit_their_axes_afterwards(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"w{number}.h5", "w") as file:
            for name, values in (("x", np.ones((2, 3))), ("time", [number, 5.0]), ("f", [1, 2, 3])):
                file[name] = values
            for axis, name in enumerate(("time", "f")):
                file[name].make_scale(name)
                file["x"].dims[axis].attach_scale(file[name])
    with h5py.File(merge(tmp_path, tmp_path / "all.hdf5").output) as file:
        assert file["x"].dims[0][0][()].tolist() == [0, 5, 1, 5]
        assert file["x"].dims[1][0][()].tolist() == [1, 2, 3]
        assert "f.task" not in file
    with h5py.File(tmp_path / "w1.h5", "a") as file:
        file["f"][0] = 9
    with pytest.raises(Refused, match=r"f goes with an axis .* in w1.h5 than in w0.h5"):
        merge([tmp_path / "w0.h5", tmp_path / "w1.h5"], tmp_path / "other.h5")


@pytest.mark.parametrize("locking", [True, False])
def test_a_file_that_somebody_writes_is_refused_by_name(
    folder: Path, tmp_path: Path, *, locking: bool
) -> None:
    with (
        h5py.File(folder / "worker_2.h5", "a", locking=locking),
        pytest.raises(Held, match=r"worker_2.h5 is open for writing by another process"),
    ):
        merge(folder, tmp_path / "all.h5")
    assert merge(folder, tmp_path / "all.h5").parts == 3


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path: Path) -> None:
    with h5py.File(path) as file:
        at = file["a/packed"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at + 8] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", [cut, flipped, lambda path: path.write_bytes(b"")])
def test_a_damaged_file_is_refused_by_name_or_left_out_if_asked(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], Any]
) -> None:
    spoil(folder / "worker_2.h5")
    with pytest.raises(Damaged, match=r"worker_2.h5") as refused:
        merge(folder, tmp_path / "all.h5")
    assert "--skip-damaged" in refused.value.do
    assert not (tmp_path / "all.h5").exists()
    made = merge(folder, tmp_path / "all.h5", skip_damaged=True)
    assert (made.tasks, len(made.left_out)) == (("worker_1", "worker_10"), 1)
    assert verify_merged(made.output)


def test_nothing_that_is_there_is_overwritten(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "all.h5"
    output.write_text("mine")
    with pytest.raises(Refused, match="exists already"):
        merge(folder, output)
    source = folder / "worker_1.h5"
    for paths in ([source, folder / "worker_2.h5"], [source, source]):
        with pytest.raises(Refused):
            merge(paths, source, force=True)
    assert output.read_text() == "mine"
    assert not Journal(output).folder.exists()
    with pytest.raises(Refused, match="was made by holdfast"):
        merge([merge(folder, tmp_path / "one.h5").output], tmp_path / "two.h5")


def test_a_file_that_changes_meanwhile_is_noticed(folder: Path, tmp_path: Path) -> None:
    def change(done: int, total: int) -> None:
        with (folder / "worker_1.h5").open("ab") as file:
            file.write(b"more")

    with pytest.raises(RowsError, match=r"worker_1.h5 was changed while it was merged"):
        merge(folder, tmp_path / "all.h5", progress=change)
    assert not (tmp_path / "all.h5").exists()


def test_the_command_says_in_which_order(folder: Path, tmp_path: Path) -> None:
    words = ["merge", *map(str, sorted(folder.iterdir())), "-o", str(tmp_path / "all.h5")]
    ended = CliRunner().invoke(holdfast, words)
    assert ended.exit_code == 0
    assert "in this order: worker_1.h5, worker_2.h5, worker_10.h5" in ended.stdout
    ended = CliRunner().invoke(holdfast, ["rows", "verify", str(tmp_path / "all.h5")])
    assert ended.exit_code == 0
