"""One measurement: children flood while a tool keeps their output; then the kept is compared."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from bench.output.account import Account, fault_in, read_account
from bench.output.envs import NotAvailableError, last_line
from bench.output.usage import Clock, Usage, Used
from bench.output.ways import Ground, Started, Way

READY_S_MAX = 90.0
END_S_MAX = 120.0
SETTLE_S = 2.0  # a tool that stays is done when its file has not grown for so long
LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    mb_a_s: float  # of all children together, first write to last
    fault: str  # empty when every byte was kept in order
    processes: tuple[Used, ...]  # of the tool
    cpu_share: float  # of all cores, taken by the tool while its children flooded
    others_share: float  # of all cores, taken by whoever else was there at that time

    @property
    def alone_mb_s(self) -> float:
        return self.mb_a_s / (1 - min(self.others_share, 0.9))

    @property
    def peak_bytes(self) -> int:
        return sum(used.peak_bytes for used in self.processes)


def measure(way: Way, ground: Ground) -> Outcome:
    """Raises NotAvailableError when the tool does not do its work here."""
    ground.folder.mkdir(parents=True)
    os.sync()  # what others have written before us is not our children's burden
    started: Started = []
    try:
        started = way.start(ground)
        _wait(lambda: _ready(ground), started, READY_S_MAX, "its children did not start")
        with Usage([process.pid for process in started]) as usage:
            usage.sample()
            before = Clock(usage.cpu_s)
            (ground.folder / "go").touch()
            accounts = _accounts(ground, started)
            usage.sample()
            spent = before.until(Clock(usage.cpu_s), sum(account.cpu_s for account in accounts))
            _let_end(way, ground, started)
        faults = [fault_in(way.kept(ground, account.child), account) for account in accounts]
        return Outcome(
            mb_a_s=speed_mb_s(accounts),
            fault="; ".join(filter(None, faults)),
            processes=tuple(usage.used.values()),
            cpu_share=spent.tool,
            others_share=spent.others,
        )
    finally:
        end(started)
        shutil.rmtree(ground.folder, ignore_errors=True)


def speed_mb_s(accounts: list[Account]) -> float:
    began_s = min(account.began_s for account in accounts)
    ended_s = max(account.ended_s for account in accounts)
    return sum(account.size for account in accounts) / 1e6 / (ended_s - began_s)


def _ready(ground: Ground) -> bool:
    return all((ground.folder / f"{child}.ready").exists() for child in range(ground.children))


def _accounts(ground: Ground, started: Started) -> list[Account]:
    def done() -> bool:
        return all((ground.folder / f"{child}.json").exists() for child in range(ground.children))

    _wait(done, started, ground.seconds + END_S_MAX, "its children did not finish")
    found = (read_account(ground.folder, child) for child in range(ground.children))
    return [account for account in found if account is not None]


def _wait(done: Callable[[], bool], started: Started, limit_s: float, why: str) -> None:
    deadline_s = time.monotonic() + limit_s
    while not done():
        over = all(process.poll() is not None for process in started)
        if (over and not done()) or time.monotonic() > deadline_s:
            codes = ", ".join(str(process.returncode) for process in started)
            raise NotAvailableError(f"{why} (exit codes: {codes})" if over else why)
        time.sleep(LOOK_EVERY_S)


def _let_end(way: Way, ground: Ground, started: Started) -> None:
    if way.stays:
        _settle([way.kept(ground, child) for child in range(ground.children)])
        end(started)
        return
    deadline_s = time.monotonic() + END_S_MAX
    for process in started:
        try:
            process.wait(max(0.1, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise NotAvailableError(last_line(f"did not end: {error}")) from error


def _settle(files: list[Path]) -> None:
    grown_s = time.monotonic()
    seen = -1
    while time.monotonic() - grown_s < SETTLE_S:
        size = sum(file.stat().st_size for file in files if file.exists())
        if size != seen:
            seen, grown_s = size, time.monotonic()
        time.sleep(LOOK_EVERY_S)


def end(started: Started) -> None:
    """Whatever we started and is still there, with all it has started: asked, then killed."""
    family = []
    for process in started:
        if process.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                family += psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
    for process in started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        if process.poll() is None:
            process.kill()
            process.wait()
    for left in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.kill()
