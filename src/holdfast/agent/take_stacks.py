"""The process that takes the stacks of tasks, in rounds, and ends.

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
from pathlib import Path

import msgspec

from holdfast.agent.clock import Clock
from holdfast.agent.serve import HEAR_BYTES, tell
from holdfast.agent.stacks_order import StacksOrder
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model import stack_rounds
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.stack_page import stacks_page
from holdfast.model.stacks import main_thread
from holdfast.model.watch_facts import StacksSeen
from holdfast.probes.stacks import NoPySpy, Sources, Stacks, python_stacks

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


def _rounds(order: StacksOrder, clock: Clock) -> Iterator[list[StacksSeen]]:
    pids = {TaskId.parse(name): pid for name, pid in order.pids.items()}
    sources = Sources()
    began_s = time.monotonic()
    for number in range(ROUNDS_MAX):
        if number:
            time.sleep(max(0.0, began_s + number * APART_S - time.monotonic()))
        at_s = clock.at_s()
        taken = take_round(pids, sources, dumps=Path(order.run_dir) / FOLDER)
        seen = [
            StacksSeen(
                at_s=at_s,
                host=order.host,
                task=task,
                attempt=order.attempt,
                pid=pids[task],
                threads=stacks.threads,
                by=stacks.by,
                why=order.why,
            )
            for task, stacks in taken.items()
            if stacks.threads
        ]
        yield seen
        mains = [main for one in seen if (main := main_thread(one))]
        if not seen or (number + 1 >= order.rounds and not any(main.running for main in mains)):
            return


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
    taken: list[list[StacksSeen]] = []
    blind: list[Fact] = []
    try:
        for seen in _rounds(order, clock):
            tell(seen)
            if seen:
                taken.append(seen)
        if not taken:
            blind.append(_blind(order, clock, "no Python thread of these tasks could be read"))
        with open_run_dir(Path(order.run_dir)) as run_dir:
            _write_page(run_dir, taken)
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
