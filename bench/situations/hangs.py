"""Situations of jobs that hang, run out of something, or fail and say so elsewhere (A1 to A5)."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.situations.in_cgroup import limited, no_cgroups
from bench.situations.judging import (
    SOON_S,
    START_S_MAX,
    TOLD_S_MAX,
    hanging,
    last_words_s,
    line_of,
    matching,
    said,
    steps_of,
    wrongly_accused,
)
from bench.situations.situation import Run, Situation, Told, program, words_of

TWO = ("--workers", "2")
LAST_STEP = 19
OVER_S_MAX = 420.0
MEMORY_BYTES = 1200 << 20
DISK = "96m"


def silent(folder: Path, *, name: str, line: str, words: Sequence[str]) -> Told:
    """Worker 1 does no more after a step, and worker 0 waits for it."""
    with Run(folder, TWO, program(name)) as run:
        return hanging(
            run,
            culprit="worker:1",
            words=(line_of(name, line), *words) if line else words,
            victims=("worker:0",),
            from_step=LAST_STEP,
        )


def runs_out(
    folder: Path,
    *,
    name: str,
    before: Sequence[str],
    after: Sequence[str],
    within: Sequence[str] = (),
) -> Told:
    """A warning while something becomes scarce for worker 1, and the culprit once it is gone."""

    def warning(one: Run) -> str:
        levels = ("warning",)
        for culprit in ("worker:1", None):
            found = matching(one.told(), culprit=culprit, words=before, severities=levels)
            if found:
                return words_of([found])
        return ""

    with Run(folder, TWO, (*within, *program(name))) as run:
        run.until(lambda one: bool(warning(one)), OVER_S_MAX)
        warned, warned_s = warning(run), time.time()
        code = run.wait(OVER_S_MAX)
        left_s = time.time() - warned_s
        root = run.report()["findings"][:1] if code is not None else []
        named = matching(root, culprit="worker:1", words=after, severities=("error",))
        innocent = wrongly_accused(run, but=("worker:1", None))
        right = bool(warned) and left_s > 1 and named is not None and bool(code) and not innocent
        early = f"{left_s:.0f} s before: {warned}" if warned else "NOT WARNED"
        end = words_of([named]) if named else f"instead {words_of(root)}"
        also = f" AND ACCUSES {innocent}" if innocent else ""
        return Told(f"{early}; THEN {end}; exit code {code}{also}", right)


def memory_runs_out(folder: Path) -> Told:
    with limited(folder, task="worker:1", limit_bytes=MEMORY_BYTES) as enter:
        return runs_out(
            folder,
            name="memory_grows",
            before=("worker:1 grows by", "is gone in"),
            after=("memory", "limit"),
            within=[enter],
        )


def disk_runs_out(folder: Path) -> Told:
    with _small_disk(folder / "checkpoints"):
        return runs_out(
            folder,
            name="disk_fills",
            before=(str(folder / "checkpoints"),),
            after=("the disk is full", "No space left on device"),
        )


def survives_op_error(folder: Path, *, name: str, options: Sequence[str]) -> Told:
    """An error that may pass is tried again, and is written down with its op and its place."""
    with Run(folder, (*TWO, *options), program(name)) as run:
        code = run.wait(OVER_S_MAX)
        written = {
            word: word in run.text or word in (run.run_dir / "report.json").read_text()
            for word in ("UnavailableError", "read_rows", "the storage server is busy")
        }
        lacks = [word for word, there in written.items() if not there]
        shown = words_of(run.told() or run.report()["findings"])
        says = f"exit code {code}; {shown}" + (f"; NOT WRITTEN DOWN: {lacks}" if lacks else "")
        return Told(says, right=code == 0 and not lacks)


def dies_of_op_error(folder: Path) -> Told:
    with Run(folder, TWO, program("op_error")) as run:
        code = run.wait(OVER_S_MAX)
        report = run.report()
        root = report["findings"][:1]
        words = ("UnavailableError", "the storage server is busy", "op_error.py")
        guilty = [root[0]["culprit"]] if root else []
        found = matching(root, culprit=guilty[0], words=words) if guilty else None
        only = len({one["culprit"] for one in report["findings"]}) == 1
        return Told(f"exit code {code}; {words_of(root)}", right=bool(found and code and only))


def logs_for_itself(folder: Path, *, name: str, culprits: Sequence[str]) -> Told:
    """What a program logged into its own file is told, though it ends with 0."""
    words = ("ValueError", "could not convert string to float: 'n/a'", line_of(name, "float(row)"))
    with Run(folder, TWO, program(name)) as run:
        code = run.wait(OVER_S_MAX)
        report = run.report()
        levels = ("warning",)
        found = [
            matching(report["findings"], culprit=task, words=words, severities=levels)
            for task in culprits
        ]
        innocent = wrongly_accused(run, but=culprits)
        right = any(found) and report["verdict"] != "healthy" and not innocent and code == 0
        return Told(f"exit code {code}, {report['verdict']}: {words_of(report['findings'])}", right)


def two_tasks(folder: Path) -> Told:
    """Neither is the culprit alone: the circle is told, with the line of both."""
    place = line_of("two_tasks", "flock(new")

    def circle(run: Run) -> Mapping[str, Any] | None:
        both = [one for one in run.told() if one["says"].count(place) == 2]
        return next((one for one in both if "rows-a" in one["says"]), None)

    with Run(folder, TWO, program("two_tasks")) as run:
        run.until(lambda one: steps_of(one, "worker:1") >= LAST_STEP, START_S_MAX)
        run.until(lambda one: circle(one) is not None, TOLD_S_MAX)
        after_s = time.time() - last_words_s(run, "worker:1")
        return Told(said(circle(run), run), circle(run) is not None and after_s <= SOON_S, after_s)


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[None]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "holdfast-situations", str(place)]
    subprocess.run(mount, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def _root() -> str:
    return "" if os.geteuid() == 0 else "it takes root"


def _silent(name: str, line: str, *words: str) -> Callable[[Path], Told]:
    return partial(silent, name=name, line=line, words=words)


WHO = "who, doing what at which line, since when, who waits for it; within seconds"
SCARCE = "a warning before it happens, the culprit after it"
RETRIED = "tried again, and written down with its context"
LOGGED = "its file is found and read; not healthy, though it ended with 0"
SITUATIONS = (
    # Its loop has two lines: a look may find it at either.
    Situation("A1-computes", WHO, _silent("computes", "", "computes at computes.py:", "_seed")),
    Situation("A1-sleeps", WHO, _silent("sleeps", "sleep(3600)", "sleep")),
    Situation(
        "A1-child", WHO, _silent("waits_for_child", "subprocess.run", "child", "tail -f /dev/null")
    ),
    Situation("A1-lock", WHO, _silent("waits_for_lock", "    with LOCK:", "lock")),
    Situation("A1-file", WHO, _silent("waits_for_file", "read_text()", "a FIFO")),
    Situation("A1-socket", WHO, _silent("waits_for_socket", "link.recv", "127.0.0.1:")),
    Situation("A1-stopped", WHO, _silent("stopped", "", "stopped")),
    Situation("A2-memory", SCARCE, memory_runs_out, no_cgroups),
    Situation(
        "A2-files",
        SCARCE,
        partial(
            runs_out,
            name="files_leak",
            before=("files open, of 1024",),
            after=("open files", "1024"),
        ),
    ),
    Situation("A2-disk", SCARCE, disk_runs_out, _root),
    Situation(
        "A3-dies", "the error with its op and its line, of the task that had it", dies_of_op_error
    ),
    Situation(
        "A3-brought-back",
        RETRIED,
        partial(survives_op_error, name="op_error", options=("--on-failure", "recover")),
    ),
    Situation(
        "A3-guarded",
        RETRIED,
        partial(survives_op_error, name="op_error_guarded", options=()),
    ),
    Situation(
        "A4-goes-on",
        LOGGED,
        partial(logs_for_itself, name="logs_and_goes_on", culprits=("worker:1",)),
    ),
    Situation(
        "A4-ends",
        LOGGED,
        partial(logs_for_itself, name="logs_and_ends", culprits=("worker:0", "worker:1")),
    ),
    Situation(
        "A5-threads",
        "the cycle, with both lines",
        _silent(
            "two_locks", "            with INDEX:", line_of("two_locks", "        with CACHE:")
        ),
    ),
    Situation("A5-tasks", "the cycle, with both lines", two_tasks),
)
