"""A job as a TOML file: the same settings as the command line, under the same names."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.model.errors import BadJob
from holdfast.model.job import Job

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DIGITS_MAX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """What the file says. None: it does not say."""

    command: tuple[str, ...] | None = None
    workers: int | None = None
    ps: int | None = None
    chief: bool | None = None
    evaluator: bool | None = None
    run_dir: str | None = None
    grace_s: float | None = None
    keep_bytes: str | int | None = None
    start_deadline_s: float | None = None
    hang_after_s: float | None = None
    on_failure: str | None = None
    max_relaunches: int | None = None
    checkpoint_dir: str | None = None
    dry_run: bool | None = None
    preempt_signal: str | None = None
    launch_for: str | None = None
    guard_hdf5: bool | None = None
    profile_stragglers_s: float | None = None
    show: str | None = None
    quiet_tensorflow: bool | None = None
    addresses: Mapping[str, tuple[str, ...]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def parse_job_file(text: str, name: str) -> JobFile:
    """Every wrong key or value is named, with the nearest right one."""
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadJob(f"{name} is not TOML: {error}", do="see docs/running.md") from error
    known = tuple(JobFile.__dataclass_fields__)
    for key in record:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are: {', '.join(known)}"
            raise BadJob(f"{name} has an unknown key {key!r}", do=hint)
    if isinstance(record.get("command"), str):
        raise BadJob(
            f"{name}: `command` is a string, and no shell would split it",
            do='write a list: command = ["python", "train.py"]',
        )
    try:
        return msgspec.convert(_as_text(record), JobFile)
    except msgspec.ValidationError as error:
        raise BadJob(f"{name}: {error}", do="see docs/running.md") from error


def _as_text(record: dict[str, Any]) -> dict[str, Any]:
    """Numbers and truths in [env] are meant as text: EPOCHS = 3."""
    env = record.get("env", {})
    if isinstance(env, dict):
        record["env"] = {
            name: str(value) if isinstance(value, int | float) else value
            for name, value in env.items()
        }
    return record


_SETTINGS = (
    *("workers", "ps", "chief", "evaluator", "run_dir", "grace_s", "keep_bytes"),
    *("start_deadline_s", "hang_after_s", "addresses"),
    *("on_failure", "max_relaunches", "checkpoint_dir", "dry_run"),
    *("preempt_signal", "launch_for", "guard_hdf5", "profile_stragglers_s"),
    *("show", "quiet_tensorflow"),
)


def make_job(asked: JobFile, said: JobFile) -> Job:
    """The command line (`asked`) wins over the file (`said`), and defaults over neither."""
    plain = Job(command=("-",))
    settings: dict[str, Any] = {}
    for name in _SETTINGS:
        values = (getattr(asked, name), getattr(said, name), getattr(plain, name))
        settings[name] = next((value for value in values if value is not None), None)
    settings["command"] = asked.command or said.command or ()
    settings["keep_bytes"] = parse_bytes(settings["keep_bytes"])
    if settings["chief"] and asked.workers is None and said.workers is None:
        settings["workers"] = 0
    return Job(**settings, env={**said.env, **asked.env})


def parse_bytes(text: str | int | None) -> int | None:
    """`100M` is 100 MiB."""
    if text is None or isinstance(text, int):
        return text
    number, unit = text.strip().upper().removesuffix("IB").removesuffix("B"), ""
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX):
        raise BadJob(f"{text!r} is not a size in bytes", do="write 500000, 64K, 100M or 2G")
    return int(number) * _UNITS[unit]
