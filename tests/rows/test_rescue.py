"""Rescue recovers what reads, changes nothing, and says no more than it knows."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # damaged files come from bench/
from bench.rows.damaging import cases, digest, original
from bench.rows.rescue import Score, judged

from holdfast import rows
from holdfast.rows.errors import Refused
from holdfast.rows.rescuing import Reader, Rescued, rescue
from holdfast.rows.rescuing.foreign import rescue_file
from holdfast.rows.rescuing.look import look
from holdfast.rows.sealing import seal_folder

CASES = 48  # twice each kind; the bench has 200


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(step_s=5.0) as one:
        yield one


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "file.h5"
    original(path, random.Random(3), None)
    return path


def by_name(found: Rescued) -> dict[str, Any]:
    return {one.name: one for one in found.datasets}


def test_the_report_is_true_of_files_damaged_in_every_way(tmp_path: Path, reader: Reader) -> None:
    score = Score()
    for case in cases(tmp_path, CASES, seed=11):
        judged(case, reader, score)
    assert score.wrong == []
    assert score.counts["rows reported good"] > score.counts["rows of originals"] / 2


def test_a_whole_file_comes_back_whole(made: Path, reader: Reader, tmp_path: Path) -> None:
    with h5py.File(made, "a") as file:
        file["text"] = ["a", "é"]
        file["one"] = 5
        file["also"] = file["one"]
        file["soft"] = h5py.SoftLink("/plain")
        file["nothing"] = h5py.Empty("f4")
        file["plain"].attrs["unit"] = "m"
    before = digest(made)
    found = rescue(made, to=tmp_path / "out.h5", reader=reader)
    assert found.is_whole
    assert digest(made) == before
    with h5py.File(tmp_path / "out.h5", "r") as file, h5py.File(made, "r") as old:
        assert sorted(file) == sorted(old)
        assert file.attrs["run"] == "a name"
        assert file["train/deep"].attrs["units"] == "m"
        assert file["soft"].attrs["unit"] == "m"
        assert file["one"] == file["also"]
        assert file["train/gzip"].compression == "gzip"
        assert (file["train/deep/both"][:] == old["train/deep/both"][:]).all()
        assert file["text"].asstr()[:].tolist() == ["a", "é"]


def test_of_a_cut_file_the_rows_before_the_cut_come_back(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "file.h5"
    rows_of = np.arange(40_000.0).reshape(-1, 4)
    with h5py.File(path, "w") as file:
        file["rows"] = rows_of
        offset = file["rows"].id.get_offset()
    os.truncate(path, offset + 3001 * 32 + 7)
    found = rescue(path, to=tmp_path / "out.h5", reader=reader)
    assert found.kind == "truncated"
    told = by_name(found)["/rows"]
    assert (told.rows, told.rows_recovered) == (10_000, 3001)
    assert [(one.first, one.last) for one in told.lost] == [(3001, 9999)]
    assert "cut" in told.lost[0].why
    with h5py.File(tmp_path / "out.h5", "r") as file:
        assert (file["rows"][:3001] == rows_of[:3001]).all()
        assert np.isnan(file["rows"][3001:]).all()
        assert json.loads(file["rows"].attrs["_holdfast_lost_rows"]) == [[3001, 9999]]


def test_one_bad_chunk_costs_its_rows_and_no_others(made: Path, reader: Reader) -> None:
    with h5py.File(made, "r") as file:
        chunk = file["train/deep/fletcher"].id.get_chunk_info_by_coord((140, 5))
    content = bytearray(made.read_bytes())
    content[chunk.byte_offset + 9] ^= 1
    made.write_bytes(content)
    found = rescue(made, reader=reader)
    told = by_name(found)
    hurt = told["/train/deep/fletcher"]
    assert [(one.first, one.last) for one in hurt.lost] == [(140, 209)]
    assert hurt.checked_by == "fletcher32 of each chunk"
    assert all(one.state == "whole" for name, one in told.items() if one is not hurt)
    assert told["/plain"].checked_by == ""
    assert any("no checksum of the rows" in note for note in found.notes)
    assert found.to is not None
    with h5py.File(found.to, "r") as file:
        # The chunk beside it, of the same rows, still reads.
        assert not np.isnan(file["train/deep/fletcher"][140:210, :5]).any()
        assert np.isnan(file["train/deep/fletcher"][140:210, 5:]).all()


@pytest.mark.parametrize("libver", [None, "v110"])
def test_datasets_come_back_whose_names_are_lost(
    tmp_path: Path, reader: Reader, libver: str | None
) -> None:
    path = tmp_path / "file.h5"
    made = original(path, random.Random(4), libver)
    with h5py.File(path, "r") as file:
        address = h5py.h5o.get_info(file["train"].id).addr
    content = bytearray(path.read_bytes())
    content[address : address + 40] = bytes(40)
    path.write_bytes(content)
    found = rescue(path, to=tmp_path / "out.h5", reader=reader)
    assert not found.is_whole
    assert [one.name for one in found.lost_objects] == ["/train"]
    with h5py.File(tmp_path / "out.h5", "r") as file:
        back = [file[one.name][:] for one in found.datasets]
    assert len(back) == len(made)
    for known in made.values():
        assert any(one.shape == known.shape and (one == known).all() for one in back)
    assert any("without its name" in note for note in found.notes)


def test_rows_that_lie_in_other_files_are_not_fetched(tmp_path: Path, reader: Reader) -> None:
    (tmp_path / "secret").write_bytes(b"secret" * 100)
    path = tmp_path / "file.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("raw", (600,), "u1", external=[(str(tmp_path / "secret"), 0, 600)])
        file["link"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/x")
        file["own"] = np.arange(3)
    found = rescue(path, to=tmp_path / "out.h5", reader=reader)
    assert "other files" in by_name(found)["/raw"].lost[0].why
    assert b"secretsecret" not in (tmp_path / "out.h5").read_bytes()
    assert by_name(found)["/own"].state == "whole"


def test_a_child_that_crashes_or_hangs_costs_only_what_it_read(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that dies over one dataset, made by a filter of h5py's that kills."""
    (tmp_path / "hdf5plugin.py").write_text(
        "import os, signal, time, h5py\n"
        "real = h5py.Dataset.__getitem__\n"
        "def get(self, key):\n"
        "    if self.name == '/train/gzip':\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if self.name == '/train/chunked':\n"
        "        time.sleep(600)\n"
        "    return real(self, key)\n"
        "h5py.Dataset.__getitem__ = get\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Reader(step_s=0.5) as fragile:
        found = rescue(made, to=tmp_path / "out.h5", reader=fragile)
    told = by_name(found)
    for name in ("/train/gzip", "/train/chunked"):
        assert told[name].state == "lost", name
        assert "crashed or hung" in told[name].lost[0].why
    for name in ("/plain", "/train/deep/fletcher", "/train/deep/both"):
        assert told[name].state == "whole", name


def test_every_whole_frame_behind_damage_comes_back(tmp_path: Path, reader: Reader) -> None:
    with rows.open(tmp_path / "logs", task="worker:0", seal="never") as writer:
        for step in range(50):
            writer.append("loss", np.full((2, 3), step, "f8"))
    log = next((tmp_path / "logs").rglob("*.log"))
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 255
    log.write_bytes(content)
    before = digest(tmp_path / "logs")
    found = rescue(tmp_path / "logs", to=tmp_path / "out.h5", reader=reader)
    (told,) = found.datasets
    assert (told.name, told.rows, told.rows_recovered) == ("worker-0.0001/loss", 100, 98)
    assert "000001.log" in told.lost[0].why
    with h5py.File(tmp_path / "out.h5", "r") as file:
        steps = file["worker-0.0001/loss"][:, 0]
        first = told.lost[0].first
        assert steps.tolist() == [row // 2 for row in range(100) if row not in (first, first + 1)]
    assert digest(tmp_path / "logs") == before


def test_the_last_rows_of_a_closed_log_are_missed(tmp_path: Path, reader: Reader) -> None:
    with rows.open(tmp_path / "logs", task="worker:0", seal="never") as writer:
        for _ in range(5):
            writer.append("loss", np.ones((2, 3)))
    log = next((tmp_path / "logs").rglob("*.log"))
    content = bytearray(log.read_bytes())
    content[content.rfind(np.ones(1).tobytes())] ^= 255
    log.write_bytes(content)
    found = rescue(tmp_path / "logs", to=tmp_path / "out.h5", reader=reader)
    (told,) = found.datasets
    assert (told.rows, told.rows_recovered) == (10, 8)
    assert [(one.first, one.last) for one in told.lost] == [(8, 9)]


def test_a_torn_tail_is_no_loss(tmp_path: Path, reader: Reader) -> None:
    with rows.open(tmp_path / "logs", task="worker:0", seal="never") as writer:
        writer.append("loss", np.zeros((2, 3)))
        size = next((tmp_path / "logs").rglob("*.log")).stat().st_size
        writer.append("loss", np.zeros((2, 3)))
    os.truncate(next((tmp_path / "logs").rglob("*.log")), size + 50)
    found = rescue(tmp_path / "logs", to=tmp_path / "out.h5", reader=reader)
    assert found.is_whole
    assert found.rows_recovered == 2
    assert "never acknowledged" in found.notes[0]


def test_a_segment_with_a_wrong_checksum_is_doubtful(tmp_path: Path, reader: Reader) -> None:
    with rows.open(tmp_path / "logs", task="worker:0", seal="never") as writer:
        writer.append("loss", np.arange(3000.0))
    seal_folder(tmp_path / "logs")
    segment = next((tmp_path / "logs").rglob("*.h5"))
    good = rescue_file(segment, tmp_path / "good.h5", reader)
    assert by_name(good)["/loss"].checked_by == "the segment's checksum"
    with h5py.File(segment, "r") as file:
        offset = file["loss"].id.get_offset()
    content = bytearray(segment.read_bytes())
    content[offset + 100] ^= 1
    segment.write_bytes(content)
    bad = rescue_file(segment, tmp_path / "bad.h5", reader)
    assert by_name(bad)["/loss"].state == "doubtful"
    assert not bad.is_whole
    found = rescue(tmp_path / "logs", to=tmp_path / "out.h5", reader=reader)
    assert found.rows_recovered == 0
    assert found.datasets[0].state == "lost"


def test_nothing_is_overwritten(made: Path, tmp_path: Path, reader: Reader) -> None:
    (tmp_path / "out.h5").write_text("mine")
    with pytest.raises(Refused, match="nothing is overwritten"):
        rescue(made, to=tmp_path / "out.h5", reader=reader)
    assert (tmp_path / "out.h5").read_text() == "mine"
    with pytest.raises(FileNotFoundError):
        rescue(tmp_path / "none.h5", reader=reader)


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert look(tmp_path / "pipe").kind == "foreign"
    assert look(Path("/dev/zero")).kind == "foreign"


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "rescue", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_by_its_exit_code_what_became_of_it(made: Path, tmp_path: Path) -> None:
    whole = run(made, "-o", tmp_path / "whole.h5")
    assert whole.returncode == 0, whole.stderr
    assert "5 of 5" not in whole.stdout
    assert "the original is unchanged" in whole.stdout
    os.truncate(made, made.stat().st_size - 2000)
    part = run(made, "--format", "json")
    assert part.returncode in (1, 65)
    assert json.loads(part.stdout)["kind"] == "truncated"
    (tmp_path / "evil\x1b[31m.h5").write_text("text")
    foreign = run(tmp_path / "evil\x1b[31m.h5")
    assert foreign.returncode == 65
    assert "\x1b" not in foreign.stdout
    assert "it is text, no HDF5 file" in foreign.stdout
    assert run(tmp_path / "none.h5").returncode == 66
    assert run(tmp_path).returncode == 65
