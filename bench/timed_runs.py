"""Step times of a two-worker training: alone, watched, and with the watchers frozen at times."""

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from bench.cluster import HERE, free_ports
from bench.footprint import MARK, Clock, cpu_s, freeze, own_processes, thaw
from bench.paired import Ratio, paired_ratio

WORKERS = 2
PROGRAM = HERE / "workloads" / "timed.py"
STEPS_WITHOUT_END = 10_000_000
WINDOW_S = 0.1  # the closer two windows lie, the more they have in common
WINDOW_STEPS_MIN = 5
BLOCK_PAIRS = 10  # long enough to see what strangers took: the kernel counts in hundredths
OTHERS_MAX = 0.10  # of all cores: a block in which strangers took more tells nothing
LOOK_EVERY_BLOCKS = 20
UNDISTURBED_S = 10.0  # after as many blocks: how much Holdfast works when nobody freezes it
PAIRS_MIN = 100
PRECISE = 0.003  # half of the interval: enough to tell on which side of the bar it lies
START_S_MAX = 120.0
END_S_MAX = 60.0
SEED = 20
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    began_s: float  # on the clock that all processes share
    took_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """A while in which Holdfast was frozen all the time, or awake all the time."""

    pair: int
    frozen: bool
    began_s: float
    ended_s: float
    others: float  # the share of all cores that strangers took in its block


@dataclass(frozen=True, slots=True)
class Pair:
    """Step times of two windows that lie side by side."""

    frozen: list[float]
    awake: list[float]

    @property
    def steps(self) -> int:
        return len(self.frozen) + len(self.awake)


def measure_alone(steps: int) -> list[float]:
    """Each worker's output straight into a file, and nobody watches."""
    with _folder() as folder:
        addresses = [f"127.0.0.1:{port}" for port in free_ports(WORKERS)]
        started = []
        for index in range(WORKERS):
            task = {"type": "worker", "index": index}
            config = json.dumps({"cluster": {"worker": addresses}, "task": task})
            started.append(_start(_program(folder, steps), folder, TF_CONFIG=config))
        with _ending(started):
            return _to_the_end(started, folder)


def measure_watched(steps: int) -> list[float]:
    with _folder() as folder:
        front = _start_holdfast(folder, steps)
        with _ending([front]):
            return _to_the_end([front], folder)


@dataclass(frozen=True, slots=True)
class Frozen:
    """What came of a run in which Holdfast was frozen now and then."""

    every: list[Pair]
    quiet: list[Pair]  # those of them in which strangers took next to nothing
    awake_share: float  # of one core, that Holdfast takes while it is awake between freezes
    undisturbed_share: float  # and while nobody freezes it

    @property
    def crowding(self) -> float:
        """How much more it works in an awake window, to make up for the frozen ones."""
        return self.awake_share / self.undisturbed_share if self.undisturbed_share else 1.0


@dataclass(slots=True)
class Worked:
    """Processor time of all our processes, and the time in which it was taken."""

    cpu_s: float = 0.0
    took_s: float = 0.0


def measure_frozen(most_s: float) -> Frozen:
    """One run under Holdfast, which is frozen in half of the windows; until that tells enough."""
    with _folder() as folder:
        front = _start_holdfast(folder, STEPS_WITHOUT_END)
        with _ending([front]):
            _wait_for_steps(folder, [front])
            windows: list[Window] = []
            between, undisturbed = Worked(), Worked()
            blocks = _freeze_now_and_then(folder, most_s)
            while fresh := _worked_in(between, folder, lambda: _some(blocks)):
                windows += fresh
                _worked_in(undisturbed, folder, lambda: time.sleep(UNDISTURBED_S))
                if _is_precise(pairs_of(_steps(folder), _quiet(windows))):
                    break
            if front.poll() is not None:
                raise RuntimeError(f"the training ended by itself:\n{_words(folder)}")
            steps, quiet = _steps(folder), _quiet(windows)
            frozen_s = sum(one.ended_s - one.began_s for one in windows if one.frozen)
            return Frozen(
                pairs_of(steps, windows),
                pairs_of(steps, quiet),
                between.cpu_s / (between.took_s - frozen_s),
                undisturbed.cpu_s / undisturbed.took_s,
            )


def median_ratio(pairs: list[Pair]) -> Ratio:
    """The median step of an awake window over that of the frozen one beside it."""
    return paired_ratio([(median(pair.frozen), median(pair.awake)) for pair in pairs])


def pairs_of(steps: list[Step], windows: list[Window]) -> list[Pair]:
    """Of each pair the steps that lie wholly in its windows."""
    pairs: dict[int, Pair] = {}
    place = 0
    for window in windows:
        found = pairs.setdefault(window.pair, Pair([], []))
        side = found.frozen if window.frozen else found.awake
        while place < len(steps) and steps[place].began_s < window.ended_s:
            step = steps[place]
            place += 1
            if window.began_s <= step.began_s and step.began_s + step.took_s <= window.ended_s:
                side.append(step.took_s)
    return [
        pair
        for pair in pairs.values()
        if min(len(pair.frozen), len(pair.awake)) >= WINDOW_STEPS_MIN
    ]


def _worked_in(worked: Worked, folder: Path, act: Callable[[], Result]) -> Result:
    pids = [one.pid for one in own_processes(str(folder), str(PROGRAM))]
    began_s, before_s = time.monotonic(), sum(map(cpu_s, pids))
    result = act()
    worked.cpu_s += sum(map(cpu_s, pids)) - before_s
    worked.took_s += time.monotonic() - began_s
    return result


def _some(blocks: Iterator[list[Window]]) -> list[Window]:
    return [one for block in itertools.islice(blocks, LOOK_EVERY_BLOCKS) for one in block]


def _quiet(windows: list[Window]) -> list[Window]:
    """Without the blocks that strangers spoilt."""
    return [window for window in windows if window.others <= OTHERS_MAX]


def _is_precise(pairs: list[Pair]) -> bool:
    """Judged by the interval's width alone: to stop when the ratio pleases would be a lie."""
    if len(pairs) < PAIRS_MIN:
        return False
    ratio = median_ratio(pairs)
    return (ratio.high - ratio.low) / 2 <= PRECISE


def _freeze_now_and_then(folder: Path, most_s: float) -> Iterator[list[Window]]:
    """A block of pairs at a time; in each pair Holdfast is frozen once, and lots decide when."""
    order = random.Random(SEED)
    deadline_s = time.monotonic() + most_s
    mark, program = str(folder), str(PROGRAM)
    for block in itertools.count():
        if time.monotonic() > deadline_s:
            return
        ours, clock = own_processes(mark, program), Clock(mark)  # one may be started anew
        spans: list[tuple[int, bool, float, float]] = []
        before = clock.spent()
        try:
            for pair in range(block * BLOCK_PAIRS, (block + 1) * BLOCK_PAIRS):
                for frozen in order.sample((True, False), 2):
                    (freeze if frozen else thaw)(ours)
                    began_s = time.monotonic()
                    time.sleep(WINDOW_S)
                    spans.append((pair, frozen, began_s, time.monotonic()))
        finally:
            thaw(ours)
        others = before.others_until(clock.spent())
        yield [Window(*span, others) for span in spans]


def _to_the_end(started: "list[subprocess.Popen[bytes]]", folder: Path) -> list[float]:
    _wait_for_steps(folder, started)
    codes = [process.wait(START_S_MAX * 2) for process in started]
    if any(codes):
        raise RuntimeError(f"the training failed ({codes}):\n{_words(folder)}")
    return [step.took_s for step in _steps(folder)]


def _steps(folder: Path) -> list[Step]:
    text = (folder / "steps").read_text()
    lines = text[: text.rfind("\n")].splitlines()  # the last one may still be under way
    return [Step(*map(float, line.split())) for line in lines]


def _wait_for_steps(folder: Path, started: "list[subprocess.Popen[bytes]]") -> None:
    """The file fills by the block: when the first has come, the job has long warmed up."""
    deadline_s = time.monotonic() + START_S_MAX
    file = folder / "steps"
    while not file.exists() or not file.stat().st_size:
        if time.monotonic() > deadline_s or all(one.poll() is not None for one in started):
            raise RuntimeError(f"nobody trains:\n{_words(folder)}")
        time.sleep(0.2)


def _words(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")[-2000:]


def _program(folder: Path, steps: int) -> list[str]:
    return [sys.executable, str(PROGRAM), str(folder), str(steps)]


def _start_holdfast(folder: Path, steps: int) -> "subprocess.Popen[bytes]":
    holdfast = [sys.executable, "-m", "holdfast", "run", "--workers", str(WORKERS)]
    command = [*holdfast, "--run-dir", str(folder / "run"), "--", *_program(folder, steps)]
    return _start(command, folder, **{MARK: str(folder)})


def _start(command: list[str], folder: Path, **env: str) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "", **env},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # as a task: where the scheduler groups by session, one each
        )


@contextlib.contextmanager
def _ending(started: "list[subprocess.Popen[bytes]]") -> Iterator[None]:
    try:
        yield
    finally:
        for process in started:
            end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ctrl-C twice is how a front ends its job at once; who does not obey is killed."""
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S_MAX / 4)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-overhead-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
