"""What a person sees while a job runs, on a real terminal or through a pipe."""

import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(60)
Start = Any
Terminal = Any

# Says ordinary things, repeats itself, draws a progress bar; ends when it may.
TALK = """
import os, sys, time
task = os.environ["HOLDFAST_TASK"]
print("hello from", task)
for _ in range(25):
    print("the same again")
for step in range(4):
    sys.stdout.write(f"\\rstep {step}/3")
    sys.stdout.flush()
print()
print("to stderr", file=sys.stderr)
while not os.path.exists("go"):
    time.sleep(0.02)
print("goodbye")
"""
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def shown_lines(text: str) -> list[str]:
    """What stands on the terminal: the status line is rewritten, the rest stays."""
    rows = text.replace("\r\n", "\n").split("\n")
    return [ESCAPES.sub("", row.rpartition("\r\x1b[K")[2]) for row in rows]


def test_a_terminal_shows_prefixes_folds_progress_and_the_state_of_each_task(
    start: Start, terminal: Terminal
) -> None:
    program = start.script("talk.py", TALK)
    job = start("--chief", "--workers", "1", "--", sys.executable, program, **terminal.settings)
    terminal.until_shows("chief:0 ● ")  # with its step, where that was seen by then
    terminal.until_shows(" worker:0 ● ")
    terminal.until_shows("Ctrl-C to stop")
    terminal.until_shows("step 3/3")
    (start.place / "go").touch()
    assert terminal.wait(job) == 0
    rows = shown_lines(terminal.text)
    for task in ("chief:0 ", "worker:0"):
        assert f"{task} │ hello from {task.strip()}" in rows
        assert f"{task} │ the same again \u00d725" in rows
        assert f"{task} │ step 3/3" in rows
        assert f"{task} │ to stderr" in rows
        assert f"{task} │ goodbye" in rows
    assert rows.count("worker:0 │ the same again") == 1
    assert sum("step" in row for row in rows if row.startswith("worker:0")) <= 2
    assert "\x1b[36mchief:0  │\x1b[0m" in terminal.text
    assert rows[-2].startswith("logs, journal and report: ")
    assert "healthy" in terminal.text


def test_ctrl_c_on_the_keyboard_ends_the_job(start: Start, terminal: Terminal) -> None:
    job = start("--", "sh", "-c", "echo ready; exec sleep 600", **terminal.settings)
    terminal.until_shows("ready")
    terminal.type(b"\x03")
    assert terminal.wait(job) == 130
    assert "Ctrl-C: the tasks are asked to end (again to end at once)" in terminal.text
    assert "stopped by Ctrl-C: exit code 130" in terminal.text
    job.nothing_is_left()


def test_the_status_line_fits_a_terminal_that_changes_its_size(
    start: Start, terminal: Terminal
) -> None:
    terminal.resize(40)
    job = start("--workers", "6", "--", "sleep", "600", **terminal.settings)
    terminal.until_shows("worker:0 ● worker:1 ● worker:2… · 00:0")
    narrow = terminal.text.split("\r\x1b[K")[1:]
    assert all(len(row) < 40 for row in narrow)
    assert "worker:5" not in terminal.text
    terminal.resize(100)
    terminal.until_shows("worker:5 ● · 00:0")
    job.front.send_signal(signal.SIGTERM)
    assert terminal.wait(job) == 143


@pytest.mark.parametrize(
    ("options", "seen", "unseen"),
    [
        (("--tasks", "worker:0,ps"), {"ps:0", "ps:1", "worker:0"}, {"worker:1", "chief:0"}),
        (("--quiet",), set(), {"ps:0", "ps:1", "worker:0", "worker:1", "chief:0"}),
    ],
    ids=["tasks", "quiet"],
)
def test_only_what_was_asked_for_is_shown_and_all_is_kept(
    start: Start, options: tuple[str, ...], seen: set[str], unseen: set[str]
) -> None:
    roles = ("--ps", "2", "--workers", "2", "--chief")
    job = start(*options, *roles, "--", "sh", "-c", "echo hello from $HOLDFAST_TASK")
    assert job.wait() == 0
    said = re.findall(r"^(\S+) +│ hello from (\S+)$", job.out, re.MULTILINE)
    assert {task for task, _ in said} == {task for _, task in said} == seen
    for task in seen | unseen:
        assert job.log(task) == f"hello from {task}\n".encode()
    assert "healthy" in job.out


def test_a_pipe_gets_lines_without_colour_or_status(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    job = start("--workers", "2", "--", "sh", "-c", "printf 'x\\ry\\n'; exit 9")
    assert job.wait() == 1
    assert "\x1b" not in job.out + job.err
    assert "\r" not in job.out
    assert "Ctrl-C" not in job.out
    assert job.out.count("│ y\n") == 2


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_the_environment_decides_about_colour(
    start: Start, terminal: Terminal, variable: str, *, coloured: bool
) -> None:
    settings = terminal.settings if variable == "NO_COLOR" else {}
    job = start("--", "echo", "hello", env={variable: "1"}, **settings)
    code = terminal.wait(job) if settings else job.wait()
    assert code == 0
    shown = terminal.text if settings else job.out
    assert "hello" in shown
    assert ("\x1b[36m" in shown) is coloured


def test_a_terminal_that_knows_only_ascii_still_gets_its_report(
    start: Start, holdfast: Callable[..., Any]
) -> None:
    job = start("--", "sh", "-c", "exit 9", env={"PYTHONIOENCODING": "ascii"})
    assert job.wait() == 1
    assert "cannot tell" in job.out
    assert "Traceback" not in job.err
    explained = holdfast("explain", env={"PYTHONIOENCODING": "ascii"})
    assert explained.returncode == 0


NOISY = """
import sys
for line in (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "I0000 00:00:1794998133.588082    5352 port.cc:153] oneDNN custom operations are on.",
    "I0000 00:00:1794998133.588082    5352 grpc_server_lib.cc:467] Started server",
    "E0000 00:00:1794998133.588082    5352 grpc_server_lib.cc:467] No server",
    "INFO:root:reading",
    "WARNING:root:slow",
    "words of its own",
):
    print(line, file=sys.stderr)
"""
JOB_FILE = """
command = [{python!r}, {program!r}]
quiet_tensorflow = true
show = "error"
"""


def test_what_is_shown_is_chosen_and_the_log_has_all_of_it(start: Start) -> None:
    program = start.script("noisy.py", NOISY)
    file = start.script("job.toml", JOB_FILE.format(python=sys.executable, program=program))
    job = start(file, "--show", "warning", env={"COLUMNS": "160"})
    assert job.wait() == 0
    shown = [row.partition("│ ")[2] for row in job.out.splitlines() if "│ " in row]
    assert [row.rpartition("] ")[2] for row in shown] == [
        "No server",
        "WARNING:root:slow",
        "words of its own",
    ]
    (told,) = [row for row in job.out.splitlines() if "folded" in row]
    assert told.startswith(
        "… 2 lines of known noise and 1 of TensorFlow and 1 below warning from worker:0 folded"
    )
    assert len(job.log("worker:0", "err").splitlines()) == 7
    assert (job.about["job"]["show"], job.about["job"]["quiet_tensorflow"]) == ("warning", True)
