"""The same faults under Holdfast, TensorFlow alone and torchrun: `python -m bench.peers`.

One task of a job that trains is struck, and everything that the tool says from then on is read:
seconds until it named somebody, whether that was the struck task, and its words. Seconds count
from the fault, or from the death where memory has to grow first; a task of TensorFlow that exits
takes seconds to be gone, and `dead s` says how many. Who names whom is decided by the
rules in bench/peers_words.py. Exit 1 when Holdfast names the wrong one, or nobody.
"""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.output.envs import NotAvailableError
from bench.peers_tools import TOOLS, Job, Tool, is_gone
from bench.peers_words import Word
from bench.strike import Surroundings
from bench.struck import Stage
from bench.surroundings import CGROUPS, cgroup

WAIT_S = 60.0
TRAINS_S_MAX = 120.0
SETTLE_S = 6.0  # until a job has habits
COMMITS_S_MAX = 20.0
POLL_S = 0.02
STEP_MS = 50
STEPS_WITHOUT_END = 10_000_000
STRUCK = {"mirrored": "worker:1", "parameter_server": "ps:0", "session": "ps:0"}
WIDTHS = (15, 17, 17, 6, 6, 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One fault: a signal from outside, or what the program commits when it is told to."""

    sends: signal.Signals | None = None
    commits: str = ""
    options: tuple[str, ...] = ()
    around: Surroundings = lambda _stage: contextlib.nullcontext()
    from_death: bool = False


MEMORY_BYTES = 1000 << 20
BLOWS: Mapping[str, Blow] = {
    "kill -9": Blow(sends=signal.SIGKILL),
    "SIGSTOP": Blow(sends=signal.SIGSTOP),
    "user exception": Blow(commits="exception"),
    "sys.exit(1)": Blow(commits="exit1"),
    "exit 0 early": Blow(commits="exit0"),
    "deadlock": Blow(commits="deadlock"),
    "livelock": Blow(commits="livelock"),
    "out of memory": Blow(
        commits="grow",
        options=("--grow-mb-per-s", "150"),
        around=cgroup("memory", memory__limit_in_bytes=MEMORY_BYTES),
        from_death=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    fault: str
    workload: str
    tool: str
    seconds: float | None = None
    dead_s: float | None = None  # from the fault until the process was gone; None: it was not
    word: Word | None = None
    lacks: str = ""  # why it was not measured

    @property
    def verdict(self) -> str:
        if self.lacks:
            return "not measured"
        if self.word is None:
            return "silent"
        return "right" if self.word.is_right(STRUCK[self.workload]) else "wrong"

    def __str__(self) -> str:
        seconds, dead = ("" if one is None else f"{one:.1f}" for one in (self.seconds, self.dead_s))
        words = self.lacks or (self.word.text if self.word else f"nothing in {WAIT_S:.0f} s")
        names = f"{self.verdict} {','.join(self.word.names)}" if self.word else self.verdict
        return line(self.fault, self.workload, self.tool, seconds, dead, names, words)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
    asked = _asked()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-peers-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    print(line("fault", "workload", "tool", "s", "dead s", "names", "words"))
    rows: list[Row] = []
    for workload in asked.workload.split(","):
        for fault in asked.only.split(",") if asked.only else BLOWS:
            for tool in TOOLS:
                if asked.tool in {None, tool.name} and (not tool.only or workload in tool.only):
                    rows.append(tried(fault, workload, tool, folder / str(len(rows))))
                    print(rows[-1], flush=True)
    return conclude(rows, folder, keep=asked.keep)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="FAULT[,FAULT]", help=", ".join(BLOWS))
    parser.add_argument("--workload", default="mirrored", help=f"some of {','.join(STRUCK)}")
    parser.add_argument("--tool", choices=[tool.name for tool in TOOLS])
    parser.add_argument("--keep", action="store_true", help="the logs")
    return parser.parse_args()


def conclude(rows: Sequence[Row], folder: Path, *, keep: bool) -> int:
    for tool in TOOLS:
        own = [row for row in rows if row.tool == tool.name and not row.lacks]
        if not own:
            continue
        counts = [sum(row.verdict == word for row in own) for word in ("right", "wrong", "silent")]
        print(f"{tool.name}: {counts[0]} right, {counts[1]} wrong, {counts[2]} silent")
    bad = [row for row in rows if row.tool == TOOLS[0].name and row.verdict in {"wrong", "silent"}]
    if not bad and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


def line(*words: str) -> str:
    widths = (*WIDTHS, 0)
    return " ".join(word.ljust(width) for word, width in zip(words, widths, strict=True)).rstrip()


def tried(fault: str, workload: str, tool: Tool, folder: Path) -> Row:
    """One job, struck once."""
    row = Row(fault=fault, workload=workload, tool=tool.name)
    blow = BLOWS[fault]
    if blow.from_death and not os.access(CGROUPS / "memory", os.W_OK):
        return replace(row, lacks=f"takes the cgroup controller {CGROUPS / 'memory'}")
    folder.mkdir()
    stage = Stage(workload=workload, task=STRUCK[workload], folder=folder)
    stage.options = _options(blow, stage)
    try:
        with blow.around(stage), tool.start(stage) as job:
            return _struck(row, stage, job)
    except NotAvailableError as error:
        return replace(row, lacks=str(error))
    except RuntimeError as error:  # one broken row must not hide the others
        return replace(row, lacks=f"broke: {error}")


def _options(blow: Blow, stage: Stage) -> list[str]:
    options = ["--steps", str(STEPS_WITHOUT_END), "--step-ms", str(STEP_MS)]
    if blow.commits:
        options += ["--fail-how", blow.commits, "--fail-task", stage.task]
        options += ["--fail-when", str(stage.trigger), "--fault-at-file", str(stage.fault_at)]
    return [*options, *blow.options]


def _struck(row: Row, stage: Stage, job: Job) -> Row:
    blow = BLOWS[row.fault]
    _await(lambda: job.steps() > 0, TRAINS_S_MAX, job, f"no training: see {stage.folder}")
    time.sleep(SETTLE_S)
    if early := job.words():
        print(f"    said before the fault: {early[0].text}", flush=True)
    pid = job.pid(stage.task)
    struck_s = time.time()
    if blow.sends:
        os.kill(pid, blow.sends)
    if blow.commits:
        stage.trigger.touch()
        _await(stage.fault_at.exists, COMMITS_S_MAX, job, f"no fault: see {stage.folder}")
        struck_s = float(stage.fault_at.read_text())
    return _heard(row, job, pid, struck_s)


def _await(condition: Callable[[], bool], within_s: float, job: Job, complaint: str) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline_s or (job.is_over and not condition()):
            raise RuntimeError(complaint)
        time.sleep(POLL_S)


def _heard(row: Row, job: Job, pid: int, struck_s: float) -> Row:
    """Until somebody was named, or it has been silent for too long."""
    grows = BLOWS[row.fault].from_death
    died_s: float | None = None
    said: tuple[float, Word] | None = None
    deadline_s = time.time() + WAIT_S
    while said is None or (grows and died_s is None):
        over = job.is_over  # asked first: what it said last is read after this
        if died_s is None and is_gone(pid):
            died_s = time.time()
            deadline_s = died_s + WAIT_S if grows else deadline_s
        words = job.words()
        if words and said is None:
            said = time.time(), words[0]
        if over or time.time() > deadline_s:
            break
        time.sleep(POLL_S)
    since_s = died_s if grows and died_s else struck_s
    return replace(
        row,
        word=said[1] if said else None,
        seconds=said[0] - since_s if said else None,
        dead_s=died_s - struck_s if died_s else None,
    )


if __name__ == "__main__":
    sys.exit(main())
