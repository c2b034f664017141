"""The job that a command line asks for, over what a job file says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.model.errors import BadJob, MissingInput, UsageError
from holdfast.model.job import Job
from holdfast.model.job_file import JobFile, make_job, parse_job_file

JOB_FILE_BYTES_MAX = 1 << 20


def asked_job(asked: dict[str, Any]) -> Job:
    """What the command line asks for, over what the job file says."""
    words: tuple[str, ...] = asked["command"]
    said = JobFile()
    if (name := asked["job_file"]) is not None:
        said = parse_job_file(_read(Path(name)), name)
    env: dict[str, str] = {}
    for pair in asked["env"]:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--env {name} has no value", do=f"write --env {name}=VALUE")
        env[name] = value
    settings = (
        *("workers", "ps", "chief", "evaluator", "run_dir", "grace_s", "keep_bytes"),
        *(
            "start_deadline_s",
            "hang_after_s",
            "on_failure",
            "max_relaunches",
            "checkpoint_dir",
            "dry_run",
        ),
        *("preempt_signal", "launch_for", "guard_hdf5", "profile_stragglers_s"),
        *("show", "quiet_tensorflow"),
    )
    told = {name: asked[name] for name in settings}
    _refuse_unless_text(
        words, *env.items(), (asked["run_dir"] or "", asked["checkpoint_dir"] or "")
    )
    try:
        return make_job(JobFile(command=words or None, env=env, **told), said)
    except BadJob as error:
        if said == JobFile():  # nothing but the command line to blame
            raise UsageError(error.message, do=error.do) from error
        raise


def _refuse_unless_text(*groups: Sequence[str]) -> None:
    for word in (word for group in groups for word in group):
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = word.encode("utf-8", "backslashreplace").decode()
            raise UsageError(f"`{shown}` is not UTF-8", do="write it in UTF-8") from error


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(JOB_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise MissingInput(
            f"the job file {path} cannot be read: {error.strerror}",
            do="check the path, or put the command behind `--` if it is not a job file",
        ) from error
    if len(raw) > JOB_FILE_BYTES_MAX:
        raise BadJob(f"the job file {path} is larger than {JOB_FILE_BYTES_MAX} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadJob(f"the job file {path} is not text: {error.reason}") from error
