"""Secrets stay where they were given: in the tasks, and in what the tasks themselves write."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(60)
Start = Any
BY_ENV, BY_FLAG, BY_EQUALS, BY_URL = "s3cret-env", "s3cret-flag", "s3cret-equals", "s3cret-url"
SECRETS = (BY_ENV, BY_FLAG, BY_EQUALS, BY_URL)


def files_with(folder: Path, words: str) -> set[str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in found if words.encode() in path.read_bytes()}


def test_what_was_given_is_nowhere_but_in_the_tasks_own_logs(start: Start) -> None:
    go = start.place / "go"
    job = start(
        *("--env", f"WANDB_KEY={BY_ENV}", "--workers", "1", "--"),
        *("sh", "-c", f'until [ -e {go} ]; do sleep 0.02; done; echo $WANDB_KEY "$@"', "sh"),
        *("--token", BY_FLAG, f"--api-key={BY_EQUALS}", f"https://me:{BY_URL}@example.org/x"),
    )
    job.pid_of("worker:0")
    modules = ("holdfast.supervisor", "holdfast.agent.scan", "holdfast.agent.hold")
    helpers = [job.helper(module) for module in modules]
    for place in (Path(f"/proc/{pid}") for pid in helpers):
        told = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        assert [secret for secret in SECRETS if secret.encode() in told] == []
    assert [files_with(job.run_dir, secret) for secret in SECRETS] == [set()] * len(SECRETS)
    go.touch()
    assert job.wait() == 0
    for secret in SECRETS:
        assert secret.encode() in job.log("worker:0")
        assert files_with(job.run_dir / "logs", secret) == {"worker-0.1.out"}
    assert "«redacted:" in job.about["plan"]
    for secret in SECRETS:
        assert files_with(job.run_dir, secret) == {"worker-0.1.out"}


def test_a_report_does_not_repeat_what_a_task_cried_out(start: Start) -> None:
    """A traceback that names a secret by its name is told without it."""
    program = f"raise ValueError('login failed: password={BY_FLAG}')"
    job = start("--", "python3", "-c", program)
    assert job.wait() == 1
    assert BY_FLAG.encode() in job.log("worker:0", "err")
    assert files_with(job.run_dir, BY_FLAG) == {"worker-0.1.err"}
    report = job.out[job.out.rindex("error[user-exception]") :]
    assert BY_FLAG not in report


def test_a_run_directory_is_for_its_owner_only(start: Start) -> None:
    job = start("--", "true", umask=0)
    assert job.wait() == 0
    for path in (job.run_dir, *job.run_dir.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
