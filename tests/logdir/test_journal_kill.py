"""A writer that is killed in the middle of its work loses nothing that it acknowledged."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.logdir.journal import follow_journal, open_journal, read_journal
from holdfast.logdir.run_dir import RunDir, create_run_dir, open_run_dir
from holdfast.model.facts import TimePassed

StartWriter = Callable[[Path, str], "subprocess.Popen[str]"]


def kill_after(writer: "subprocess.Popen[str]", acknowledgements: int) -> int:
    """Returns the last size that the writer acknowledged."""
    assert writer.stdout
    lines = [writer.stdout.readline() for _ in range(acknowledgements)]
    writer.kill()
    rest, _ = writer.communicate()
    whole = [line for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    return int(whole[-1])


@pytest.mark.parametrize("acknowledgements", [1, 700, 4000])
def test_every_acknowledged_fact_outlives_a_kill(
    run_dir: RunDir, start_writer: StartWriter, store: str, acknowledgements: int
) -> None:
    acknowledged = kill_after(start_writer(run_dir.path, store), acknowledgements)
    replay = read_journal(run_dir)
    assert len(replay.facts) >= acknowledged
    assert [fact.at_s for fact in replay.facts] == [1.0 + n for n in range(len(replay.facts))]
    assert replay.skipped <= 1
    with follow_journal(run_dir) as follower:
        assert follower.fresh() == replay.facts


def test_a_new_writer_goes_on_where_a_killed_one_stopped(
    run_dir: RunDir, start_writer: StartWriter, store: str
) -> None:
    for _ in range(3):
        kill_after(start_writer(run_dir.path, store), 50)
    before = read_journal(run_dir).facts
    with open_journal(run_dir) as journal:
        assert journal.size() == len(before)
        journal.append(TimePassed(at_s=1e6, host="h"))
    assert read_journal(run_dir).facts == (*before, TimePassed(at_s=1e6, host="h"))
    assert [fact.at_s for fact in before] == [1.0 + n for n in range(len(before))]


@pytest.mark.parametrize("index", ["kept", "lost"])
def test_a_cut_off_run_is_read_from_a_read_only_disk(
    tmpfs: Callable[[str], Path], start_writer: StartWriter, store: str, index: str
) -> None:
    disk = tmpfs("size=64m")
    with create_run_dir(disk / "run") as made:
        made.write_json("run.json", {})
        acknowledged = kill_after(start_writer(made.path, store), 200)
    if index == "lost" and store == "sqlite":
        (disk / "run" / "journal.db-shm").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with open_run_dir(disk / "run") as run_dir:
        replay = read_journal(run_dir)
        with follow_journal(run_dir) as follower:
            assert follower.fresh() == replay.facts
    assert len(replay.facts) >= acknowledged
    assert replay.skipped <= 1


def test_a_cut_off_run_is_read_by_a_user_who_may_only_read(
    open_to_all: Path, start_writer: StartWriter, store: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    with create_run_dir(open_to_all / "run") as made:
        made.write_json("run.json", {})
        acknowledged = kill_after(start_writer(made.path, store), 200)
    for found in (open_to_all / "run").rglob("*"):
        found.chmod(0o755 if found.is_dir() else 0o644)
    (open_to_all / "run").chmod(0o755)
    os.seteuid(65534)
    try:
        with open_run_dir(open_to_all / "run") as run_dir:
            replay = read_journal(run_dir)
    finally:
        os.seteuid(0)
    assert len(replay.facts) >= acknowledged


def test_a_copy_of_a_live_run_is_read(
    run_dir: RunDir, start_writer: StartWriter, store: str, tmp_path: Path
) -> None:
    writer = start_writer(run_dir.path, store)
    assert writer.stdout
    acknowledged = [int(writer.stdout.readline()) for _ in range(100)][-1]
    shutil.copytree(run_dir.path, tmp_path / "copy")
    with open_run_dir(tmp_path / "copy") as copy:
        assert len(read_journal(copy).facts) >= acknowledged
