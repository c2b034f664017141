"""Every byte a task writes is kept as it was, and none of them can touch the terminal."""

import hashlib
import re
import runpy
import sys
from typing import Any

import pytest

from holdfast.model.facts import LastWords, OutputEnded

pytestmark = pytest.mark.timeout(60)
Start = Any
Terminal = Any

# The same bytes from the same seed: what was written can be worked out again.
WILD = r"""
import random

ATTACKS = [
    b"\x1b[2J\x1b[5;31mcleared\x1b[0m", b"\x1b]0;pwned\x07title", b"\x1b]52;c;cHduZWQ=\x1b\\clip",
    b"\x9b31mred", b"\xc2\x9b31mC1", b"\x1bP1$q\x1b\\dcs", b"\x1b[6n\x1b[c", b"\x07\x08\x0b\x0c",
    b"\x1b[?1049h\x1b[?25l", "\u202egnirts\u2066x".encode(), "zero\u200bwidth\ufeff".encode(),
    b"[bold red]markup[/bold red] [link=http://x]y[/link]", b"caf\xe9 \xff\xfe \xed\xa0\x80",
    b"nul\0nul", b"lone\rreturn", b"unfinished \x1b[", b"unfinished \x1b]0;",
]

def wild(seed, line_bytes):
    source = random.Random(seed)
    return b"".join((
        b"begin\n",
        b"".join(attack + b"\n" for attack in ATTACKS),
        source.randbytes(300_000),
        b"\n" + b"L" * line_bytes,
        b"\r\rprogress\r\n",
        source.randbytes(50_000),
        b"\nthe end of it, without a line end",
    ))
"""
WRITE = (
    WILD
    + r"""
import os, sys
for fd in (1, 2):
    left = memoryview(wild(f"{os.environ['HOLDFAST_TASK']} {fd}", int(sys.argv[1])))
    while left:
        left = left[os.write(fd, left[:65_521]):]
"""
)
# What we draw ourselves: a prefix's colour, its end, and a new status line.
OURS = re.compile(r"\x1b\[(?:0|1|3[1-6]|9[1-6]|1;3[1-6])m|\r\x1b\[K|\r\n")


def test_every_byte_of_both_streams_is_kept(start: Start) -> None:
    program = start.script("write.py", WRITE)
    start.script("wild.py", WILD)
    wild = runpy.run_path(str(start.place / "wild.py"))["wild"]
    job = start("--workers", "2", "--", sys.executable, program, "10000000")
    assert job.wait() == 0
    for task in ("worker:0", "worker:1"):
        for fd, stream in ((1, "out"), (2, "err")):
            expected = wild(f"{task} {fd}", 10_000_000)
            assert len(job.log(task, stream)) == len(expected)
            assert sha(job.log(task, stream)) == sha(expected)
            ended = next(
                fact
                for fact in job.facts(OutputEnded)
                if (str(fact.task), fact.stream) == (task, stream)
            )
            assert ended.bytes_total == len(expected)
    assert job.report["verdict"] == "healthy"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", job.out)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_nothing_of_it_reaches_the_terminal_as_a_control(start: Start, terminal: Terminal) -> None:
    program = start.script("write.py", WRITE)
    job = start("--", sys.executable, program, "100000", **terminal.settings)
    assert terminal.wait(job) == 0
    assert "worker:0 │\x1b[0m begin\r\n" in terminal.text
    assert "[bold red]markup[/bold red] [link=http://x]y[/link]" in terminal.text
    assert "\\u202egnirts" in terminal.text
    rest = OURS.sub("", terminal.text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", rest.replace("\n", ""))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]", rest)
    assert "the end of it, without a line end" in rest


def test_what_was_written_before_a_kill_is_kept_and_told(start: Start) -> None:
    words = "".join(f"step {number}\\n" for number in range(5000))
    job = start("--", "sh", "-c", f"printf '{words}half a line'; printf 'and why' >&2; kill -9 $$")
    assert job.wait() == 137
    expected = "".join(f"step {number}\n" for number in range(5000)) + "half a line"
    assert job.log("worker:0").decode() == expected
    assert job.log("worker:0", "err") == b"and why"
    last = {fact.stream: fact.lines for fact in job.facts(LastWords)}
    assert last["out"][-2:] == ("step 4999", "half a line")
    assert last["err"] == ("and why",)


def test_a_task_may_truncate_or_close_its_own_output(start: Start) -> None:
    program = (
        "import os; os.write(1, b'first\\n' * 1000); os.ftruncate(1, 0);"
        "os.write(1, b'second\\n'); os.close(1); os.close(2)"
    )
    job = start("--", sys.executable, "-c", program)
    assert job.wait() == 0
    assert job.log("worker:0") == b"second\n"
