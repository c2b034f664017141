"""A process of an attempt that is over cannot write: real processes of two attempts."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.in_task.conftest import Job

from holdfast.logdir.fence import Busy, hold

# Writes once for each line it gets; `stay` keeps it in the middle until the next line.
WRITES = """
import sys, holdfast.tf
for word in sys.stdin:
    try:
        with holdfast.tf.may_write():
            open(sys.argv[1], "a").write(sys.argv[2] + "\\n")
            if word == "stay\\n":
                print("in the middle", flush=True)
                sys.stdin.readline()
        print("written", flush=True)
    except holdfast.tf.Outdated as error:
        print(error, flush=True)
"""
ROWS = """
import sys, time
from holdfast.rows.errors import Held
from holdfast.rows.source_logs import _LOOK_EVERY_NS
from holdfast.rows.writer import Writer
writer = None
for _ in sys.stdin:
    said = []
    for _ in range(3):  # once it was refused, it stays so
        try:
            writer = writer or Writer(sys.argv[1], task="worker:" + sys.argv[2], seal="never")
            time.sleep(1.5 * _LOOK_EVERY_NS / 1e9)  # as rarely as it looks
            writer.append("loss", 1.0)
            said.append("written")
        except Held as error:
            said.append(str(error))
    print(*sorted(set(said)), flush=True)
"""
LOGDIR = "import holdfast.tf; print(holdfast.tf.logdir('/data').checkpoints)"
REFUSED = "attempt 1 of this job may not write any more: attempt 2 has begun; end this process"


class Attempt:
    """A program that runs as a task of one attempt, and answers."""

    def __init__(self, job: Job, code: str, place: Path, number: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(place), str(number)],
            env=job.env(HOLDFAST_ATTEMPT=str(number)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, word: str = "write") -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{word}\n")
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def attempts(job: Job, tmp_path: Path) -> Iterator[dict[str, tuple[Attempt, Attempt]]]:
    made = {
        name: (Attempt(job, code, tmp_path / name, 1), Attempt(job, code, tmp_path / name, 2))
        for name, code in (("file", WRITES), ("rows", ROWS))
    }
    yield made
    for pair in made.values():
        for one in pair:
            one.close()


def test_an_old_attempt_that_comes_back_writes_nothing(
    job: Job, attempts: dict[str, tuple[Attempt, Attempt]], tmp_path: Path
) -> None:
    old, new = attempts["file"]
    hold(job.run_dir.path, 1)
    assert old.ask() == "written"
    hold(job.run_dir.path, 2)
    assert old.ask() == REFUSED
    assert new.ask() == "written"
    assert old.ask() == REFUSED
    assert (tmp_path / "file").read_text() == "1\n2\n"


def test_the_next_attempt_waits_for_the_end_of_a_write(
    job: Job, attempts: dict[str, tuple[Attempt, Attempt]], tmp_path: Path
) -> None:
    old, _ = attempts["file"]
    hold(job.run_dir.path, 1)
    assert old.ask("stay") == "in the middle"
    with pytest.raises(Busy):
        hold(job.run_dir.path, 2, wait_s=0.2)
    assert old.ask() == "written"
    hold(job.run_dir.path, 2)
    assert old.ask() == REFUSED


def test_rows_of_an_old_attempt_are_refused(
    job: Job, attempts: dict[str, tuple[Attempt, Attempt]]
) -> None:
    old, new = attempts["rows"]
    hold(job.run_dir.path, 1)
    assert old.ask() == "written"
    hold(job.run_dir.path, 2)
    assert old.ask() == f"worker:1: {REFUSED}; only the newest attempt may write rows"
    assert new.ask() == "written"


def test_who_begins_late_gets_no_place_to_write(job: Job) -> None:
    assert job.done(LOGDIR).stdout == "/data/checkpoints\n"
    hold(job.run_dir.path, 2)
    late = job.done(LOGDIR)
    assert (late.stdout, late.stderr.strip().endswith(f"Outdated: {REFUSED}")) == ("", True)
    assert job.done(LOGDIR, HOLDFAST_ATTEMPT="2").stdout == "/data/checkpoints\n"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"attempt": "2"}', '{"incarnation": 2}'])
def test_where_no_fence_can_be_read_everybody_may_write(job: Job, text: str | None) -> None:
    if text is not None:
        (job.run_dir.path / "fences").mkdir()
        (job.run_dir.path / "fences" / "job").write_text(text)
    asks = "import holdfast.tf\nwith holdfast.tf.may_write(): print('written')"
    assert job.done(asks).stdout == "written\n"
    assert job.done(asks, HOLDFAST_IN_TASK_DIR="").stdout == "written\n"
