"""The newest checkpoint that can be used is found, among real ones that were really damaged."""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.logdir.checkpoint_files import (
    FOOTER_MAGIC,
    backup_epoch,
    hdf5_damage,
    index_damage,
    keras_damage,
)
from holdfast.logdir.checkpoint_pointing import point_to
from holdfast.logdir.checkpoint_reading import newest_whole, read_whole
from holdfast.logdir.checkpoint_state import read_state, write_state
from holdfast.logdir.checkpoints import find_checkpoints, list_files
from holdfast.recover.checkpoints import Choice, Form

WRITER = Path(__file__).with_name("write_checkpoints.py")
FIRST, SECOND, NEWEST = range(3)
KINDS = {
    "by_step": ("ckpt-20", "ckpt-30", "ckpt-40"),
    "by_count": ("ckpt-2", "ckpt-3", "ckpt-4"),
    "saver": ("model.ckpt-100", "model.ckpt-200", "model.ckpt-300"),
    "sharded": ("model.ckpt-100", "model.ckpt-200", "model.ckpt-300"),
    "whole": ("m-01.keras", "m-02.keras", "m-03.keras"),
    "weights": ("m-01.weights.h5", "m-02.weights.h5", "m-03.weights.h5"),
    "old": ("m-01.h5", "m-02.h5", "m-03.h5"),
    "backup": ("", "latest.weights.h5.bkp", "latest.weights.h5"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kinds, by one TensorFlow process."""
    place = tmp_path_factory.mktemp("written")
    subprocess.run([sys.executable, WRITER, place], check=True, capture_output=True)
    return place


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one kind, to damage it."""

    def copy(kind: str) -> Path:
        return Path(shutil.copytree(written / kind, tmp_path / kind))

    return copy


def cut(path: Path, share: float = 0.5) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def says(choice: Choice) -> tuple[str, list[str]]:
    name = choice.chosen.name if choice.chosen else ""
    return name, [one.damage for one in choice.passed_over]


@pytest.mark.parametrize("kind", KINDS)
def test_the_newest_whole_one_is_found(written: Path, kind: str) -> None:
    choice = newest_whole(written / kind)
    assert says(choice) == (KINDS[kind][NEWEST], [])
    assert len(find_checkpoints(written / kind)) == 3 - (kind == "backup")


@pytest.mark.parametrize(
    ("kind", "steps", "lost"),
    [("by_step", 40, 5), ("by_count", -1, -1), ("saver", 300, 0), ("whole", -1, -1)],
)
def test_steps_that_are_lost_are_told_only_where_a_number_is_a_step(
    written: Path, kind: str, steps: int, lost: int
) -> None:
    choice = newest_whole(written / kind, reached_step=45)
    assert choice.chosen
    assert (choice.chosen.step, choice.steps_lost) == (steps, lost)


DAMAGES: list[tuple[str, str, Callable[[Path], None], str]] = [
    ("by_step", ".index", Path.unlink, "its index is missing"),
    ("by_step", ".index", lambda path: cut(path, 0), "its index is empty"),
    ("by_step", ".index", cut, "its index is cut"),
    ("by_count", ".data-00000-of-00001", Path.unlink, "its shards are missing"),
    ("saver", ".data-00000-of-00001", lambda path: cut(path, 0), "shard 0 of 1 is empty"),
    ("sharded", ".data-00001-of-00002", Path.unlink, "shard 1 of 2 is missing"),
    ("sharded", ".data-00000-of-00002", lambda path: cut(path, 0), "shard 0 of 2 is empty"),
    ("whole", "", cut, "it is cut: the table at its end is missing"),
    ("whole", "", lambda path: cut(path, 0), "it is empty"),
    ("weights", "", lambda path: cut(path, 0), "it is empty"),
    ("weights", "", cut, "it is cut: 7800 of 15600 bytes are there"),
    ("old", "", lambda path: cut(path, 0.001), "it is cut in its first bytes"),
    ("old", "", lambda path: path.write_bytes(b"not ours" * 2000), "it is no HDF5 file"),  # type: ignore[list-item]
    ("backup", "", cut, "it is cut: 7800 of 15600 bytes are there"),
    ("backup", "", Path.unlink, "it is missing"),
]


@pytest.mark.parametrize(("kind", "part", "damage", "why"), DAMAGES)
def test_a_damaged_newest_one_falls_back_to_the_one_before_and_says_why(
    copied: Callable[[str], Path], kind: str, part: str, damage: Callable[[Path], None], why: str
) -> None:
    folder = copied(kind)
    damage(folder / (KINDS[kind][NEWEST] + part))
    choice = newest_whole(folder)
    assert says(choice) == (KINDS[kind][SECOND], [why])
    assert f"{KINDS[kind][NEWEST]} ({why})" in choice.says


def test_a_backup_whose_epoch_is_lost_is_not_taken(copied: Callable[[str], Path]) -> None:
    folder = copied("backup")
    (folder / "training_metadata.json").write_text("{")
    choice = newest_whole(folder)
    assert says(choice) == (
        "latest.weights.h5.bkp",
        ["training_metadata.json cannot be used"],
    )


def test_an_index_that_points_outside_of_itself_is_damaged(copied: Callable[[str], Path]) -> None:
    folder = copied("by_step")
    index = folder / "ckpt-40.index"
    index.write_bytes(index.read_bytes()[-60:])
    assert says(newest_whole(folder)) == ("ckpt-30", ["its index points outside of itself"])


def test_a_shard_that_is_shorter_than_it_was_is_cut(copied: Callable[[str], Path]) -> None:
    folder = copied("by_step")
    before = list_files(folder)
    cut(folder / "ckpt-40.data-00000-of-00001")
    name, damage = says(newest_whole(folder, earlier=before))
    assert name == "ckpt-30"
    assert damage == ["ckpt-40.data-00000-of-00001 has 8334 bytes, and had 16669 before"]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("by_step/ckpt-40.index", index_damage),
        ("whole/m-03.keras", keras_damage),
        ("weights/m-03.weights.h5", hdf5_damage),
        ("old/m-03.h5", hdf5_damage),
    ],
)
def test_a_file_that_is_cut_anywhere_is_called_damaged(
    written: Path, tmp_path: Path, name: str, damage: Callable[[Path], str]
) -> None:
    content = (written / name).read_bytes()
    assert damage(written / name) == ""
    place = tmp_path / "cut"
    for length in {*range(300), *range(0, len(content), 97), len(content) - 1} - {len(content)}:
        if length < len(content):
            place.write_bytes(content[:length])
            assert damage(place), f"cut to {length} of {len(content)} bytes"


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    start=st.sampled_from([b"", b"\x89HDF\r\n\x1a\n", b"PK\x05\x06"]), rest=st.binary(max_size=300)
)
def test_no_content_of_a_file_makes_a_look_at_it_fail(
    tmp_path: Path, start: bytes, rest: bytes
) -> None:
    place = tmp_path / "any"
    for content in (start + rest, rest + start, rest + FOOTER_MAGIC.to_bytes(8, "little")):
        place.write_bytes(content)
        for damage in (index_damage, keras_damage, hdf5_damage):
            assert isinstance(damage(place), str)
        backup_epoch(place)


def test_shards_of_an_earlier_save_do_not_harm(copied: Callable[[str], Path]) -> None:
    folder = copied("sharded")
    (folder / "model.ckpt-300.data-00000-of-00003").write_bytes(b"old")
    assert says(newest_whole(folder)) == ("model.ckpt-300", [])


def test_where_nothing_can_be_used_the_training_begins_anew(copied: Callable[[str], Path]) -> None:
    folder = copied("by_step")
    for index in folder.glob("*.index"):
        index.unlink()
    choice = newest_whole(folder)
    assert choice.chosen is None
    assert "no checkpoint can be used, so the training begins anew" in choice.says
    assert newest_whole(folder / "nothing").says == (
        "there is no checkpoint, so the training begins anew"
    )


def test_what_an_earlier_training_left_behind_is_older_than_what_is_listed(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("by_step")
    write_state(folder, ["ckpt-20", "ckpt-30"])
    os.utime(folder / "ckpt-40.index", (1, 1))
    assert says(newest_whole(folder)) == ("ckpt-30", [])


def test_a_new_one_that_was_not_listed_yet_is_the_newest(copied: Callable[[str], Path]) -> None:
    folder = copied("by_step")
    write_state(folder, ["ckpt-20", "ckpt-30"])
    os.utime(folder / "ckpt-40.index")
    assert says(newest_whole(folder)) == ("ckpt-40", [])


def test_a_backup_of_keras_2_lies_in_a_folder_of_the_chief(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written / "by_count", tmp_path / "chief")
    assert says(newest_whole(tmp_path)) == ("ckpt-4", [])


def test_an_index_that_cannot_be_read_is_said_to_be_so(copied: Callable[[str], Path]) -> None:
    folder = copied("by_step")
    (folder / "ckpt-40.index").unlink()
    (folder / "ckpt-40.index").mkdir()
    name, damage = says(newest_whole(folder))
    assert (name, damage) == ("ckpt-30", ["its index cannot be read: Is a directory"])


def test_what_only_reading_finds_is_found_by_reading_every_tensor(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("by_count")
    cut(folder / "ckpt-4.data-00000-of-00001", 0.9)
    with (folder / "ckpt-3.data-00000-of-00001").open("r+b") as file:
        file.seek(9000)
        file.write(b"\xff\x00\xff\x00")
    choice = newest_whole(folder, interpreter=[sys.executable], reached_step=45)
    name, damage = says(choice)
    assert name == "ckpt-2"
    assert len(damage) == 2
    assert all(why.startswith("it cannot be read: ") for why in damage)
    # Its name counts saves; the variable in it is the step.
    assert choice.chosen
    assert (choice.chosen.step, choice.steps_lost, choice.chosen.read_whole) == (20, 25, True)


@pytest.mark.parametrize("kind", ["whole", "weights"])
def test_files_of_keras_are_read_whole(copied: Callable[[str], Path], kind: str) -> None:
    folder = copied(kind)
    choice = newest_whole(folder, interpreter=[sys.executable])
    assert choice.chosen
    assert choice.chosen.read_whole
    path = folder / KINDS[kind][NEWEST]
    middle = path.stat().st_size // 2
    with path.open("r+b") as file:
        file.seek(middle - 2000 if kind == "whole" else 0x60)
        file.write(b"\xff" * 600)
    name, damage = says(newest_whole(folder, interpreter=[sys.executable]))
    assert name == KINDS[kind][SECOND]
    assert damage[0].startswith("it cannot be read: ")


@pytest.mark.parametrize(
    ("interpreter", "why"),
    [
        (("/no/such/python",), "cannot start /no/such/python: No such file or directory"),
        ((sys.executable, "-I", "-S"), "No module named"),
        (("/bin/sh", "-c", "exit 3", "sh"), "its reader ended with code 3"),
        (("/bin/sh", "-c", "echo 7", "sh"), "its reader ended with code 0"),
        (("/bin/sh", "-c", "kill -9 $$", "sh"), "its reader ended with code -9"),
    ],
)
def test_who_cannot_read_proves_nothing(
    written: Path, interpreter: tuple[str, ...], why: str
) -> None:
    choice = newest_whole(written / "by_step", interpreter=interpreter)
    assert says(choice) == ("ckpt-40", [])
    assert choice.chosen
    assert why in choice.chosen.unread
    assert not choice.chosen.read_whole


def test_a_reader_that_crashes_over_it_calls_it_damaged(written: Path) -> None:
    newest = find_checkpoints(written / "by_step")[-1]
    read = read_whole(newest, ("/bin/sh", "-c", "kill -SEGV $$", "sh"))
    assert read.damage == "reading it ended with SIGSEGV"


def test_a_reader_that_takes_too_long_is_ended_with_all_that_it_started(
    written: Path, tmp_path: Path
) -> None:
    newest = find_checkpoints(written / "by_step")[-1]
    told = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {told}; wait"
    read = read_whole(newest, ("/bin/sh", "-c", script, "sh"), within_s=1.0)
    assert read.unread == "not read within 1 s"
    with suppress(ProcessLookupError):  # it may be gone already
        ended = select.poll()
        ended.register(os.pidfd_open(int(told.read_text())), select.POLLIN)
        assert ended.poll(10_000)


def test_the_chosen_one_is_what_tensorflow_and_keras_then_take(
    copied: Callable[[str], Path],
) -> None:
    by_step, backup = copied("by_step"), copied("backup")
    cut(by_step / "ckpt-40.index")
    cut(backup / "latest.weights.h5")
    done = [*point_to(newest_whole(by_step)), *point_to(newest_whole(backup))]
    assert [line.rpartition("/")[2] for line in done] == [
        "checkpoint names ckpt-30 instead of ckpt-40",
        "latest.weights.h5 is now latest.weights.h5.damaged",
        "training_metadata.json is now training_metadata.json.damaged",
        "latest.weights.h5 is the state before the last one",
    ]
    assert (
        'model_checkpoint_path: "ckpt-40"' in (by_step / "checkpoint.before-holdfast").read_text()
    )
    command = [sys.executable, str(WRITER), str(by_step.parent), "restore"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.splitlines()[-3:] == ["by_step 30", "listed ckpt-20 ckpt-30 ckpt-35", "backup 2 3"]


def test_nothing_is_changed_where_the_program_takes_the_chosen_one_anyway(
    written: Path, tmp_path: Path
) -> None:
    for kind in KINDS:
        assert point_to(newest_whole(written / kind)) == []
    shutil.copy(written / "by_step" / "ckpt-40.index", tmp_path)
    shutil.copy(written / "by_step" / "ckpt-40.data-00000-of-00001", tmp_path)
    assert point_to(newest_whole(tmp_path)) == []


def test_damaged_files_that_a_program_looks_for_itself_get_another_name(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("whole")
    cut(folder / "m-03.keras")
    assert len(point_to(newest_whole(folder))) == 1
    assert (folder / "m-03.keras.damaged").exists()
    assert says(newest_whole(folder)) == ("m-02.keras", [])


def test_where_nothing_is_left_the_program_finds_nothing_and_begins_anew(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("by_step")
    for index in folder.glob("*.index"):
        cut(index, 0)
    choice = newest_whole(folder)
    assert point_to(choice) == [f"{folder}/checkpoint is now checkpoint.damaged"]
    assert read_state(folder) == []
    assert point_to(choice) == []


def test_a_list_takes_no_name_that_would_break_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no checkpoint is named so"):
        write_state(tmp_path, ['a"b'])


def test_forms_are_told_apart(written: Path) -> None:
    forms = {kind: {one.form for one in find_checkpoints(written / kind)} for kind in KINDS}
    assert forms["saver"] == {Form.BUNDLE}
    assert forms["backup"] == {Form.BACKUP}
    assert forms["whole"] == {Form.KERAS}
    assert forms["weights"] == forms["old"] == {Form.HDF5}
