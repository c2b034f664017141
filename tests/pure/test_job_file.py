"""A job file says what the command line can say, and every mistake in it is named."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.errors import BadJob
from holdfast.model.job import Job
from holdfast.model.job_file import JobFile, make_job, parse_bytes, parse_job_file

WHOLE = """
command = ["python", "train.py"]
workers = 2
ps = 1
chief = true
evaluator = false
run_dir = "runs/first"
grace_s = 30
keep_bytes = "100M"
[env]
EPOCHS = 3
RATE = 0.5
VERBOSE = true
NAME = "mnist"
"""


def test_everything_a_job_file_can_say() -> None:
    assert parse_job_file(WHOLE, "job.toml") == JobFile(
        command=("python", "train.py"),
        workers=2,
        ps=1,
        chief=True,
        evaluator=False,
        run_dir="runs/first",
        grace_s=30.0,
        keep_bytes="100M",
        env={"EPOCHS": "3", "RATE": "0.5", "VERBOSE": "True", "NAME": "mnist"},
    )


def test_an_empty_file_says_nothing() -> None:
    assert parse_job_file("", "job.toml") == JobFile()


@pytest.mark.parametrize(
    ("text", "complaint", "advice"),
    [
        ("workers = ", "is not TOML", "docs/"),
        ("a = " + "[" * 5_000, "is not TOML", "docs/"),
        ("worker = 2", "unknown key 'worker'", "did you mean `workers`?"),
        ("zzz = 2", "unknown key 'zzz'", "known are: command, workers"),
        ('command = "python train.py"', "no shell would split it", '["python", "train.py"]'),
        ('workers = "two"', "workers", "docs/"),
        ("workers = 1.5", "workers", "docs/"),
        ("chief = 1", "chief", "docs/"),
        ("command = [1, 2]", "command", "docs/"),
        ("env = 3", "env", "docs/"),
        ("[env]\nA = [1]", "env", "docs/"),
    ],
    ids=lambda text: text[:30],
)
def test_a_mistake_is_named(text: str, complaint: str, advice: str) -> None:
    with pytest.raises(BadJob) as caught:
        parse_job_file(text, "job.toml")
    assert complaint in caught.value.message
    assert "job.toml" in caught.value.message
    assert advice in caught.value.do


@given(st.text(max_size=80))
def test_any_text_is_a_job_file_or_a_mistake(text: str) -> None:
    with contextlib.suppress(BadJob):
        assert isinstance(parse_job_file(text, "job.toml"), JobFile)


def test_the_command_line_wins_over_the_file() -> None:
    said = JobFile(command=("python", "a.py"), workers=2, ps=3, env={"A": "file", "B": "file"})
    asked = JobFile(command=("python", "b.py"), workers=4, env={"A": "line"})
    job = make_job(asked, said)
    assert (job.command, job.workers, job.ps) == (("python", "b.py"), 4, 3)
    assert job.env == {"A": "line", "B": "file"}


def test_what_nobody_says_is_the_default() -> None:
    assert make_job(JobFile(command=("a",)), JobFile()) == Job(command=("a",))


@pytest.mark.parametrize(("asked", "workers"), [(None, 0), (2, 2)])
def test_a_chief_alone_has_no_workers_beside_it(asked: int | None, workers: int) -> None:
    assert (
        make_job(JobFile(command=("a",), chief=True, workers=asked), JobFile()).workers == workers
    )
    assert make_job(JobFile(command=("a",), chief=True), JobFile(workers=asked)).workers == workers


def test_without_a_command_there_is_no_job() -> None:
    with pytest.raises(BadJob, match="no command"):
        make_job(JobFile(), JobFile())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, None),
        (7, 7),
        ("500000", 500_000),
        ("64K", 65_536),
        ("64k", 65_536),
        (" 1M ", 1 << 20),
        ("1MiB", 1 << 20),
        ("1MB", 1 << 20),
        ("2G", 2 << 30),
        ("1T", 1 << 40),
        ("12B", 12),
    ],
)
def test_sizes(text: str | int | None, size: int | None) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1", "1.5G", "1X", "1 2", "٣", "1" * 16, "0x10", "iB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadJob, match="not a size"):
        parse_bytes(text)


def test_a_size_in_a_job_file_becomes_bytes() -> None:
    assert make_job(JobFile(command=("a",)), JobFile(keep_bytes="1M")).keep_bytes == 1 << 20
