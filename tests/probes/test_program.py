"""A program that switches HDF5's locks off is seen before it runs."""

from pathlib import Path

import pytest

from holdfast.probes.program import chief_for_all, locks_switched_off

HERE = {"at_s": 0.0, "host": "host-a", "task": None}


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"',
        "os.environ.setdefault('HDF5_USE_FILE_LOCKING', '0')",
        "export HDF5_USE_FILE_LOCKING=FALSE",
        'env = {"HDF5_USE_FILE_LOCKING": "false"}',
        'file = h5py.File("all.h5", "a", locking=False)',
    ],
)
def test_every_usual_way_is_seen_with_its_line(tmp_path: Path, line: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(f"import os\n\n{line}\n")
    (found,) = locks_switched_off(["python", str(program), "--steps", "5"], HERE)
    assert (getattr(found, "line"), getattr(found, "text")) == (3, line)  # noqa: B009


@pytest.mark.parametrize(
    "line",
    [
        "# never HDF5_USE_FILE_LOCKING=FALSE",
        'os.environ["HDF5_USE_FILE_LOCKING"] = "TRUE"',
        'print(os.environ.get("HDF5_USE_FILE_LOCKING"))',
        'file = h5py.File("all.h5", "r", locking=False)',
        'file = h5py.File("all.h5", "a", locking=True)',
    ],
)
def test_what_leaves_the_locks_on_is_not(tmp_path: Path, line: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(line)
    assert locks_switched_off(["python", str(program)], HERE) == []


def test_files_that_are_not_there_or_no_text_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_bytes(bytes(range(256)) * 100)
    names = [str(tmp_path / name) for name in ("noise.py", "none.py", "\0.py")]
    assert locks_switched_off(["python", *names], HERE) == []


def test_a_program_that_makes_everybody_the_chief_is_seen_with_its_line(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    told = "is_chief=(index == 0)\n# is_chief=True\nsession(is_chief = True)\nis_chief=Truely"
    program.write_text(told)
    (found,) = chief_for_all(["python", str(program)], HERE)
    assert (getattr(found, "line"), getattr(found, "text")) == (3, "session(is_chief = True)")  # noqa: B009
