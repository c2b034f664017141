"""Wrong input: one clear sentence, the right exit code, and nothing overwritten or left behind."""

import ctypes
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(60)
Holdfast = Callable[..., Any]
USAGE, BAD_INPUT, MISSING, NOT_OURS, STORAGE, FORBIDDEN, BAD_JOB = 2, 65, 66, 73, 74, 77, 78


def refused(tried: Any, code: int, sentence: str) -> None:
    """Every refusal looks the same: what is wrong, and what to do about it."""
    assert tried.returncode == code, tried.stderr
    assert "Traceback" not in tried.stderr
    assert tried.stdout == ""
    first, *rest = tried.stderr.splitlines()
    assert first.startswith("error: ")
    assert sentence in first
    assert [line for line in rest if not line.startswith("  try: ")] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "there is no command to run"),
        ("--", "there is no command to run"),
        ("--workers 2", "there is no command to run"),
        ("--workers 0 -- true", "0 workers and no chief"),
        ("--workers -1 -- true", "a number of tasks is negative"),
        ("--ps -3 -- true", "a number of tasks is negative"),
        ("--workers 2000 -- true", "2000 tasks on one machine are more than the 1000"),
        ("--env NAME -- true", "--env NAME has no value"),
        ("--env =x -- true", "cannot be the name of an environment variable"),
        ("--env TF_CONFIG={} -- true", "TF_CONFIG is set by Holdfast"),
        ("--grace-s -1 -- true", "a grace of -1 s is not between 0 and"),
        ("--grace-s nan -- true", "a grace of nan s is not between 0 and"),
        ("--tasks worker:7 -- true", "--tasks: this job has no 'worker:7'"),
        ("--tasks wroker -- true", "--tasks: this job has no 'wroker'"),
        ("job.toml python train.py", "`python train.py` follows the job file job.toml"),
        ("job.toml --quiet other.toml", "`other.toml` follows the job file job.toml"),
        ("job.toml --wrokers 2", "holdfast run has no option --wrokers"),
        ("--quiet job.toml --epochs 3", "holdfast run has no option --epochs"),
        ("job.toml -- --epochs 3", "`--epochs` follows `--`, and cannot be a command"),
        ("--resume gone job.toml", "its settings, and job file was given, too"),
        ("-- echo \udcff", "is not UTF-8"),
        ("--env K=\udcff -- true", "is not UTF-8"),
    ],
)
def test_a_command_line_that_cannot_be(
    holdfast: Holdfast, tmp_path: Path, arguments: str, sentence: str
) -> None:
    refused(holdfast("run", *arguments.split()), USAGE, sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("run --workers many -- true", "'many' is not a valid integer"),
        ("run --no-such-option -- true", "No such option '--no-such-option'"),
        ("rum --workers 1", "there is no command `rum`. Did you mean `holdfast run`?"),
        ("frobnicate", "there is no command `frobnicate`. See `holdfast --help`."),
        ("diagnose", "name at least one log"),
        ("stop", "Missing argument 'RUN_DIR'"),
        ("diagnose --format yaml .", "'yaml' is not one of"),
    ],
)
def test_options_and_commands_that_do_not_exist(
    holdfast: Holdfast, tmp_path: Path, arguments: str, sentence: str
) -> None:
    tried = holdfast(*arguments.split())
    assert tried.returncode == USAGE
    assert sentence in tried.stderr
    assert "Traceback" not in tried.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "code", "sentence"),
    [
        (b"workers = 2\n", BAD_JOB, "there is no command to run"),
        (b"workers: 2\n", BAD_JOB, "job.toml is not TOML"),
        (b"\xff\xfe", BAD_JOB, "is not text"),
        (b"#" * ((1 << 20) + 1), BAD_JOB, "is larger than 1048576 bytes"),
        (b'command = ["true"]\nwrokers = 2\n', BAD_JOB, "has an unknown key 'wrokers'"),
        (b'command = ["true"]\nworkers = "2"\n', BAD_JOB, "Expected `int | null`, got `str`"),
        (b'command = ["true"]\nworkers = 0\n', BAD_JOB, "0 workers and no chief"),
        (b'command = ["true"]\nworkers = 2000\n', BAD_JOB, "more than the 1000"),
        (b'command = "python train.py"\n', BAD_JOB, "`command` is a string"),
        (b'command = ["true"]\n[env]\nTF_CONFIG = "{}"\n', BAD_JOB, "TF_CONFIG is set by Holdfast"),
        (None, MISSING, "cannot be read: No such file or directory"),
    ],
)
def test_a_job_file_that_cannot_be(
    holdfast: Holdfast, tmp_path: Path, content: bytes | None, code: int, sentence: str
) -> None:
    file = tmp_path / "job.toml"
    if content is not None:
        file.write_bytes(content)
    refused(holdfast("run", str(file)), code, sentence)
    assert list(tmp_path.iterdir()) == ([] if content is None else [file])


def test_a_wrong_key_is_told_with_the_nearest_right_one(holdfast: Holdfast, tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text('command = ["true"]\nwrokers = 2\n')
    assert "did you mean `workers`?" in holdfast("run", str(file)).stderr
    file.write_text('command = ["true"]\nxyzzy = 2\n')
    assert "known are: command, workers, ps" in holdfast("run", str(file)).stderr


def test_a_job_file_that_is_no_file_or_may_not_be_read(
    holdfast: Holdfast, tmp_path: Path, powerless: Callable[[], None]
) -> None:
    folder = tmp_path / "job.toml"
    folder.mkdir()
    refused(holdfast("run", str(folder)), MISSING, "Is a directory")
    private = tmp_path / "private.toml"
    private.write_text('command = ["true"]\n')
    private.chmod(0)
    tried = holdfast("run", str(private), preexec_fn=powerless)
    refused(tried, MISSING, "cannot be read: Permission denied")


@pytest.fixture
def powerless() -> Callable[[], None]:
    """For a child to become before it executes anything: root, bound by file modes as all are."""
    drop, dac_override, dac_read_search = 24, 1, 2  # PR_CAPBSET_DROP, from <linux/capability.h>
    libc = ctypes.CDLL(None)

    def give_up() -> None:
        for capability in (dac_override, dac_read_search):
            libc.prctl(drop, capability, 0, 0, 0)

    return give_up


def test_a_run_directory_that_is_something_else(holdfast: Holdfast, tmp_path: Path) -> None:
    file, link, full = tmp_path / "file", tmp_path / "link", tmp_path / "full"
    file.write_text("mine")
    (tmp_path / "target").mkdir()
    link.symlink_to(tmp_path / "target")
    full.mkdir()
    (full / "thesis.txt").write_text("mine too")
    for place, sentence in (
        (file, "exists and is not a directory"),
        (link, "is a symbolic link"),
        (full, "is not empty: it has files that are not ours"),
        (file / "below", "one of its parents is a file"),
    ):
        tried = holdfast("run", "--run-dir", str(place), "--", "touch", str(tmp_path / "started"))
        refused(tried, NOT_OURS, sentence)
    assert file.read_text() == "mine"
    assert [path.name for path in full.iterdir()] == ["thesis.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "link", "target"]
    assert list((tmp_path / "target").iterdir()) == []


def test_a_run_directory_that_was_used_before_is_not_used_again(
    holdfast: Holdfast, start: Any
) -> None:
    job = start("--", "echo", "first")
    assert job.wait() == 0
    before = {path: path.read_bytes() for path in job.run_dir.rglob("*") if path.is_file()}
    refused(holdfast("run", "--run-dir", str(job.run_dir), "--", "echo"), NOT_OURS, "holds a run")
    assert {p: p.read_bytes() for p in job.run_dir.rglob("*") if p.is_file()} == before


def test_a_run_directory_that_may_not_be_written(
    holdfast: Holdfast, tmp_path: Path, powerless: Callable[[], None]
) -> None:
    place = tmp_path / "sealed"
    place.mkdir(mode=0o555)
    tried = holdfast("run", "--run-dir", str(place / "run"), "--", "true", preexec_fn=powerless)
    refused(tried, FORBIDDEN, "Permission denied")
    assert list(place.iterdir()) == []


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_run_directory_on_a_full_disk(holdfast: Holdfast, full_disk: Path) -> None:
    tried = holdfast("run", "--run-dir", str(full_disk / "run"), "--", "true")
    refused(tried, STORAGE, "No space left on device")
    assert list(full_disk.iterdir()) == []


def test_what_is_no_run_cannot_be_diagnosed_or_stopped(holdfast: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    refused(holdfast("stop", "nowhere"), MISSING, "there is no")
    refused(holdfast("stop", "empty"), BAD_INPUT, "is not a run directory")
    refused(holdfast("stop", "file"), BAD_INPUT, "is not a plain file or folder of a run")
    refused(holdfast("diagnose", "nowhere"), MISSING, "there is no such file")
    refused(holdfast("diagnose", "empty"), MISSING, "there is nothing to read")
    (tmp_path / "empty" / "run.json").write_text("{}")
    refused(holdfast("diagnose", "empty"), MISSING, "there is no journal")


CLUSTER = {"worker": ["gpu-1:2222", "gpu-2:2222"], "ps": ["cpu-1:2222"]}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}},
            "here we are worker:1 at gpu-2:2222 of a cluster of 3 tasks (worker:0, worker:1 and",
        ),
        ({"cluster": CLUSTER}, "here we are one task of a cluster of 3 tasks"),
        (
            {"cluster": CLUSTER, "task": {"type": "evaluator", "index": 0}},
            "here we are evaluator:0 of a cluster of 3 tasks",
        ),
    ],
)
def test_a_task_of_another_cluster_does_not_become_a_lonely_job(
    holdfast: Any, tmp_path: Path, config: dict[str, Any], told: str
) -> None:
    env = {**os.environ, "TF_CONFIG": json.dumps(config)}
    done = holdfast("run", "--workers", "1", "--", "true", env=env)
    assert done.returncode == 2
    words = " ".join(done.stderr.split())
    assert told in words
    assert "env -u TF_CONFIG holdfast run" in words
    assert "holdfast attach" in words
    assert not (tmp_path / "holdfast-runs").exists()


@pytest.mark.parametrize("config", ["", "{", '{"cluster": {"worker": ["gpu-1:2222"]}}'])
def test_a_tf_config_without_others_in_it_is_no_reason_to_stop(holdfast: Any, config: str) -> None:
    env = {**os.environ, "TF_CONFIG": config}
    assert holdfast("run", "--no-check", "--", "true", env=env).returncode == 0
