"""Who trains in a family of real processes: not its launcher, nor what it has started."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.probes.process import descendants
from holdfast.probes.trainer import training_process

REST = "import os, time; os.write(1, b'up\\n'); time.sleep(600)"
Start = Callable[..., list[int]]


@pytest.fixture
def start() -> Iterator[Start]:
    """The family of a program, nearest first, when `ups` of it are up."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*command: str, ups: int = 1) -> list[int]:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None
        for _ in range(ups):
            assert process.stdout.readline() == b"up\n"
        return [process.pid, *(one.pid for one in descendants(process.pid))]

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(params=["torch/lib/libtorch_cpu.so", "site-packages/jaxlib/_jax.so",
                        "site-packages/tensorflow/libtensorflow_framework.so.2"])  # fmt: skip
def load(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A line that has a library of a framework in memory, as its import would."""
    library = tmp_path / request.param
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(4096))
    file = f"file = open({str(library)!r}, 'rb')"
    return f"import mmap; {file}; held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)"


def test_what_the_trainer_starts_is_not_taken_for_it(start: Start, load: str) -> None:
    sleeps = f"{load}\nimport subprocess; subprocess.Popen(['sleep', '600'])\n{REST}"
    family = start(sys.executable, "-c", sleeps)
    assert len(family) == 2
    assert training_process(family) == (family[0], True)
    forks = f"{load}\nimport os\nos.fork()\n{REST}"
    family = start(sys.executable, "-c", forks, ups=2)
    assert len(family) == 2
    assert training_process(family) == (family[0], True)


def test_what_starts_the_trainer_is_not_taken_for_it(start: Start, load: str) -> None:
    trains = f"{load}\n{REST}"
    launches = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    family = start(sys.executable, "-c", launches, trains)
    assert training_process(family) == (family[1], True)
    family = start("sh", "-c", '"$0" -c "$1"; true', sys.executable, trains)
    assert training_process(family) == (family[1], True)


def test_a_launcher_that_loads_what_it_launches_is_not_taken_for_the_trainer(
    start: Start, load: str, tmp_path: Path
) -> None:
    launcher = tmp_path / "torchrun"
    run = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    launcher.write_text(f"{load}\n{run}\n")
    family = start(sys.executable, str(launcher), f"{load}\n{REST}")
    assert training_process(family) == (family[1], True)
    assert training_process(family[:1]) == (family[0], False)


def test_where_nobody_has_loaded_anything_the_nearest_python(start: Start) -> None:
    sleeps = f"import subprocess; subprocess.Popen(['sleep', '600'])\n{REST}"
    family = start("sh", "-c", '"$0" -c "$1"; true', sys.executable, sleeps)
    assert len(family) == 3
    assert training_process(family) == (family[1], False)


def test_where_there_is_no_python_the_last(start: Start) -> None:
    family = start("sh", "-c", "echo up; sleep 600; true")
    while len(family) < 2:
        family = [family[0], *(one.pid for one in descendants(family[0]))]
    assert training_process(family) == (family[-1], False)
    assert training_process([2**22 + 1]) == (2**22 + 1, False)
