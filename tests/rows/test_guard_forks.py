"""A forked child may read what its parent writes under the guard, and is no second writer."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from tests.rows.puppet import Puppet

FORK = """
import sys
read, write = os.pipe()
child = os.fork()
if not child:
    os.close(read)
    said = []
    try:
        said.append(float(f["rows"][5]))
        ACT
    except (OSError, RuntimeError) as error:
        said.append(type(error).__name__ + ": " + str(error))
    os.write(write, repr(said).encode())
    os._exit(0)
os.close(write)
said = os.read(read, 10000).decode()
os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("f.close()", "[5.0]"),
        ("f.flush()", "[5.0]"),
        ("f['big'] = [1.0] * 100000", "Bad file descriptor"),
        ("f.create_group('g'); f.flush()", "may read it, not write it"),
        ("f.create_group('g'); f.close()", "may read it, not write it"),
        ("h5py.File(f.filename, 'a')", "by worker:7"),
    ],
)
def test_a_forked_child_reads_what_its_parent_writes_and_changes_nothing(
    path: Path, other: Puppet, act: str, said: str
) -> None:
    other.open(path)
    other.do("f['before'] = 1")
    assert said in other.do(FORK.replace("ACT", act))
    assert other.do("f['after'] = 2; f.close()") == ""
    with h5py.File(path, "r") as file:
        assert set(file) == {"rows", "before", "after"}


def test_a_forked_child_ends_without_a_word_if_it_changed_nothing(path: Path) -> None:
    code = f"""
import os, sys, h5py
from holdfast.rows import guard
guard.install("worker:7")
f = h5py.File({str(path)!r}, "a")
f["before"] = 1
if not os.fork():
    CHANGE
    sys.exit(0)
os.wait()
f["after"] = 2
"""
    for change, said in (("f['rows'][5]", ""), ("f.create_group('g')", "may read it, not write")):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("CHANGE", change)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0
        assert said in done.stderr
        assert bool(done.stderr) is bool(said)
        with h5py.File(path, "a") as file:
            assert set(file) == {"rows", "before", "after"}
            del file["before"], file["after"]


def test_a_child_that_outlives_its_parent_does_not_keep_the_file(path: Path, other: Puppet) -> None:
    other.open(path)
    child = int(other.do("said = os.fork()\nif not said:\n    time.sleep(300)\n    os._exit(0)"))
    try:
        with Puppet("worker:8") as third:
            assert "by worker:7" in third.open(path)
            other.kill()
            assert third.open(path) == ""
    finally:
        os.kill(child, 9)
