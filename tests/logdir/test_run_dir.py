"""The run directory takes nothing that is not ours, and leaks nothing to others."""

import json
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from holdfast.logdir.run_dir import RunDir, create_run_dir, log_name, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import (
    BadInput,
    Forbidden,
    HoldfastError,
    MissingInput,
    NotOurs,
    StorageFailed,
)

WORKER = TaskId("worker", 0)


def modes_under(path: Path) -> set[tuple[str, int]]:
    found = {
        ("folder" if p.is_dir() else "file", p.stat().st_mode & 0o777) for p in path.rglob("*")
    }
    return found | {("folder", path.stat().st_mode & 0o777)}


def everything_under(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in path.rglob("*"))


def test_makes_the_directory_and_its_parents(tmp_path: Path) -> None:
    with create_run_dir(tmp_path / "a" / "b" / "run") as run_dir:
        assert run_dir.path == tmp_path / "a" / "b" / "run"
        assert everything_under(run_dir.path) == ["logs"]


def test_accepts_an_empty_directory_of_ours_and_leaves_its_mode_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o750)
    create_run_dir(tmp_path / "run").close()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o750


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_everything_is_private_whatever_the_umask(
    tmp_path: Path, umask: Callable[[int], int], mask: int
) -> None:
    umask(mask)
    with create_run_dir(tmp_path / "parent" / "run") as run_dir:
        run_dir.write_json("run.json", {})
        run_dir.append_line("findings.jsonl", b"{}")
        run_dir.make_folder("stacks")
        run_dir.write_bytes("stacks/worker-0.txt", b"...")
        os.close(run_dir.create_log(WORKER, 1, "out"))
    assert modes_under(tmp_path / "parent") == {("folder", 0o700), ("file", 0o600)}


def test_works_for_a_user_without_rights_whose_umask_forbids_everything(
    open_to_all: Path,
    umask: Callable[[int], int],
    as_nobody: Callable[[], AbstractContextManager[None]],
) -> None:
    open_to_all.chmod(0o1777)
    umask(0o777)
    with as_nobody(), create_run_dir(open_to_all / "parent" / "run") as run_dir:
        run_dir.write_json("run.json", {})
        assert run_dir.read_json("run.json") == {}


def test_refuses_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to("real")
    with pytest.raises(NotOurs, match="symbolic link"):
        create_run_dir(tmp_path / "run")
    assert everything_under(tmp_path / "real") == []


def test_refuses_a_symbolic_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to("nowhere")
    with pytest.raises(NotOurs, match="symbolic link"):
        create_run_dir(tmp_path / "run")
    assert everything_under(tmp_path) == ["run"]


def test_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(NotOurs, match="not a directory"):
        create_run_dir(tmp_path / "run")
    with pytest.raises(NotOurs, match="parents is a file"):
        create_run_dir(tmp_path / "run" / "below")
    assert (tmp_path / "run").read_text() == "mine"


def test_refuses_a_directory_that_holds_a_run(run_dir: RunDir) -> None:
    before = everything_under(run_dir.path)
    with pytest.raises(NotOurs, match="it holds a run already") as refused:
        create_run_dir(run_dir.path)
    assert refused.value.do
    assert everything_under(run_dir.path) == before


def test_refuses_a_directory_with_somebody_elses_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(NotOurs, match="has files that are not ours"):
        create_run_dir(tmp_path)
    assert everything_under(tmp_path) == ["thesis.tex"]


def test_of_two_runs_that_start_in_one_directory_the_second_is_refused(tmp_path: Path) -> None:
    with create_run_dir(tmp_path / "run"), pytest.raises(NotOurs):
        create_run_dir(tmp_path / "run")


def test_refuses_a_directory_that_everybody_may_write(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(NotOurs, match="written by everybody"):
        create_run_dir(tmp_path / "run")
    (tmp_path / "run").chmod(0o1777)
    create_run_dir(tmp_path / "run").close()


def test_refuses_a_directory_of_another_user(
    open_to_all: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody(), pytest.raises(NotOurs, match="another user"):
        create_run_dir(open_to_all)


def test_a_parent_that_we_may_not_write_is_forbidden(
    open_to_all: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody(), pytest.raises(Forbidden) as refused:
        create_run_dir(open_to_all / "a" / "run")
    assert str(open_to_all / "a" / "run") in refused.value.message
    assert everything_under(open_to_all) == []


def test_a_parent_that_we_may_not_enter_is_forbidden(
    tmp_path: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody(), pytest.raises(Forbidden):
        create_run_dir(tmp_path / "run")
    with as_nobody(), pytest.raises(Forbidden):
        open_run_dir(tmp_path)


def test_a_full_disk_is_found_before_the_run_and_leaves_nothing(
    tmpfs: Callable[[str], Path],
) -> None:
    disk = tmpfs("size=64k")
    with pytest.raises(StorageFailed, match=r"64 KiB free") as refused:
        create_run_dir(disk / "a" / "run")
    assert refused.value.do
    assert everything_under(disk) == []
    (disk / "mine").mkdir()
    with pytest.raises(StorageFailed):
        create_run_dir(disk / "mine")
    assert everything_under(disk) == ["mine"]


def test_a_disk_without_inodes_is_found_and_told(tmpfs: Callable[[str], Path]) -> None:
    disk = tmpfs("size=64m,nr_inodes=2")
    with pytest.raises(StorageFailed, match="no inode"):
        create_run_dir(disk / "run")
    assert everything_under(disk) == []


def test_a_read_only_disk_is_found(tmpfs: Callable[[str], Path]) -> None:
    disk = tmpfs("size=4m,ro")
    with pytest.raises(StorageFailed, match="Read-only"):
        create_run_dir(disk / "run")


def test_opening_tells_missing_from_wrong(tmp_path: Path, run_dir: RunDir) -> None:
    with pytest.raises(MissingInput):
        open_run_dir(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no run\.json"):
        open_run_dir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput):
        open_run_dir(tmp_path / "file")
    (tmp_path / "newest").symlink_to(run_dir.path)
    open_run_dir(tmp_path / "newest").close()


def test_a_log_is_appended_to_by_its_task_and_read_by_others(run_dir: RunDir) -> None:
    fd = run_dir.create_log(WORKER, 1, "err")
    os.write(fd, b"one\n")
    assert log_name(WORKER, 1, "err") == "logs/worker-0.1.err"
    reader = run_dir.open_log(WORKER, 1, "err")
    assert os.read(reader, 100) == b"one\n"
    os.write(fd, b"two\n")
    assert os.read(reader, 100) == b"two\n"
    assert os.get_blocking(fd)
    os.close(fd)
    os.close(reader)


def test_a_log_is_never_written_twice(run_dir: RunDir) -> None:
    os.close(run_dir.create_log(WORKER, 1, "out"))
    with pytest.raises(NotOurs, match=r"worker-0\.1\.out"):
        run_dir.create_log(WORKER, 1, "out")


def test_a_log_that_is_not_there_is_missing(run_dir: RunDir) -> None:
    with pytest.raises(MissingInput, match=r"worker-0\.2\.out"):
        run_dir.open_log(WORKER, 2, "out")


@pytest.mark.parametrize("task", [TaskId("../up", 0), TaskId("a/b", 0), TaskId("worker", -1)])
def test_no_task_name_leads_out_of_the_directory(run_dir: RunDir, task: TaskId) -> None:
    with pytest.raises(ValueError, match="no log"):
        run_dir.create_log(task, 1, "out")


def test_lists_the_logs_and_ignores_other_names(run_dir: RunDir) -> None:
    logs = [(TaskId("my-role", 12), 2, "out"), (WORKER, 1, "err"), (WORKER, 1, "out")]
    for log in reversed(logs):
        os.close(run_dir.create_log(*log))
    for name in ("README", "worker-00.1.err", "worker-0.1.log", "worker.1.err", "w-0.1.2.err"):
        (run_dir.path / "logs" / name).touch()
    (run_dir.path / "logs" / "ps-0.1.err").symlink_to("worker-0.1.err")
    assert run_dir.logs() == logs


def test_a_run_without_logs_lists_none(run_dir: RunDir) -> None:
    (run_dir.path / "logs").rmdir()
    assert run_dir.logs() == []


def test_json_is_replaced_as_a_whole(run_dir: RunDir) -> None:
    run_dir.write_json("report.json", {"verdict": "healthy"})
    before = (run_dir.path / "report.json").open()
    run_dir.write_json("report.json", {"verdict": "sick", "päth": "\udcff"})
    assert json.load(before) == {"verdict": "healthy"}
    before.close()
    assert run_dir.read_json("report.json") == {"verdict": "sick", "päth": "\udcff"}
    assert everything_under(run_dir.path) == ["logs", "report.json", "run.json"]


def test_json_that_is_missing_or_broken_is_told(run_dir: RunDir) -> None:
    with pytest.raises(MissingInput, match=r"report\.json"):
        run_dir.read_json("report.json")
    for content in (b"", b'{"half": ', b"\xff\xfe\xfd", b"[" * 100_000):
        (run_dir.path / "report.json").write_bytes(content)
        with pytest.raises(BadInput, match=r"report\.json"):
            run_dir.read_json("report.json")


def test_lines_are_added_at_the_end(run_dir: RunDir) -> None:
    run_dir.append_line("findings.jsonl", b"one")
    run_dir.append_line("findings.jsonl", b"two")
    assert (run_dir.path / "findings.jsonl").read_bytes() == b"one\ntwo\n"
    with pytest.raises(ValueError, match="one line"):
        run_dir.append_line("findings.jsonl", b"two\nthree")


@pytest.mark.parametrize("kind", ["symlink", "dangling", "hardlink", "fifo", "folder"])
@pytest.mark.parametrize("name", ["report.json", "findings.jsonl", "logs/worker-0.1.out"])
def test_nothing_planted_at_our_names_is_written_through(
    run_dir: RunDir, tmp_path: Path, kind: str, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    plant(run_dir.path / name, kind, victim)
    writes: dict[str, Callable[[], object]] = {
        "report.json": lambda: run_dir.write_json(name, {}),
        "findings.jsonl": lambda: run_dir.append_line(name, b"line"),
        "logs/worker-0.1.out": lambda: run_dir.create_log(WORKER, 1, "out"),
    }
    with pytest.raises(NotOurs, match=Path(name).name):
        writes[name]()
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("kind", ["symlink", "dangling", "fifo", "folder"])
def test_nothing_planted_at_our_names_is_read(run_dir: RunDir, tmp_path: Path, kind: str) -> None:
    (tmp_path / "victim").write_text("{}")
    plant(run_dir.path / "report.json", kind, tmp_path / "victim")
    plant(run_dir.path / "logs" / "worker-0.1.out", kind, tmp_path / "victim")
    with pytest.raises(BadInput):
        run_dir.read_json("report.json")
    with pytest.raises(BadInput):
        run_dir.open_log(WORKER, 1, "out")


def test_a_planted_logs_folder_is_not_entered(run_dir: RunDir, tmp_path: Path) -> None:
    (run_dir.path / "logs").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (run_dir.path / "logs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotOurs):
        run_dir.create_log(WORKER, 1, "out")
    with pytest.raises(NotOurs):
        run_dir.make_folder("logs")
    assert everything_under(tmp_path / "elsewhere") == []


def test_a_disk_that_fills_up_leaves_whole_files(tmpfs: Callable[[str], Path]) -> None:
    with create_run_dir(tmpfs("size=2m") / "run") as run_dir:
        run_dir.write_json("report.json", "old")
        with pytest.raises(StorageFailed, match=r"report\.json"):
            run_dir.write_json("report.json", "new" * 1_000_000)
        assert run_dir.read_json("report.json") == "old"
        run_dir.append_line("findings.jsonl", b"one")
        with pytest.raises(StorageFailed, match=r"findings\.jsonl"):
            run_dir.append_line("findings.jsonl", b"x" * 3_000_000)
        run_dir.append_line("findings.jsonl", b"two")
        assert (run_dir.path / "findings.jsonl").read_bytes() == b"one\ntwo\n"
        assert everything_under(run_dir.path) == ["findings.jsonl", "logs", "report.json"]


def test_a_file_of_another_user_is_forbidden(
    open_to_all: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with create_run_dir(open_to_all / "run") as run_dir:
        run_dir.write_json("run.json", {})
        (open_to_all / "run").chmod(0o755)
        with as_nobody(), pytest.raises(Forbidden, match=r"run\.json") as refused:
            run_dir.read_json("run.json")
        assert isinstance(refused.value, HoldfastError)
        with as_nobody(), pytest.raises(Forbidden, match=r"report\.json"):
            run_dir.write_json("report.json", {})


def plant(place: Path, kind: str, victim: Path) -> None:
    match kind:
        case "symlink":
            place.symlink_to(victim)
        case "dangling":
            place.symlink_to(victim.with_name("nowhere"))
        case "hardlink":
            place.hardlink_to(victim)
        case "fifo":
            os.mkfifo(place)
        case _:
            place.mkdir()
