"""The process that takes the stacks of tasks, and what the kernel tells of them, in rounds.

It runs by itself: reading sources costs memory, and a py-spy that hangs must not hold up
anybody. All tasks of a round are looked at one right after the other, so that they can be
compared; a second round tells who moved. It ends with the one who asked: whoever takes over
asks again.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from holdfast.agent.activity_rounds import FIRST_OVER_S, ActivityRounds
from holdfast.agent.clock import Clock
from holdfast.agent.serve import HEAR_BYTES, tell
from holdfast.agent.stacks_order import StacksOrder
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model import stack_rounds
from holdfast.model.activity_facts import ActivitySeen, AddressesHeld
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.stack_page import stacks_page
from holdfast.model.stacks import main_thread
from holdfast.model.stance import own_frame
from holdfast.model.start_calls import start_call
from holdfast.model.watch_facts import StacksSeen
from holdfast.probes.stacks import NoPySpy, Sources, Stacks, held_addresses, python_stacks

APART_S = stack_rounds.APART_S + 0.1
ROUNDS_MAX = 3  # a third one when somebody runs: does it run in circles?
ROUND_S_MAX = 10.0  # what is not looked at by then is left out
NICENESS = 5
FOLDER = "stacks"
PAGES_MAX = 200


def take_round(
    pids: Mapping[TaskId, int], sources: Sources, *, dumps: Path | None
) -> dict[TaskId, Stacks]:
    """One look at each. Raises NoPySpy when there is no way to look at anybody."""
    until_s = time.monotonic() + ROUND_S_MAX
    found: dict[TaskId, Stacks] = {}
    missing: NoPySpy | None = None
    for task, pid in pids.items():
        if time.monotonic() > until_s:
            found[task] = Stacks((), why="the others took too long")
            continue
        try:
            found[task] = python_stacks(pid, sources, dumps=dumps)
        except NoPySpy as error:
            missing = error
            found[task] = Stacks((), why=error.message)
    if missing and not any(stacks.threads for stacks in found.values()):
        raise missing
    return found


def stacks_seen(
    taken: Mapping[TaskId, Stacks], pids: Mapping[TaskId, int], **rest: Any
) -> list[StacksSeen]:
    """One round as facts: of those whose threads could be read."""
    return [
        StacksSeen(task=task, pid=pids[task], threads=stacks.threads, by=stacks.by, **rest)
        for task, stacks in taken.items()
        if stacks.threads
    ]


class _Rounds:
    """The rounds of one request. A task whose stacks cannot be read is seen by /proc alone."""

    def __init__(self, order: StacksOrder, clock: Clock) -> None:
        self._order = order
        self._clock = clock
        self._pids = {TaskId.parse(name): pid for name, pid in order.pids.items()}
        self._sources = Sources()
        self._activity = ActivityRounds(self._pids, order.host, order.attempt)
        self.stacks: list[list[StacksSeen]] = []  # of each round in which there were any
        self.why_none = ""  # why nobody's stacks can be read

    def take(self) -> Iterator[list[Fact]]:
        began_s = time.monotonic()
        for number in range(ROUNDS_MAX):
            time.sleep(max(0.0, began_s + number * APART_S - time.monotonic()))
            at_s = self._clock.at_s()
            self._activity.sample()
            seen = self._stacks(at_s)
            if not number:
                time.sleep(max(0.0, began_s + FIRST_OVER_S - time.monotonic()))
                self._activity.sample()
            yield [*seen, *map(self._with_line, self._activity.seen(at_s))]
            if not number:
                yield list(self._addresses(seen))
            mains = [main for one in seen if (main := main_thread(one))]
            if number + 1 >= self._order.rounds and not any(main.running for main in mains):
                return

    def _stacks(self, at_s: float) -> list[StacksSeen]:
        if self.why_none:
            return []
        try:
            taken = take_round(self._pids, self._sources, dumps=self._dumps())
        except NoPySpy as error:
            self.why_none = f"{error.message} ({error.do})"
            return []
        where = {"at_s": at_s, "host": self._order.host, "attempt": self._order.attempt}
        seen = stacks_seen(taken, self._pids, why=self._order.why, **where)
        if seen:
            self.stacks.append(seen)
        elif not self.stacks:
            self.why_none = "no Python thread of these tasks could be read"
        return seen

    def _addresses(self, seen: list[StacksSeen]) -> Iterator[AddressesHeld]:
        """Of those whose start stands: where they look for the others."""
        for one in seen:
            held = held_addresses(one.pid) if start_call(one) is not None else ()
            if held:
                yield AddressesHeld(
                    at_s=one.at_s,
                    host=one.host,
                    task=one.task,
                    attempt=one.attempt,
                    addresses=held,
                )

    def _with_line(self, seen: ActivitySeen) -> ActivitySeen:
        """Where its parent process is, which is looked at only if it should read a pipe."""
        first, *others = seen.processes or (None,)
        if first is None or not others or others[0].pid != first.parent:
            return seen
        try:
            threads = python_stacks(others[0].pid, self._sources).threads
        except NoPySpy:
            return seen
        look = StacksSeen(at_s=seen.at_s, host=seen.host, pid=others[0].pid, threads=threads)
        main = main_thread(look)
        own = own_frame(main) if main else None
        parent = replace(others[0], at=f"{own} in {own.name}" if own else "")
        return replace(seen, processes=(first, parent, *others[1:]))

    def _dumps(self) -> Path:
        return Path(self._order.run_dir) / FOLDER


def _write_page(run_dir: RunDir, rounds: list[list[StacksSeen]]) -> None:
    run_dir.make_folder(FOLDER)
    if rounds and len(os.listdir(run_dir.path / FOLDER)) < PAGES_MAX:  # noqa: PTH208
        name = f"{FOLDER}/{rounds[0][0].at_s:.1f}s.txt"
        run_dir.write_bytes(name, stacks_page(rounds).encode("utf-8", "replace"))


def _end_with_asker() -> None:
    """When nobody holds our standard input any more: also a py-spy that runs is ended then."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    taker = threading.get_ident()

    def listen() -> None:
        while os.read(0, HEAR_BYTES):
            pass
        signal.pthread_kill(taker, signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()


def main() -> None:
    _end_with_asker()
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    order = msgspec.json.decode(sys.argv[1], type=StacksOrder)
    clock = Clock(order.zero_s)
    rounds = _Rounds(order, clock)
    blind: list[Fact] = []
    try:
        for facts in rounds.take():
            tell(facts)
        if not rounds.stacks:
            blind.append(_blind(order, clock, rounds.why_none))
        with open_run_dir(Path(order.run_dir)) as run_dir:
            _write_page(run_dir, rounds.stacks)
    except HoldfastError as error:
        blind.append(_blind(order, clock, f"{error.message} ({error.do})"))
    except BrokenPipeError:
        return
    with contextlib.suppress(BrokenPipeError):
        tell(blind)


def _blind(order: StacksOrder, clock: Clock, why: str) -> ProbeBlind:
    return ProbeBlind(at_s=clock.at_s(), host=order.host, probe="stacks", why=why)


if __name__ == "__main__":
    main()
