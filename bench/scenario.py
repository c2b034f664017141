"""One faulty start-up before the eyes of Holdfast, and what it says: by check, run or attach."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cluster import HERE, WORKLOADS, Cluster, Spawn
from bench.fault import Effect, Told
from bench.launcher import load
from bench.starts import is_listening

CHECK_S_MAX = 60.0
ATTACH_S_MAX = 90.0
LISTEN_S_MAX = 90.0
SETTLE_S = 4.0  # between everybody's being there and our look from outside
START_DEADLINE_S = 25.0
LATE_DEADLINE_S = 150.0
RUN_S_MAX = 200.0
POLL_S = 0.05
STEPS_WITHOUT_END = "1000000"
HOLDFAST = (sys.executable, "-m", "holdfast")
WORD_S_MAX = 10.0  # from the block to the first word about it
BLOCKED_CODE = 124
OWN_WORD = re.compile(r"^(start-up: |error\[|warning\[)")  # no line of a task begins so


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Holdfast said in the end, and when it said its first word."""

    report: Mapping[str, Any]
    exit_code: int
    took_s: float
    text: str
    first_word_s: float | None = None  # after the block; None: there was none

    @property
    def errors(self) -> list[str]:
        """Warnings accuse nobody: a machine may be short of memory, and the start be healthy."""
        found = self.report.get("findings", ())
        return [one["cause"] for one in found if one["severity"] == "error"]

    @property
    def first(self) -> tuple[str, str | None]:
        """Cause and culprit; a note about the machine is no answer."""
        found = [one for one in self.report.get("findings", ()) if one["severity"] != "info"]
        return (found[0]["cause"], found[0]["culprit"]) if found else ("", None)

    def fits(self, told: Told) -> bool:
        if told.silent:
            return bool(self.report) and not self.errors
        return told.fits(*self.first)

    def complaint(
        self, told: Told, effect: Effect, way: str, *, word_s_max: float = WORD_S_MAX
    ) -> str:
        """What is wrong with it; empty when nothing is."""
        if not self.fits(told):
            return "wrong answer"
        if way != "run":
            return ""
        blocks = effect is Effect.BLOCKS
        code = BLOCKED_CODE if blocks else 0
        if (blocks or told.silent) and self.exit_code != code:
            return f"exit {self.exit_code}, not {code}"
        if blocks and (self.first_word_s is None or self.first_word_s > word_s_max):
            return f"no word within {word_s_max:.0f} s"
        return ""

    def __str__(self) -> str:
        if not self.report:
            return f"exit {self.exit_code}: {self.text.strip()[-60:]}"
        cause, culprit = self.first
        return f"{cause} {culprit}" if cause else f"nothing ({self.report['verdict']})"


def check(fault: str, workload: str, folder: Path) -> Answer:
    """`holdfast check` on the TF_CONFIG of every task, before anybody starts."""
    cluster = Cluster(workload, folder, fault=fault)
    specs = cluster.write_configs()
    with _beside(cluster):
        env = {**os.environ, **cluster.fault.env}
        return _ask(["check", "--format", "json", str(specs)], within_s=CHECK_S_MAX, env=env)


def attach(fault: str, workload: str, folder: Path) -> Answer:
    """`holdfast attach` to a cluster started without Holdfast, by the word of a healthy task."""
    options = ("--steps", STEPS_WITHOUT_END)
    with Cluster(workload, folder, fault=fault, options=options) as cluster:
        spared = [task for task in cluster.tasks if task not in cluster.fault.tasks]
        missing = cluster.wait_listening(spared, LISTEN_S_MAX)
        if missing:
            raise RuntimeError(f"{missing} did not come up: see {folder}")
        time.sleep(settle_s(fault))
        return ask_attach(cluster)


def settle_s(fault: str) -> float:
    """How long a fault takes to show, once everybody is there who comes."""
    return {"restarted": 25.0}.get(fault, SETTLE_S)


def ask_attach(cluster: Cluster, start: Spawn = subprocess.Popen) -> Answer:
    """From wherever `start` starts processes."""
    target = str(cluster.config_file(cluster.healthy_task()))
    return _ask(["attach", "--format", "json", target], within_s=ATTACH_S_MAX, start=start)


def run(fault: str, workload: str, folder: Path, *, deadline_s: float | None = None) -> Answer:
    """`holdfast run` with the launcher in front of every task."""
    run_dir = folder / "run"
    limit_s = deadline_s or (LATE_DEADLINE_S if fault == "late" else START_DEADLINE_S)
    options = ["--run-dir", str(run_dir), "--start-deadline-s", str(limit_s)]
    launcher = [sys.executable, str(HERE / "launcher.py"), "--fault", fault, "--"]
    roles = WORKLOADS[workload].run_options()
    task = [*launcher, *WORKLOADS[workload].command("--steps", str(load(fault).steps))]
    folder.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    with (folder / "front.out").open("wb") as out:
        front = subprocess.Popen(
            [*HOLDFAST, "run", *options, *roles, "--", *task], stdout=out, stderr=out
        )
        try:
            word_s = _first_word(front, fault, run_dir, folder / "front.out")
            front.wait(max(1.0, began_s + RUN_S_MAX - time.monotonic()))
        except subprocess.TimeoutExpired:
            _give_up(front)
    return Answer(
        report=_report(run_dir),
        exit_code=front.returncode,
        took_s=time.monotonic() - began_s,
        text=(folder / "front.out").read_text(errors="replace"),
        first_word_s=word_s,
    )


Way = Callable[[str, str, Path], Answer]
WAYS: dict[str, Way] = {"check": check, "run": run, "attach": attach}


def _first_word(
    front: "subprocess.Popen[bytes]", fault: str, run_dir: Path, shown: Path
) -> float | None:
    """Seconds from the moment at which only the faulty are missing to the first word about it."""
    blocked_s: float | None = None
    deadline_s = time.monotonic() + RUN_S_MAX
    while front.poll() is None and time.monotonic() < deadline_s:
        if blocked_s is None and _spared_listen(fault, run_dir):
            blocked_s = time.monotonic()
        if _has_word(shown):
            return time.monotonic() - blocked_s if blocked_s else 0.0
        time.sleep(POLL_S)
    return None


def _spared_listen(fault: str, run_dir: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        cluster: dict[str, str] = json.loads((run_dir / "run.json").read_text())["cluster"]
        spared = [at for task, at in cluster.items() if task not in load(fault).tasks]
        return all(is_listening(int(at.rpartition(":")[2])) for at in spared)
    return False


def _has_word(shown: Path) -> bool:
    """Whether Holdfast has said anything itself."""
    lines = shown.read_text(errors="replace").splitlines()
    return any(OWN_WORD.match(line) for line in lines)


def _give_up(front: "subprocess.Popen[bytes]") -> None:
    for _ in range(2):
        front.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            front.wait(10)
            return
    front.kill()
    front.wait()


def _report(run_dir: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads((run_dir / "report.json").read_text())
        return found
    return {}


def _ask(
    words: list[str],
    *,
    within_s: float,
    env: Mapping[str, str] | None = None,
    start: Spawn = subprocess.Popen,
) -> Answer:
    began_s = time.monotonic()
    asked = start(
        [*HOLDFAST, *words], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = asked.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        asked.kill()
        out, err = asked.communicate()
        err += f"\nno answer within {within_s:.0f} s"
    took_s = time.monotonic() - began_s
    report: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        report = json.loads(out)
    return Answer(
        report=report,
        exit_code=asked.returncode,
        took_s=took_s,
        text=out + err,
        first_word_s=took_s,
    )


@contextlib.contextmanager
def _beside(cluster: Cluster) -> Iterator[None]:
    """The stranger of the fault, if it has one."""
    if cluster.fault.beside is None:
        yield
        return
    task = cluster.fault.tasks[0]
    command = cluster.fault.beside(cluster.handed(task))
    stranger = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + LISTEN_S_MAX
        while not is_listening(cluster.port(task)) and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
        yield
    finally:
        stranger.kill()
        stranger.wait()
