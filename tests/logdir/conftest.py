"""Run directories, small file systems and other users, all of them real."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from holdfast.logdir.run_dir import RunDir, create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LogLine

WRITER = Path(__file__).with_name("append_until_killed.py")
NOBODY = 65534


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[RunDir]:
    with create_run_dir(tmp_path / "run") as made:
        made.write_json("run.json", {})
        yield made


@pytest.fixture(params=["sqlite", "segments"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def some_facts() -> Callable[[int], list[Fact]]:
    def make(count: int) -> list[Fact]:
        worker = TaskId("worker", 0)
        return [
            LogLine(at_s=float(n), host="gpu-07", task=worker, text=f"line {n} ä\n", line=n)
            for n in range(1, count + 1)
        ]

    return make


@pytest.fixture
def start_writer() -> Iterator[Callable[[Path, str], "subprocess.Popen[str]"]]:
    """Starts a process that appends until it is killed and tells what it has appended."""
    started = []

    def start(path: Path, store: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(WRITER), str(path), store]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(writer)
        return writer

    yield start
    for writer in started:
        writer.kill()
        writer.wait()
        if writer.stdout:
            writer.stdout.close()


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts an empty file system with the given options."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"tmpfs-{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if subprocess.run(command, check=False).returncode:
            pytest.skip("this machine does not let root mount a tmpfs")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")

    @contextmanager
    def become() -> Iterator[None]:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return become


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)
